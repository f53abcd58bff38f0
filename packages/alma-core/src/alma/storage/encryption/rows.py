"""Rows in clear and under a seal: which columns pass the seal, how, and what names the row that they are bound to."""

from collections.abc import Callable, Mapping
from typing import Any

from alma.errors import CorruptStoreError
from alma.journal import RETIRED_COLUMN
from alma.storage.encryption.former import FormerSeal, reveal_former
from alma.storage.relational.hidden_keys import (
    hide_key,
    hide_operation,
    hide_touched,
    reveal_key,
    reveal_operation,
    reveal_touched,
)
from alma.storage.relational.rows import CONTENT, TEXT, Row, vector_checksum
from alma.storage.relational.seal import RowName, Seal

_Way = Callable[[Seal, Any], Any]

_KEY: tuple[_Way, _Way] = (reveal_key, hide_key)


def _hash(place: str) -> tuple[_Way, _Way]:
    return lambda seal, data: seal.reveal(data, place=place), lambda seal, data: seal.hide(data, place=place)


HIDDEN: Mapping[str, Mapping[str, tuple[_Way, _Way]]] = {
    "memory": {"content_hash": _hash(CONTENT)},
    "passage": {"text_hash": _hash(TEXT)},
    "vector": {"text_hash": _hash(TEXT)},
    "record": {"kind": _KEY, "key": _KEY},
    "journal": {"operation": (reveal_operation, hide_operation)},
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
