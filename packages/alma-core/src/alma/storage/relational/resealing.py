"""Rows from one seal to another: which columns pass the seal, how, and what names the row that they are bound to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from alma.errors import CorruptStoreError
from alma.storage.relational.hidden_ids import (
    hidden_id,
    hidden_key,
    hidden_record_key,
    revealed_id,
    revealed_key,
    revealed_record_key,
)
from alma.storage.relational.rows import CONTENT, TEXT, Row, vector_checksum
from alma.storage.relational.seal import RowName, Seal, hidden_text, opened_text, revealed_text, sealed_text

_Way = Callable[[Seal, Any], Any]
_BoundWay = Callable[[Seal, Any, RowName], Any]


@dataclass(frozen=True, slots=True)
class HiddenColumn:
    """A column that rows are found by: the way out of the file and the way in."""

    revealed: _Way
    hidden: _Way


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column whose values are bound to their rows: the way out of the file and the way in."""

    opened: _BoundWay
    sealed: _BoundWay


def _bytes(place: str) -> SealedColumn:
    return SealedColumn(
        lambda seal, data, row: seal.open(data, place=place, row=row),
        lambda seal, data, row: seal.seal(data, place=place, row=row),
    )


def _text(place: str) -> SealedColumn:
    return SealedColumn(
        lambda seal, text, row: opened_text(seal, text, place=place, row=row),
        lambda seal, text, row: sealed_text(seal, text, place=place, row=row),
    )


def _hash(place: str) -> HiddenColumn:
    return HiddenColumn(lambda seal, data: seal.reveal(data, place=place), lambda seal, data: seal.hide(data, place=place))


_ID = HiddenColumn(revealed_id, hidden_id)
_STRATEGY_HASH = HiddenColumn(
    lambda seal, data: bytes.fromhex(revealed_id(seal, data.hex())), lambda seal, data: bytes.fromhex(hidden_id(seal, data.hex()))
)
_TASK_CLASS = HiddenColumn(
    lambda seal, text: revealed_text(seal, text, place="evidence.task_class"),
    lambda seal, text: hidden_text(seal, text, place="evidence.task_class"),
)

HIDDEN: Mapping[str, Mapping[str, HiddenColumn]] = {
    "memory": {"content_hash": _hash(CONTENT), "evidence": _ID},
    "passage": {"text_hash": _hash(TEXT)},
    "vector": {"text_hash": _hash(TEXT)},
    "evidence": {"id": _ID, "strategy_hash": _STRATEGY_HASH, "task_class": _TASK_CLASS},
    "record": {"key": HiddenColumn(revealed_record_key, hidden_record_key)},
    "touched": {"key": HiddenColumn(revealed_key, hidden_key)},
}
"""The columns that rows are found by and that are not stored as they are, by table."""

SEALED: Mapping[str, Mapping[str, SealedColumn]] = {
    "memory": {"body": _bytes("memory.body")},
    "passage": {name: _bytes(f"passage.{name}") for name in ("speaker", "text", "keywords")},
    "vector": {"vector": _bytes("vector.vector")},
    "evidence": {
        **{name: _bytes(f"evidence.{name}") for name in ("strategy", "reasons", "task")},
        "recent": _text("evidence.recent"),
    },
    "record": {"body": _bytes("record.body")},
    "journal": {name: _bytes(f"journal.{name}") for name in ("payload", "salt")},
}
"""All columns that pass the seal, by table."""

_NAMED_BY: Mapping[str, tuple[str, ...]] = {
    "memory": ("project", "id"),
    "passage": ("project", "memory", "position"),
    "vector": ("project", "text_hash", "embedder"),
    "evidence": ("project", "id"),
    "record": ("project", "kind", "key"),
    "journal": ("project", "seq"),
}
"""The columns whose values name a row, by table, as they are stored."""

_NAMED_AS_IT_IS = {"evidence": "id", "record": "key"}
"""The columns that name a row as they are, not as they are stored."""

READABLE_HASHES: Mapping[str, frozenset[str]] = {
    "project": frozenset({"head_hash"}),
    "vector": frozenset({"checksum"}),
    "journal": frozenset({"digest", "hash"}),
}
"""The other columns of bytes: salted hashes, and the checksum of sealed bytes."""


def resealed(table: str, row: Row, before: Seal, after: Seal) -> Row:
    """The columns of a row under another seal. `CorruptStoreError` if the row is damaged."""
    made = dict(row)
    for name, found_by in HIDDEN.get(table, {}).items():
        if row[name] is not None:
            made[name] = found_by.hidden(after, found_by.revealed(before, row[name]))
    for name, column in SEALED.get(table, {}).items():
        if row[name] is not None:
            opened = column.opened(before, row[name], _name(table, row, before))
            made[name] = column.sealed(after, opened, _name(table, made, after))
    if table == "vector":
        if vector_checksum(row["text_hash"], row["vector"]) != row["checksum"]:
            raise CorruptStoreError(f"vector {row['row']} is damaged")
        made["checksum"] = vector_checksum(made["text_hash"], made["vector"])
    return made


def _name(table: str, row: Row, seal: Seal) -> RowName:
    as_it_is = _NAMED_AS_IT_IS.get(table)
    values = row if as_it_is is None else {**row, as_it_is: HIDDEN[table][as_it_is].revealed(seal, row[as_it_is])}
    return tuple(values[name] for name in _NAMED_BY[table])
