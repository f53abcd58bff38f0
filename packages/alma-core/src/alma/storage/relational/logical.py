"""Logical rows in the file: read, made, changed, deleted. One place knows how each table of the journal lies in SQLite.

A logical row is what the journal holds (`rows.py`): plain JSON values under a text key. Here it meets row numbers, seals and partitions.
"""

import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from alma.protocols import StoredRow
from alma.storage.relational.rows import CONTENT, TEXT, UNREADABLE, Row, dump_body, passage_key, text_hash
from alma.storage.relational.session import Seal, Session, hide_key, reveal_key
from alma.types.identity import Partition, from_micros
from alma.types.memories import Passage

PartitionKey = tuple[bool, str, str]
"""The owner's sort (true for a user), the owner, the kind."""

_PLAIN = (*("id", "confidence", "successes", "trials", "seen_at", "created_at", "updated_at", "archived_at"),)
NO_USAGE: Mapping[str, float] = {
    **dict.fromkeys(("used", "ignored", "thumbs_up", "thumbs_down"), 0),
    **dict.fromkeys(("credited_successes", "credited_trials"), 0.0),
}
"""The counts of a memory of which nothing was counted yet. Whole numbers stay whole, the others never look like them, for content hashes differ."""
PASSAGE_TEXTS = ("speaker", "text", "keywords")
"""The sealed columns of a passage."""


def _no_new_partition(key: PartitionKey) -> int:
    raise LookupError(f"there is no partition {key}")


@dataclass(slots=True)
class View:
    """One project over an open session. `partition` gives the row of a partition, making it if need be; those that are `known` are not read again."""

    session: Session
    project: int
    seal: Seal
    partition: Callable[[PartitionKey], int] = _no_new_partition
    known: MutableMapping[int, Partition] = field(default_factory=dict)

    def partition_key(self, row: int) -> PartitionKey:
        """The owner and kind of a partition. `LookupError` if it is lost, or is one of another project."""
        if row not in self.known:
            found = next(self.session.all("partition_of", {"row": row}), None)
            if found is None:
                raise LookupError(f"its partition {row} is lost")
            _, project, is_user, owner, kind = found
            if project != self.project:
                raise LookupError(f"its partition {row} is one of project {project}")
            self.known[row] = Partition(row, flag(is_user, "is_user of its partition"), owner, kind)
        one = self.known[row]
        return one.is_user, one.owner, one.kind

    def all(self, query: str, **given: Any) -> Iterator[Row]:
        """The rows of a statement about this project, by column."""
        return self.session.each(query, {"project": self.project, **given})

    def ends(self) -> tuple[int, bytes, int]:
        """The newest `seq` of the project, its hash, and the newest `seq` that may change what is learned. `LookupError` if the project is gone."""
        for seq, head, learned in self.session.all("project_ends", {"project": self.project}):
            return seq, head, learned
        raise LookupError(f"there is no project {self.project}")

    def embedder(self) -> int | None:
        """The number of the embedder that serves, to which a seal binds its vectors; `None` in an open store, which binds nothing."""
        if not self.seal.is_secret:
            return None
        ((_, number, _),) = self.session.all("project_head", {"project": self.project})
        return int(number)

    def one(self, query: str, **given: Any) -> Row | None:
        """The only row, or none."""
        return next(self.all(query, **given), None)


class LogicalTable(Protocol):
    """One table of the journal. A *raw* row has the columns of the file."""

    name: str
    is_numbered: bool = False
    number: str = "row"
    """The column by whose value rows are updated and deleted."""

    def raw(self, view: View, key: str) -> Row | None:
        """The row of a key."""

    def key(self, view: View, raw: Row) -> str:
        """The key of a row."""

    def decoded(self, view: View, raw: Row) -> Row:
        """The logical row."""

    def encoded(self, view: View, key: str, row: Mapping[str, Any]) -> Row:
        """The columns of the file for a logical row, without row number and project. `LookupError` if what it hangs on is missing."""

    def update(self, view: View, raw: Row, columns: Row) -> None:
        """Puts columns in place of those of a row."""
        view.session.run(f"{self.name}_update", {**columns, **self._place(raw)})

    def delete(self, view: View, raw: Row) -> None:
        """Deletes a row."""
        view.session.run(f"{self.name}_delete", self._place(raw))

    def _place(self, raw: Row) -> Row:
        return {f"of_{self.number}": raw[self.number]}

    def insert(self, view: View, columns: Row) -> int:
        """Makes a row, and gives its number."""
        return view.session.insert(f"{self.name}_insert", {"project": view.project, **columns})

    def rows(self, view: View) -> Iterator[StoredRow]:
        """All logical rows of the project, in the order they were made."""
        for raw in self._raws(view):
            seq = raw["seq"] if self.is_numbered else None
            try:
                yield StoredRow(self.name, self.key(view, raw), self.decoded(view, raw), seq)
            except UNREADABLE as error:
                yield StoredRow(self.name, self.key(view, raw), None, seq, f"is not readable: {error}")

    def _raws(self, view: View) -> Iterator[Row]:
        return view.all(f"{self.name}_rows")


class _Memories(LogicalTable):
    name, is_numbered = "memory", True

    def raw(self, view: View, key: str) -> Row | None:
        return view.one("memory_by_id", id=key)

    def key(self, view: View, raw: Row) -> str:
        return str(raw["id"])

    def decoded(self, view: View, raw: Row) -> Row:
        is_user, owner, kind = view.partition_key(raw["partition"])
        return {
            **{name: raw[name] for name in _PLAIN},
            "agent": raw["agent"],
            "kind": kind,
            "is_user": is_user,
            "owner": owner,
            "body": json.loads(view.seal.open(raw["body"], place="memory.body", row=(view.project, raw["id"]))),
            "content_hash": view.seal.reveal(raw["content_hash"], place=CONTENT).hex(),
        }

    def encoded(self, view: View, key: str, row: Mapping[str, Any]) -> Row:
        return {
            **{name: row[name] for name in _PLAIN},
            "agent": row["agent"],
            "partition": view.partition((row["is_user"], row["owner"], row["kind"])),
            "body": view.seal.seal(dump_body(row["body"]), place="memory.body", row=(view.project, row["id"])),
            "content_hash": view.seal.hide(bytes.fromhex(row["content_hash"]), place=CONTENT),
        }

    def update(self, view: View, raw: Row, columns: Row) -> None:
        self._note_last_record(view, raw)
        super().update(view, raw, columns)

    def delete(self, view: View, raw: Row) -> None:
        self._note_last_record(view, raw)
        super().delete(view, raw)

    def _note_last_record(self, view: View, raw: Row) -> None:
        """Notes the record that a memory's row names, before the row names another or goes: until then the row is the note."""
        view.session.run("touched_insert", {"project": view.project, "key": raw["id"], "seq": raw["seq"]})


class _Passages(LogicalTable):
    name, is_numbered = "passage", True

    def raw(self, view: View, key: str) -> Row | None:
        memory_id, _, position = key.rpartition("/")
        return view.one("passage_at", memory_id=memory_id, position=int(position))

    def key(self, view: View, raw: Row) -> str:
        return passage_key(raw["owner"] or f"of row {raw['memory']}", raw["position"])

    def decoded(self, view: View, raw: Row) -> Row:
        place = (view.project, raw["memory"], raw["position"])
        texts = {name: view.seal.open(raw[name], place=f"passage.{name}", row=place).decode() for name in PASSAGE_TEXTS}
        digest = None if raw["text_hash"] is None else view.seal.reveal(raw["text_hash"], place=TEXT)
        if digest is not None and digest != text_hash(texts["text"]):
            raise ValueError("its text is not the one that was embedded")
        return {
            **texts,
            "memory": raw["owner"] or f"of row {raw['memory']}",
            "position": raw["position"],
            "time": raw["time"],
            "is_own": flag(raw["is_own"], "is_own"),
            "text_hash": digest.hex() if digest else None,
            "is_live": flag(raw["is_live"], "is_live"),
        }

    def encoded(self, view: View, key: str, row: Mapping[str, Any]) -> Row:
        return passage_columns(view, _number(view, row["memory"]), row)


class _Usages(LogicalTable):
    name, number = "usage", "memory"

    def raw(self, view: View, key: str) -> Row | None:
        return view.one("usage_of", memory_id=key)

    def key(self, view: View, raw: Row) -> str:
        return str(raw["owner"])

    def decoded(self, view: View, raw: Row) -> Row:
        return {name: raw[name] for name in NO_USAGE}

    def encoded(self, view: View, key: str, row: Mapping[str, Any]) -> Row:
        return {"memory": _number(view, key), **{name: row[name] for name in NO_USAGE}}


class _Records(LogicalTable):
    name = "record"

    def raw(self, view: View, key: str) -> Row | None:
        kind, _, name = key.partition("/")
        return view.one("record_row", kind=hide_key(view.seal, kind), key=hide_key(view.seal, name))

    def key(self, view: View, raw: Row) -> str:
        return "/".join(self._names(view, raw))

    def decoded(self, view: View, raw: Row) -> Row:
        kind, key = self._names(view, raw)
        if "/" in kind:
            raise ValueError("its kind holds a slash")
        row = (view.project, kind, key)
        body = json.loads(view.seal.open(raw["body"], place="record.body", row=row))
        return {"version": raw["version"], "body": body, "updated_at": raw["updated_at"]}

    def encoded(self, view: View, key: str, row: Mapping[str, Any]) -> Row:
        kind, _, name = key.partition("/")
        body = view.seal.seal(dump_body(row["body"]), place="record.body", row=(view.project, kind, name))
        named = {"kind": hide_key(view.seal, kind), "key": hide_key(view.seal, name)}
        return {**named, "version": row["version"], "body": body, "updated_at": row["updated_at"]}

    def _raws(self, view: View) -> Iterator[Row]:
        """All rows by kind and key. Where these are encrypted, they are sorted first, and the rows read one by one: bodies may be large."""
        found = super()._raws(view)
        if not view.seal.is_secret:
            return found
        stored = sorted((self._names(view, raw), raw["kind"], raw["key"]) for raw in found)
        one_by_one = (view.one("record_row", kind=kind, key=key) for _, kind, key in stored)
        return (raw for raw in one_by_one if raw is not None)

    def _names(self, view: View, raw: Row) -> tuple[str, str]:
        return reveal_key(view.seal, raw["kind"]), reveal_key(view.seal, raw["key"])

    def _place(self, raw: Row) -> Row:
        return {f"of_{name}": raw[name] for name in ("project", "kind", "key")}


TABLES: Mapping[str, LogicalTable] = {table.name: table for table in (_Memories(), _Passages(), _Usages(), _Records())}
"""Every table that the journal speaks of, those that others hang on first."""


def flag(value: int, name: str) -> bool:
    """A flag as it is stored. `ValueError` for another number than 0 and 1: statements compare with these."""
    if value not in (0, 1):
        raise ValueError(f"{name} is {value}, neither 0 nor 1")
    return value == 1


def read_rows(view: View) -> Iterator[StoredRow]:
    """Every logical row of a project: memories, then passages, and so on."""
    for table in TABLES.values():
        yield from table.rows(view)


def passages_of(view: View, memory_id: str) -> dict[str, Row]:
    """The logical passages of a memory by key, in order."""
    table = TABLES["passage"]
    return {table.key(view, raw): table.decoded(view, raw) for raw in view.all("passages_of", memory_id=memory_id)}


def passage_columns(view: View, memory: int, row: Mapping[str, Any]) -> Row:
    """The columns of the file for a logical passage of a memory, given its row number, without those that the insertion makes."""
    place = (view.project, memory, row["position"])
    return {
        **{name: row[name] for name in ("position", "time")},
        **{name: int(row[name]) for name in ("is_own", "is_live")},
        **{name: view.seal.seal(row[name].encode(), place=f"passage.{name}", row=place) for name in PASSAGE_TEXTS},
        "memory": memory,
        "text_hash": view.seal.hide(bytes.fromhex(row["text_hash"]), place=TEXT) if row["text_hash"] else None,
    }


def passage_from(row: Mapping[str, Any]) -> Passage:
    """The passage of a logical row."""
    return Passage.model_construct(
        text=row["text"],
        keywords=row["keywords"],
        speaker=row["speaker"],
        position=row["position"],
        time=None if row["time"] is None else from_micros(row["time"]),
        is_own=row["is_own"],
    )


def _number(view: View, memory_id: str) -> int:
    raw = view.one("memory_by_id", id=memory_id)
    if raw is None:
        raise LookupError(f"there is no memory {memory_id}")
    return int(raw["row"])
