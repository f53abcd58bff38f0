"""Rows from one seal to another: which columns pass the seal, how, and what names the row that they are bound to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from alma.errors import CorruptStoreError
from alma.storage.relational.hidden_names import (
    hidden_actor,
    hidden_key,
    hidden_kind,
    hidden_operation,
    hidden_owner,
    hidden_project,
    hidden_record_key,
    revealed_actor,
    revealed_key,
    revealed_kind,
    revealed_operation,
    revealed_owner,
    revealed_project,
    revealed_record_key,
)
from alma.storage.relational.rows import CONTENT, TEXT, Row, vector_checksum
from alma.storage.relational.seal import (
    RowName,
    Seal,
    opened_digest,
    sealed_digest,
)

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


def _hash(place: str) -> HiddenColumn:
    return HiddenColumn(lambda seal, data: seal.reveal(data, place=place), lambda seal, data: seal.hide(data, place=place))


_OWNER = HiddenColumn(revealed_owner, hidden_owner)
_OF_RECORD = HiddenColumn(revealed_record_key, hidden_record_key)

HIDDEN: Mapping[str, Mapping[str, HiddenColumn]] = {
    "project": {"name": HiddenColumn(revealed_project, hidden_project)},
    "partition": {"owner": _OWNER, "kind": HiddenColumn(revealed_kind, hidden_kind)},
    "memory": {"agent": _OWNER, "content_hash": _hash(CONTENT)},
    "passage": {"text_hash": _hash(TEXT)},
    "vector": {"text_hash": _hash(TEXT)},
    "record": {"kind": _OF_RECORD, "key": _OF_RECORD},
    "journal": {
        "actor": HiddenColumn(revealed_actor, hidden_actor),
        "operation": HiddenColumn(revealed_operation, hidden_operation),
    },
    "touched": {"key": HiddenColumn(revealed_key, hidden_key)},
}
"""The columns that rows are found by and that are not stored as they are, by table."""

SEALED: Mapping[str, Mapping[str, SealedColumn]] = {
    "memory": {"body": _bytes("memory.body")},
    "passage": {name: _bytes(f"passage.{name}") for name in ("speaker", "text", "keywords")},
    "vector": {"vector": _bytes("vector.vector")},
    "record": {"body": _bytes("record.body")},
    "journal": {
        **{name: _bytes(f"journal.{name}") for name in ("payload", "salt")},
        "digest": SealedColumn(
            lambda seal, data, row: opened_digest(seal, data, row=row), lambda seal, data, row: sealed_digest(seal, data, row=row)
        ),
    },
}
"""All columns that pass the seal, by table."""

_NAMED_BY: Mapping[str, tuple[str, ...]] = {
    "memory": ("project", "id"),
    "passage": ("project", "memory", "position"),
    "vector": ("project", "text_hash", "embedder"),
    "record": ("project", "kind", "key"),
    "journal": ("project", "seq"),
}
"""The columns whose values name a row, by table, as they are stored."""

_NAMED_AS_IT_IS: Mapping[str, tuple[str, ...]] = {"record": ("kind", "key")}
"""The columns that name a row as they are, not as they are stored."""


def resealed(table: str, row: Row, before: Seal, after: Seal) -> Row:
    """The columns of a row under another seal. `CorruptStoreError` if the row is damaged."""
    made = dict(row)
    for name, found_by in HIDDEN.get(table, {}).items():
        if row[name] is not None:
            revealed = found_by.revealed(before, row[name])
            if found_by.hidden(before, revealed) != row[name]:  # what is damaged may be revealed as it is stored
                raise CorruptStoreError(f"its {name} is damaged")
            made[name] = found_by.hidden(after, revealed)
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
    as_they_are = {name: HIDDEN[table][name].revealed(seal, row[name]) for name in _NAMED_AS_IT_IS.get(table, ())}
    return tuple({**row, **as_they_are}[name] for name in _NAMED_BY[table])
