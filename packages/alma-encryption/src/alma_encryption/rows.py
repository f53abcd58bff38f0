"""Rows in clear and under a seal: which columns pass the seal, how, and what names the row that they are bound to.

A change of key or state also reads rows as earlier versions encrypted them. The last of them encrypted names as well, by AES-SIV. The ones before
stored names as they are and permuted the hashes in keys; the first did not bind values to their rows.
"""

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any

from alma.errors import CorruptStoreError
from alma.journal import RETIRED_COLUMN
from alma.storage.relational.rows import CONTENT, TEXT, Row, vector_checksum
from alma.storage.relational.session import (
    KEY,
    OPERATION,
    RowName,
    Seal,
    hide_key,
    hide_touched,
    reveal_key,
    reveal_text,
    reveal_touched,
)
from alma.text import SEPARATOR
from alma.types.memories import MEMORY_CLASSES
from alma_encryption.cipher import KEY_BYTES, AESSeal

_NAMES: Mapping[str, Mapping[str, tuple[str, str | None]]] = {
    "project": {"name": ("project.name", None)},
    "partition": {"owner": ("owner", SEPARATOR), "kind": ("partition.kind", None)},
    "memory": {"agent": ("owner", SEPARATOR)},
    "journal": {"actor": ("journal.actor", None), "operation": (OPERATION, None)},
    "record": {"kind": (KEY, "/"), "key": (KEY, "/")},
}
"""Encrypted names by table and column: the place in the seal, and what stands between parts that were encrypted one by one."""

_HASHES = {"memory": ("content_hash", CONTENT), "passage": ("text_hash", TEXT), "vector": ("text_hash", TEXT)}
_ROUNDS, _HALF, _DIGITS = 10, 4, 16
_ID = slice(0, 16), slice(16, 17), slice(17, None)
"""Parts of an id of retired counts: a group of digits, a letter, a group of digits."""

_HASH = slice(0, 16), slice(16, 32)


class FormerSeal(AESSeal):
    """The seal of a store that an earlier version encrypted."""

    def __init__(self, data_key: bytes, store_id: str, *, binds_rows: bool, hides_names: bool) -> None:
        super().__init__(data_key, store_id)
        self.binds_rows, self.hides_names = binds_rows, hides_names
        self.id_key = self._derive("ids", KEY_BYTES) if binds_rows else b""

    def open(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        """Returns the plain bytes, as `AESSeal` does; digests were sealed beside encrypted names only."""
        if place == "journal.digest" and not self.hides_names:
            return data
        return super().open(data, place=place, row=row if self.binds_rows else ())


def reveal_former(table: str, row: Row, seal: FormerSeal) -> Row:
    """Returns the columns that rows were found by, in clear. `ValueError` if one is damaged."""
    clear: Row = {}
    if table in _HASHES:
        name, place = _HASHES[table]
        clear[name] = None if row[name] is None else seal.reveal(row[name], place=place)
    if table == "touched":
        clear["key"] = _reveal_touched(seal, row["key"])
    elif seal.hides_names:
        for name, (place, between) in _NAMES.get(table, {}).items():
            if place != "partition.kind" or row[name] not in MEMORY_CLASSES:
                parts = row[name].split(between) if between else [row[name]]
                clear[name] = (between or "").join(reveal_text(seal, part, place) for part in parts)
    elif table == "record":
        clear["key"] = _reveal_hashes(seal, row["key"])
    return clear


def _reveal_touched(seal: FormerSeal, stored: str) -> str:
    table, slash, rest = stored.partition("/")
    if f"{table}{slash}" == "evidence/":
        return f"{table}/{_permute_back(seal, rest, _ID)}"
    if f"{table}{slash}" != "record/":
        return stored
    if seal.hides_names:
        return "/".join([table, *map(partial(reveal_text, seal, place=KEY), rest.split("/"))])
    return f"{table}/{_reveal_hashes(seal, rest)}"


def _reveal_hashes(seal: FormerSeal, stored: str) -> str:
    parts = stored.split("/")
    return "/".join(_permute_back(seal, part, _HASH) if _is_digits(part, 2 * _DIGITS) else part for part in parts)


def _permute_back(seal: FormerSeal, text: str, parts: tuple[slice, ...]) -> str:
    """Returns a text whose groups of digits were permuted."""
    groups = (text[part] for part in parts)
    return "".join(_unmix(group, seal.id_key) if seal.id_key and _is_digits(group, _DIGITS) else group for group in groups)


def _is_digits(text: str, count: int) -> bool:
    return len(text) == count and not text.strip("0123456789abcdef")


def _unmix(digits: str, key: bytes) -> str:
    """Takes back a balanced Feistel network over 64 bits, with keyed BLAKE2b as its round function."""
    data = bytes.fromhex(digits)
    left, right = data[:_HALF], data[_HALF:]
    for number in reversed(range(_ROUNDS)):
        mask = blake2b(bytes((number,)) + left, digest_size=_HALF, key=key).digest()
        left, right = bytes(a ^ b for a, b in zip(right, mask, strict=True)), left
    return (left + right).hex()


_Way = Callable[[Seal, Any], Any]

_KEY: tuple[_Way, _Way] = (reveal_key, hide_key)


def _hash(place: str) -> tuple[_Way, _Way]:
    return lambda seal, data: seal.reveal(data, place=place), lambda seal, data: seal.hide(data, place=place)


HIDDEN: Mapping[str, Mapping[str, tuple[_Way, _Way]]] = {
    "memory": {"content_hash": _hash(CONTENT)},
    "passage": {"text_hash": _hash(TEXT)},
    "vector": {"text_hash": _hash(TEXT)},
    "record": {"kind": _KEY, "key": _KEY},
    "journal": {"operation": (partial(reveal_key, place=OPERATION), partial(hide_key, place=OPERATION))},
    "touched": {"key": (reveal_touched, hide_touched)},
}
"""The columns that rows are found by and that are not stored as they are, by table: the way out of the file and the way in."""

SEALED: Mapping[str, tuple[str, ...]] = {
    "memory": ("body",),
    "passage": ("speaker", "text", "keywords"),
    "vector": ("vector",),
    "record": ("body",),
    "journal": ("payload", "salt", "digest"),
}
"""The columns whose values are bound to their rows, by table."""

_NAMED_BY: Mapping[str, tuple[str, ...]] = {
    "memory": ("project", "id"),
    "passage": ("project", "memory", "position"),
    "vector": ("project", "text_hash", "embedder"),
    "record": ("project", "kind", "key"),
    "journal": ("project", "seq"),
}
"""The columns whose values name a row, by table: those of a vector as they are stored, others in clear."""


def open_row(table: str, row: Row, seal: Seal) -> Row:
    """Returns the columns of a stored row in clear. `CorruptStoreError` or `ValueError` if the row is damaged."""
    clear = dict(row)
    if isinstance(seal, FormerSeal):
        clear |= reveal_former(table, row, seal)
    else:
        for name, (reveal, hide) in HIDDEN.get(table, {}).items():
            if row[name] is not None:
                clear[name] = reveal(seal, row[name])
                if hide(seal, clear[name]) != row[name]:  # damage may be revealed as it is stored
                    raise CorruptStoreError(f"its {name} is damaged")
    for name in SEALED.get(table, ()):
        if row[name] is not None:
            clear[name] = seal.open(row[name], place=f"{table}.{name}", row=_name(table, row, clear))
    if table == "vector":
        if vector_checksum(row["text_hash"], row["vector"]) != row["checksum"]:
            raise CorruptStoreError(f"vector {row['row']} is damaged")
        clear["checksum"] = None
    if RETIRED_COLUMN in row:  # of a former layout: the upgrade drops it
        clear[RETIRED_COLUMN] = None
    return clear


def seal_row(table: str, clear: Row, seal: Seal) -> Row:
    """Returns the columns that are stored of a row in clear."""
    row = dict(clear)
    for name, (_, hide) in HIDDEN.get(table, {}).items():
        if clear[name] is not None:
            row[name] = hide(seal, clear[name])
    for name in SEALED.get(table, ()):
        if clear[name] is not None:
            row[name] = seal.seal(clear[name], place=f"{table}.{name}", row=_name(table, row, clear))
    if table == "vector":
        row["checksum"] = vector_checksum(row["text_hash"], row["vector"])
    return row


def _name(table: str, row: Row, clear: Row) -> RowName:
    source = row if table == "vector" else clear
    return tuple(source[name] for name in _NAMED_BY[table])
