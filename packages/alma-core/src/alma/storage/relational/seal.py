"""The one seam through which text, payloads and vectors enter and leave the database file."""

from typing import Protocol


class Seal(Protocol):
    """Protects bytes at rest. `place` names the table and column that the bytes belong to, so that they cannot be moved elsewhere."""

    def seal(self, data: bytes, /, *, place: str) -> bytes:
        """Returns the bytes that are stored."""

    def open(self, data: bytes, /, *, place: str) -> bytes:
        """Returns the bytes that `seal` was given. `CorruptStoreError` if it was changed since."""


class OpenSeal:
    """No protection beyond the file's own permissions."""

    def seal(self, data: bytes, /, *, place: str) -> bytes:
        """The data as they are."""
        return data

    def open(self, data: bytes, /, *, place: str) -> bytes:
        """The data as they are."""
        return data
