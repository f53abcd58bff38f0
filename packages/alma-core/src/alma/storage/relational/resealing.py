"""Rows from one seal to another: which columns pass the seal, and how."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from alma.errors import CorruptStoreError
from alma.storage.relational.rows import CONTENT, TEXT, Row, vector_checksum
from alma.storage.relational.seal import Seal, hidden_text, opened_text, revealed_text, sealed_text

_Way = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column that passes the seal: its place, the way out of the file and the way in."""

    place: str
    opened: _Way
    sealed: _Way

    def resealed(self, value: Any, before: Seal, after: Seal) -> Any:
        """The value under another seal."""
        return None if value is None else self.sealed(after, self.opened(before, value, place=self.place), place=self.place)


def _open(seal: Seal, data: bytes, *, place: str) -> bytes:
    return seal.open(data, place=place)


def _seal(seal: Seal, data: bytes, *, place: str) -> bytes:
    return seal.seal(data, place=place)


def _reveal(seal: Seal, data: bytes, *, place: str) -> bytes:
    return seal.reveal(data, place=place)


def _hide(seal: Seal, data: bytes, *, place: str) -> bytes:
    return seal.hide(data, place=place)


def _sealed(table: str, *names: str) -> dict[str, SealedColumn]:
    return {name: SealedColumn(f"{table}.{name}", _open, _seal) for name in names}


def _hidden(place: str) -> SealedColumn:
    return SealedColumn(place, _reveal, _hide)


SEALED: Mapping[str, Mapping[str, SealedColumn]] = {
    "memory": {**_sealed("memory", "body"), "content_hash": _hidden(CONTENT)},
    "passage": {**_sealed("passage", "speaker", "text", "keywords"), "text_hash": _hidden(TEXT)},
    "vector": {**_sealed("vector", "vector"), "text_hash": _hidden(TEXT)},
    "evidence": {
        **_sealed("evidence", "strategy", "reasons", "task"),
        "task_class": SealedColumn("evidence.task_class", revealed_text, hidden_text),
        "recent": SealedColumn("evidence.recent", opened_text, sealed_text),
    },
    "record": _sealed("record", "body"),
    "journal": _sealed("journal", "payload", "salt"),
}
"""All columns that pass the seal, by table."""

READABLE_HASHES: Mapping[str, frozenset[str]] = {
    "project": frozenset({"head_hash"}),
    "vector": frozenset({"checksum"}),
    "evidence": frozenset({"strategy_hash"}),
    "journal": frozenset({"digest", "hash"}),
}
"""The other columns of bytes: hashes, of which the checksum is that of sealed bytes."""


def resealed(table: str, row: Row, before: Seal, after: Seal) -> Row:
    """The columns of a row under another seal. `CorruptStoreError` if the row is damaged."""
    made = {**row, **{name: way.resealed(row[name], before, after) for name, way in SEALED.get(table, {}).items()}}
    if table == "vector":
        if vector_checksum(row["text_hash"], row["vector"]) != row["checksum"]:
            raise CorruptStoreError(f"vector {row['row']} is damaged")
        made["checksum"] = vector_checksum(made["text_hash"], made["vector"])
    return made
