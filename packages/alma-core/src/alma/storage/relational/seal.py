"""The one seam through which text, payloads and vectors enter and leave the database file, and keys as an encrypted store keeps them.

Kinds and keys of small records, operations in the journal and keys in the history index are encrypted part by part, equal keys equal, so that rows
are still found by them and by whole first parts. There is no order among stored keys: a list that needs one is sorted after it is read.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from alma.errors import CorruptStoreError
from alma.types.scope import SEPARATOR

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
        """Keys are cached by seal."""

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

    def seal(self, data: bytes, /, *, place: str, row: RowName | None = None) -> bytes:
        """Returns the data as they are."""
        return data

    open = hide = reveal = seal


def revealed_hash(seal: Seal, stored: bytes, *, place: str) -> bytes:
    """Returns the hash that `hide` was given; a damaged one as it is stored, for it only orders and is compared. `verify` reports it."""
    try:
        return seal.reveal(stored, place=place)
    except ValueError:
        return stored


ENCRYPTION = "encryption"
"""The key in the `store` table of what opens an encrypted store. An open store has none."""

KEY, OPERATION, TERM = "record", "journal.operation", "text.term"
"""The places of keys, of operations and of terms in the seal."""

TERM_BYTES = 8
"""Of a hidden stem so much is a term: two stems of a million share one by a chance of 1 in 10 million."""

_HIDDEN_TABLES = ("record/", "evidence/")
"""Beginnings of the keys in the history index that name no memory; see `journal.entity`."""

_BETWEEN = "/"
_QUAD = 4
"""Base64 is padded to a multiple of this."""


class DamagedKeyError(CorruptStoreError, ValueError):
    """Stored text that is no encrypted key of this store. A `ValueError` as well, as other damage is where rows are decoded."""


def hide_key(seal: Seal, key: str) -> str:
    """Returns the stored form of a kind or key of a small record, or of the beginning of a key up to a slash."""
    return _BETWEEN.join(hide_text(seal, part, KEY) for part in key.split(_BETWEEN)) if seal.is_secret else key


def reveal_key(seal: Seal, stored: str) -> str:
    """Returns the kind or key that `hide_key` got; a damaged one, which `verify` reports, as it is stored, behind a separator."""
    return _BETWEEN.join(_reveal_or_keep(seal, part, KEY) for part in stored.split(_BETWEEN)) if seal.is_secret else stored


def hide_operation(seal: Seal, operation: str) -> str:
    """Returns the stored form of the call that wrote a journal record."""
    return hide_text(seal, operation, OPERATION) if seal.is_secret else operation


def reveal_operation(seal: Seal, stored: str) -> str:
    """Returns the operation; a damaged one, which `verify` reports, as it is stored, behind a separator."""
    return _reveal_or_keep(seal, stored, OPERATION) if seal.is_secret else stored


def hide_touched(seal: Seal, key: str) -> str:
    """Returns the stored form of a key in the history index. The ids of memories are no secret."""
    table, slash, rest = key.partition(_BETWEEN)
    return f"{table}/{hide_key(seal, rest)}" if table + slash in _HIDDEN_TABLES else key


def reveal_touched(seal: Seal, stored: str) -> str:
    """Returns the key that `hide_touched` got."""
    table, slash, rest = stored.partition(_BETWEEN)
    return f"{table}/{reveal_key(seal, rest)}" if table + slash in _HIDDEN_TABLES else stored


def terms_of(seal: Seal, stems: Sequence[str]) -> Sequence[str]:
    """Returns stems as full text keeps them in a file: an encrypted store has keyed hashes."""
    return [_hide_term(seal, stem) for stem in stems] if seal.is_secret else stems


@lru_cache(maxsize=20_000)
def _hide_term(seal: Seal, stem: str) -> str:
    """Returns the first bytes of the encrypted stem in hexadecimal: in deterministic AES-SIV they are a keyed hash of it."""
    return seal.hide(stem.encode(), place=TERM)[:TERM_BYTES].hex()


def forget_keys() -> None:
    """Empties the caches of keys, which may hold a purged one."""
    _hide_term.cache_clear()
    hide_text.cache_clear()
    reveal_text.cache_clear()


@lru_cache(maxsize=20_000)
def hide_text(seal: Seal, text: str, place: str) -> str:
    """Returns the text encrypted, in Base64."""
    return _as_text(seal.hide(text.encode(), place=place))


@lru_cache(maxsize=20_000)
def reveal_text(seal: Seal, stored: str, place: str) -> str:
    """Returns the text that `hide_text` got. `DamagedKeyError` if there is none."""
    try:
        data = urlsafe_b64decode(stored + "=" * (-len(stored) % _QUAD))
        if _as_text(data) != stored:  # other texts decode to the same, and are not found by it
            raise ValueError(stored)
        return seal.reveal(data, place=place).decode()
    except ValueError as error:
        raise DamagedKeyError(f"an encrypted key ({place}) was changed or belongs elsewhere") from error


def _as_text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _reveal_or_keep(seal: Seal, stored: str, place: str) -> str:
    try:
        return reveal_text(seal, stored, place)
    except DamagedKeyError:
        return f"{SEPARATOR}{stored}"  # which no key is
