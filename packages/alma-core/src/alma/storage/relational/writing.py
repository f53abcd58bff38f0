"""A write: one call of the façade, one transaction, one journal record that lists every row it changed."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from types import EllipsisType
from typing import Any

from alma import journal
from alma.errors import AlmaError, ConflictError, CorruptStoreError, MemoryNotFoundError
from alma.journal import Change, entity
from alma.protocols import Entry, Place
from alma.storage.relational import readback
from alma.storage.relational.applying import apply_changes, store_vectors
from alma.storage.relational.logical import NO_USAGE, TABLES, PartitionKey, View, passage_columns, passages_of
from alma.storage.relational.lookups import Definitions, Lookups, Partitions, RecordName
from alma.storage.relational.purging import Purged, number_key, purge
from alma.storage.relational.rows import (
    UNREADABLE,
    Row,
    content_hash,
    memory_row,
    passage_key,
    passage_row,
    text_hash,
)
from alma.storage.relational.session import OPERATION, NotUniqueError, Seal, Session, hide_key, hide_touched
from alma.storage.relational.text_index import TextIndex
from alma.types.identity import Partition
from alma.types.memories import Memory, Passage

_SILENT = frozenset({"archived_at"})
"""Columns whose change leaves the content of a memory as it was: `updated_at` stays."""


MOST_UNSTORED = 256
"""More rows that wait do not make a statement cheaper, but the garbage collector walks them."""


@dataclass
class Write(Lookups):
    """Gathers the changes of one call. Used inside an open transaction and closed by `finish`, which writes the journal record.

    It looks things up in its own session, and does not look again where a memory is or what a small record says.
    """

    session: Session
    name: str
    row: int
    seq: int
    previous: bytes
    learned_seq: int
    actor: str
    operation: str
    at: int
    seal: Seal
    text: TextIndex
    known: Partitions
    _defined: Definitions = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    _places: dict[str, Place] = field(default_factory=dict)
    _records: dict[RecordName, Row] = field(default_factory=dict)
    _embedded: dict[bytes, bytes] = field(default_factory=dict)
    _unsearched: dict[int, Sequence[Passage]] = field(default_factory=dict)
    """Memories that full text has yet to take in, by row: all of them together, for one at a time costs it more."""
    _unstored: list[Row] = field(default_factory=list)
    """Rows of passages of those memories, which are stored together, too, before this write reads any."""

    @property
    def stored(self) -> Lookups:
        """Looks things up by key, as this write sees them."""
        return self

    def _reading(self) -> AbstractContextManager[View]:
        return nullcontext(self._view())

    def _holding(self, rows: Iterable[int]) -> Mapping[int, Partition]:
        return self.known.by_row

    def add(self, memory: Memory, passages: Sequence[Passage], vectors: Mapping[str, bytes]) -> None:
        """Stores a memory with its passages; those whose text is in `vectors` get its float16 vector. `ConflictError` if the id is taken."""
        view, row = self._view(), memory_row(memory)
        columns = {"project": self.row, "seq": self.seq}
        try:
            number = self.session.insert("memory_insert", {**columns, **TABLES["memory"].encoded(view, memory.id, row)})
        except NotUniqueError as error:
            raise ConflictError(f"there is a memory {memory.id!r} already; nothing was stored") from error
        self.changes.append(Change("memory", memory.id, None, row))
        for passage in passages:
            digest = text_hash(passage.text) if passage.text in vectors else None
            if digest is not None:
                self._embedded[digest] = vectors[passage.text]
            row = passage_row(memory.id, passage, digest)
            self._unstored.append({**columns, **passage_columns(view, number, row)})
            self.changes.append(Change("passage", passage_key(memory.id, passage.position), None, row))
        if len(self._unstored) > MOST_UNSTORED:
            self._store_passages()
        self._unsearched[number] = passages

    def count_usage(self, counts: Mapping[str, Mapping[str, float]]) -> None:
        """Adds to the usage counts of memories, or takes from them, never below 0. `MemoryNotFoundError` if there is none of an id."""
        places = self.find(counts)
        if missing := next((memory_id for memory_id in counts if memory_id not in places), None):
            raise MemoryNotFoundError(f"project {self.name!r} has no memory {missing!r}")
        rows = []
        for memory_id, added in counts.items():
            place = places[memory_id]
            before = place.usage or NO_USAGE
            after = {name: max(none, before[name] + added.get(name, 0)) for name, none in NO_USAGE.items()}
            rows.append({"memory": place.memory, **after})
            self._places[memory_id] = replace(place, usage=after)
            names = NO_USAGE if place.usage is None else added
            was = None if place.usage is None else {name: before[name] for name in names}
            self.changes.append(Change("usage", memory_id, was, {name: after[name] for name in names}))
        self.session.run_many("usage_put", rows)

    def put_record(self, kind: str, key: str, body: Mapping[str, Any], *, version: int, at: int | None = None) -> None:
        """Stores a small record whose newest version is `version` (0 for none). `ConflictError` if another version is stored meanwhile.

        `at` is when it came to be, if not with this write.
        """
        self.put_records({(kind, key): (version, body)}, at=at)

    def put_records(self, records: Mapping[RecordName, tuple[int, Mapping[str, Any]]], *, at: int | None = None) -> None:
        """Stores small records, given with their newest versions, as `put_record` would, in one statement."""
        since = self.at if at is None else at
        unread = [name for name, (version, _) in records.items() if version and name not in self._records]
        for kind in dict.fromkeys(kind for kind, _ in unread):
            self.record(kind, [key for of, key in unread if of == kind])
        rows, changes, view = [], [], self._view()
        for name, (version, body) in records.items():
            before = self._records.get(name) if version else None
            if version and (before is None or before["version"] != version):
                raise self._other_version(*name, version)
            after = {"version": version + 1, "body": dict(body), "updated_at": since}
            changes.append(Change("record", "/".join(name), before, after))
            rows.append({"project": self.row, **TABLES["record"].encoded(view, changes[-1].key, after)})
        if self.session.run_many("record_put", rows) < len(rows):  # one that was to be new is there
            raise self._other_version(*next(name for name, (version, _) in records.items() if not version), 0)
        for name in records:
            self._records.pop(name, None)
        self.changes += changes

    def drop_record(self, kind: str, key: str, body: Mapping[str, Any], *, version: int) -> None:
        """Deletes a small record whose newest version is `version` and says `body`. `ConflictError` if it differs meanwhile, or does not exist."""
        named = {"project": self.row, "kind": hide_key(self.seal, kind), "key": hide_key(self.seal, key)}
        found = list(
            self.session.all("record_take", {"of_version": version, **{f"of_{name}": value for name, value in named.items()}})
        )
        if not found:
            raise self._other_version(kind, key, version)
        ((sealed, since),) = found
        self._records.pop((kind, key), None)
        opened = json.loads(self.seal.open(sealed, place="record.body", row=(self.row, kind, key)))
        if opened != body:  # the caller may go on with this write
            self.session.insert("record_insert", {**named, "version": version, "body": sealed, "updated_at": since})
            raise ConflictError(f"{kind} {key!r} was changed meanwhile: it is not what was read")
        before = {"version": version, "body": opened, "updated_at": since}
        self.changes.append(Change("record", f"{kind}/{key}", before, None))

    def _other_version(self, kind: str, key: str, version: int) -> ConflictError:
        stored, _ = self.record(kind, [key])[key]
        return ConflictError(f"{kind} {key!r} was changed meanwhile: it is at version {stored}, not {version}")

    def apply(self, changes: Iterable[Change], vectors: Mapping[str, bytes] | None = None) -> None:
        """Makes changes to logical rows, with all that hangs on them: full text, vectors, what indexes have to take in. Each row at most once.

        A text that is embedded and new needs its float16 vector in `vectors`, unless one is stored. `ConflictError`, naming the row, if one is
        not what its change expects. What another project purged is only noted.
        """
        given = []
        for change in changes:
            if change.table == journal.PURGE:
                self.changes.append(number_key(change, self.seq))
            else:
                given.append(change)
        self._complete()
        self._places.clear()
        self._records.clear()
        self.changes += apply_changes(self._view(), self.text, given, vectors or {}, seq=self.seq)

    def entries(self, *, after: int) -> Iterator[Entry]:
        """The journal records after a `seq`, oldest first, up to the one before this write."""
        return readback.entries(self._view(), after=after, keys=None)

    def keep_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Keeps the float16 vectors of texts that no passage has, for what is compared with them later. A cache: it is in no journal."""
        self._embedded |= {text_hash(text): vector for text, vector in vectors.items()}

    def change_memory(self, memory_id: str, **columns: Any) -> None:
        """Changes columns of a memory's logical row; of `body` the given fields (`None` takes one out). `MemoryNotFoundError` if there is none.

        Setting `archived_at` takes its passages out of every index, `None` brings them back. `updated_at` follows unless given. The
        searched text is not made again: for that see `replace`.
        """
        view, row = self._to_change(memory_id)
        given = dict(columns)
        if unknown := given.keys() - row.keys():
            raise ValueError(f"a memory has no columns {sorted(unknown)}")
        if "body" in given:
            body = {**row["body"], **given["body"]}
            given["body"] = {name: value for name, value in body.items() if value is not None}
            given["content_hash"] = content_hash(row["kind"], given["body"])
        passages = []
        if "archived_at" in given:
            is_live = given["archived_at"] is None
            passages = [
                Change("passage", key, {"is_live": found["is_live"]}, {"is_live": is_live})
                for key, found in passages_of(view, memory_id).items()
                if found["is_live"] is not is_live
            ]
        if "updated_at" not in given and any(row[name] != value for name, value in given.items() if name not in _SILENT):
            given["updated_at"] = self.at
        self.apply([*_difference(memory_id, row, {**row, **given}), *passages])

    def replace(
        self,
        memory: Memory,
        passages: Sequence[Passage],
        vectors: Mapping[str, bytes],
        *,
        archived_at: int | EllipsisType | None = ...,
    ) -> None:
        """Puts a memory in place of the one with its id, passages and all, as `add` would store it; it keeps its usage and the times of passages
        that stay, and is archived if it was, unless `archived_at` is given. `MemoryNotFoundError` if there is none."""
        view, row = self._to_change(memory.id)
        kept = row["archived_at"] if archived_at is ... else archived_at
        wanted = {**memory_row(memory), "archived_at": kept}
        is_live = wanted["archived_at"] is None
        changes = _difference(memory.id, row, wanted)
        stored = passages_of(view, memory.id)
        wanted = {}
        for passage in passages:
            digest = text_hash(passage.text) if passage.text in vectors else None
            key, made = passage_key(memory.id, passage.position), passage_row(memory.id, passage, digest)
            is_same = key in stored and stored[key]["text"] == made["text"]
            wanted[key] = {**made, "is_live": is_live, "time": stored[key]["time"] if is_same else made["time"]}
        for key in {**stored, **wanted}:
            if stored.get(key) != wanted.get(key):
                changes.append(Change("passage", key, stored.get(key), wanted.get(key)))
        self.apply(changes, vectors)

    def purge(self, memory_ids: Sequence[str], records: Sequence[str]) -> Purged | None:
        """Erases memories and small records for good; this write's journal record says that, and no more. `CorruptStoreError` if one is damaged."""
        self._complete()
        self._places.clear()
        self._records.clear()
        try:
            made = purge(self._view(), self.text, memory_ids, records, seq=self.seq)
        except AlmaError:
            raise
        except UNREADABLE as error:
            raise CorruptStoreError(f"what is to be purged is damaged: {error}; nothing was erased, see `alma verify`") from error
        if made is not None:
            self.changes += made.changes
            self.known = self.known.without(made.partitions)
        return made

    def finish(self) -> bytes | None:
        """Writes the journal record and gives its hash; `None` if nothing was changed."""
        self._complete()
        if not self.changes:
            return None
        head = self._write_journal()
        self._touch()
        if journal.changes_learning(self.operation, self.changes):
            self.learned_seq = self.seq
        end = {"head_seq": self.seq, "head_hash": head, "learned_seq": self.learned_seq}
        self.session.run("project_advance", {"of_row": self.row, **end})
        return head

    def _complete(self) -> None:
        """Stores what hangs on the memories that were added: passages, vectors, their entries in the full text."""
        self._store_passages()
        if self._unsearched:
            self.text.put(self.session, self.row, self._unsearched.items())
            self._unsearched.clear()

    def _store_passages(self) -> None:
        if self._unstored:
            self.session.run_many("passage_insert", self._unstored)
            self._unstored.clear()
        if self._embedded:
            store_vectors(self._view(), self._embedded)
            self._embedded.clear()

    def _write_journal(self) -> bytes:
        """Writes the journal record of all changes, and returns its hash."""
        payload = journal.encode_payload(self.changes)
        salt = os.urandom(journal.SALT_BYTES)
        seq, at, actor, operation = self.seq, self.at, self.actor, self.operation
        digest = journal.payload_digest(salt, payload)
        head = journal.record_hash(
            self.previous, project=self.name, seq=seq, at=at, actor=actor, operation=operation, digest=digest
        )
        said = {"seq": seq, "at": at, "actor": actor, "operation": hide_key(self.seal, operation, OPERATION)}
        sealed = {
            name: self.seal.seal(data, place=f"journal.{name}", row=(self.row, seq))
            for name, data in (("payload", payload), ("salt", salt), ("digest", digest))
        }
        self.session.run("journal_insert", {"project": self.row, **said, **sealed, "hash": head})
        return head

    def _touch(self) -> None:
        """Notes what the record changed, by which history finds it; of a memory whose row names the record, that is enough."""
        names_record = {change.key: change.after is not None for change in self.changes if change.table == "memory"}
        keys = dict.fromkeys(entity(change.table, change.key) for change in self.changes)
        rows = [
            {"project": self.row, "key": hide_touched(self.seal, key), "seq": self.seq}
            for key in keys
            if not names_record.get(key)
        ]
        self.session.run_many("touched_insert", rows)

    def _view(self) -> View:
        return View(self.session, self.row, self.seal, self._partition, self.known.by_row)

    def _to_change(self, memory_id: str) -> tuple[View, Row]:
        """A view of the rows, and the logical row of a memory that is about to change. `MemoryNotFoundError` if there is none."""
        self._complete()
        view, table = self._view(), TABLES["memory"]
        raw = table.raw(view, memory_id)
        if raw is None:
            raise MemoryNotFoundError(f"project {self.name!r} has no memory {memory_id!r}")
        return view, table.decoded(view, raw)

    def _partition(self, key: PartitionKey) -> int:
        number = self.known.by_key.get(key)
        if number is None:
            is_user, owner, kind = key
            row = {"project": self.row, "is_user": int(is_user), "owner": owner, "kind": kind}
            number = self.known.by_key[key] = self.session.insert("partition_insert", row)
            self.known.by_row[number] = Partition(number, *key)
        return number


def _difference(memory_id: str, row: Row, wanted: Row) -> list[Change]:
    """The change that makes a memory's row what is wanted; none, if it is that already."""
    changed = sorted(name for name in row if row[name] != wanted[name])
    before, after = ({name: values[name] for name in changed} for values in (row, wanted))
    return [Change("memory", memory_id, before, after)] if changed else []
