"""The one seam through which text, payloads and vectors enter and leave the database file."""

from typing import Protocol

RowName = tuple[object, ...]
"""Names a row for good: numbers and texts that do not change while the row is there, its project first."""


class Seal(Protocol):
    """Protects bytes at rest. `place` names the table and column that the bytes belong to, `row` the row: they cannot be moved elsewhere."""

    @property
    def is_secret(self) -> bool:
        """True when nothing readable may be stored: the terms of full text are keyed then, and vector snapshots stay in memory."""

    @property
    def overhead(self) -> int:
        """Number of bytes that `seal` adds to any data."""

    def __hash__(self) -> int:
        """Keys are cached by seal; see `hidden_keys`."""

    def seal(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        """Returns the bytes that are stored."""

    def open(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        """Returns the bytes that `seal` was given. `CorruptStoreError` if they were changed since, or are those of another row."""

    def hide(self, data: bytes, /, *, place: str) -> bytes:
        """Returns the bytes that are stored of data that rows are found by: equal for equal data and place."""

    def reveal(self, data: bytes, /, *, place: str) -> bytes:
        """Returns the bytes that `hide` was given. `CorruptStoreError` if it was changed since."""


class OpenSeal:
    """No protection beyond the file's own permissions."""

    is_secret = False
    overhead = 0

    def seal(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        """The data as they are."""
        return data

    def open(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        """The data as they are."""
        return data

    def hide(self, data: bytes, /, *, place: str) -> bytes:
        """The data as they are."""
        return data

    def reveal(self, data: bytes, /, *, place: str) -> bytes:
        """The data as they are."""
        return data


def revealed_hash(seal: Seal, stored: bytes, *, place: str) -> bytes:
    """Returns the hash that `hide` was given; a damaged one as it is stored, for it only orders and is compared. `verify` reports it."""
    try:
        return seal.reveal(stored, place=place)
    except ValueError:
        return stored
