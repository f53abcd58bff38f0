"""A write: one call of the façade, one transaction, one journal record that lists every row it changed."""

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from alma import journal
from alma.errors import AlmaError, ConflictError, CorruptStoreError, MemoryNotFoundError
from alma.journal import Change, entity
from alma.storage import compiled, fulltext
from alma.storage.applying import apply_changes, searchable, store_vector
from alma.storage.evidence import EvidenceReader, put, recount
from alma.storage.logical import NO_USAGE, TABLES, PartitionKey, View, passages_of
from alma.storage.purging import Purged, purge
from alma.storage.rows import (
    UNREADABLE,
    Row,
    content_hash,
    dump_body,
    memory_row,
    named,
    passage_key,
    passage_row,
    text_hash,
    vector_checksum,
)
from alma.storage.seal import Seal
from alma.storage.waiting import MOST_WAITING, may_wait, take_in
from alma.types.evidence import Evidence, StoredEvidence
from alma.types.memories import Memory
from alma.types.passages import Passage

_SILENT = frozenset({"archived_at"})
"""Columns whose change says nothing new about what a memory tells: `updated_at` stays."""


@dataclass(slots=True)
class Write:
    """Gathers the changes of one call. Used inside an open transaction and closed by `finish`, which writes the journal record."""

    connection: sqlite3.Connection
    project: str
    row: int
    seq: int
    previous: bytes
    learned_seq: int
    unindexed: list[int]
    embedder: int
    actor: str
    operation: str
    at: int
    seal: Seal
    partitions: Mapping[PartitionKey, int]
    new_partitions: dict[PartitionKey, int] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    waiting: dict[int, Sequence[Passage]] = field(default_factory=dict)

    @property
    def learned(self) -> EvidenceReader:
        """The evidence as this write sees it."""
        seen = nullcontext(self._view())
        return EvidenceReader(lambda: seen)

    def add(
        self, memory: Memory, passages: Sequence[Passage], vectors: Mapping[str, bytes], *, evidence: str | None = None
    ) -> None:
        """Stores a memory with its passages; those whose text is in `vectors` get its float16 vector. `ConflictError` if the id is taken."""
        row = memory_row(memory, evidence=evidence)
        partition = self._partition((row["is_user"], row["owner"], row["kind"]))
        memory_number = self._insert_memory(row, partition)
        self.changes.append(Change("memory", memory.id, None, row))
        for passage in passages:
            self._insert_passage(memory.id, memory_number, passage, vectors.get(passage.text))
        self._make_searchable(memory_number, passages)

    def count_usage(self, memory_id: str, counts: Mapping[str, float]) -> None:
        """Adds to the usage counts of a memory, or takes from them, never below 0. `MemoryNotFoundError` if there is none."""
        number = self._row_of(memory_id)
        found = _one(self.connection.execute(compiled.USAGE_BY_MEMORY, {"memory": number}))
        if found is None:
            after = {name: max(none, none + counts.get(name, 0)) for name, none in NO_USAGE.items()}
            self.connection.execute(compiled.USAGE_INSERT, {"memory": number, **after})
            self.changes.append(Change("usage", memory_id, None, after))
            return
        before = {name: found[name] for name in counts}
        changed = {name: max(NO_USAGE[name], found[name] + count) for name, count in counts.items()}
        self.connection.execute(compiled.USAGE_UPDATE, {**found, **changed, "of_memory": number})
        self.changes.append(Change("usage", memory_id, before, changed))

    def put_record(self, kind: str, key: str, body: Mapping[str, Any], *, version: int, at: int | None = None) -> None:
        """Stores a small record whose newest version is `version` (0 for none). `ConflictError` if it is another by now.

        `at` is when it came to be, if not with this write.
        """
        before = self._record(kind, key, version)
        since = self.at if at is None else at
        after = {"version": version + 1, "body": dict(body), "updated_at": since}
        columns = {"version": version + 1, "body": self._sealed(dump_body(body), "record.body"), "updated_at": since}
        if before is None:
            self.connection.execute(compiled.RECORD_INSERT, {"project": self.row, "kind": kind, "key": key, **columns})
        else:
            place = {"of_project": self.row, "of_kind": kind, "of_key": key, "of_version": version}
            self.connection.execute(compiled.RECORD_UPDATE, {**columns, **place})
        self.changes.append(Change("record", f"{kind}/{key}", before, after))

    def drop_record(self, kind: str, key: str, body: Mapping[str, Any], *, version: int) -> None:
        """Deletes a small record whose newest version is `version` and says `body`. `ConflictError` if it is another by now, or gone."""
        before = self._record(kind, key, version)
        if before is None or before["body"] != body:
            raise ConflictError(f"{kind} {key!r} was changed meanwhile: it is not what was read")
        self.connection.execute(compiled.RECORD_DELETE, {"of_project": self.row, "of_kind": kind, "of_key": key})
        self.changes.append(Change("record", f"{kind}/{key}", before, None))

    def _record(self, kind: str, key: str, version: int) -> Row | None:
        """The logical row of a small record of this version; `None` for 0, if there is none. `ConflictError` if the version is another."""
        found = self.connection.execute(compiled.RECORD_BY_KEY, {"project": self.row, "kind": kind, "key": key}).fetchone()
        stored = found[0] if found else 0
        if stored != version:
            raise ConflictError(f"{kind} {key!r} was changed meanwhile: it is at version {stored}, not {version}")
        if found is None:
            return None
        return {"version": version, "body": json.loads(self.seal.open(found[1], place="record.body")), "updated_at": found[2]}

    def apply(self, changes: Iterable[Change], vectors: Mapping[str, bytes] | None = None) -> None:
        """Makes changes to logical rows, with all that hangs on them: full text, vectors, what indexes have to take in. Each row at most once.

        A text that is embedded and new needs its float16 vector in `vectors`, unless one is stored. `ConflictError`, naming the row, if one is
        not what its change expects.
        """
        given = list(changes)
        if searchable(given):
            self._index_waiting()
        self.changes += apply_changes(self._view(), given, vectors or {}, seq=self.seq)

    def put_evidence(self, before: StoredEvidence | None, after: Evidence) -> StoredEvidence:
        """Stores evidence, new or in place of `before`, which has to be what is stored."""
        stored, change = put(self._view(), before, after)
        self.changes.append(change)
        return stored

    def keep_vector(self, text: str, vector: bytes) -> None:
        """Keeps the float16 vector of a text that no passage has, for whoever compares with it later. A cache: it is in no journal."""
        store_vector(self._view(), text, vector)

    def recount(self, memory_id: str, **columns: Any) -> bool:
        """Sets the counts and times of a rule. Whether there is such a memory."""
        view = self._view()
        change = recount(view, memory_id, {**columns, "updated_at": self.at}, seq=self.seq)
        if change is not None:
            self.changes.append(change)
        return change is not None

    def change_memory(self, memory_id: str, **columns: Any) -> None:
        """Changes columns of a memory's logical row; of `body` the given fields (`None` takes one out). `MemoryNotFoundError` if there is none.

        Setting `archived_at` takes its passages out of every index, `None` brings them back. `updated_at` follows unless given. What is
        searched is not made anew: for that see `replace`.
        """
        view = self._view()
        row = self._logical(view, memory_id)
        given = dict(columns)
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
        self.apply([*self._difference(memory_id, row, {**row, **given}), *passages])

    def replace(
        self,
        memory: Memory,
        passages: Sequence[Passage],
        vectors: Mapping[str, bytes],
        *,
        evidence: str | None = None,
    ) -> None:
        """Puts a memory in place of the one with its id, passages and all, as `add` would store it; it keeps its usage, and stays archived if it
        was. `MemoryNotFoundError` if there is none."""
        view = self._view()
        row = self._logical(view, memory.id)
        changes = self._difference(
            memory.id, row, {**memory_row(memory, evidence=evidence), "archived_at": row["archived_at"]}, keep_time=True
        )
        stored = passages_of(view, memory.id)
        wanted = {}
        for passage in passages:
            digest = text_hash(passage.text) if passage.text in vectors else None
            made = {**passage_row(memory.id, passage, digest), "is_live": row["archived_at"] is None}
            wanted[passage_key(memory.id, passage.position)] = made
        for key in {**stored, **wanted}:
            if stored.get(key) != wanted.get(key):
                changes.append(Change("passage", key, stored.get(key), wanted.get(key)))
        self.apply(changes, vectors)

    def purge(self, memory_ids: Sequence[str], records: Sequence[str]) -> Purged | None:
        """Erases memories and small records for good; this write's journal record says that, and no more. `CorruptStoreError` if one is damaged."""
        self._index_waiting()
        try:
            made = purge(self._view(), memory_ids, records, seq=self.seq)
        except AlmaError:
            raise
        except UNREADABLE as error:
            raise CorruptStoreError(f"what is to be purged is damaged: {error}; nothing was erased, see `alma verify`") from error
        if made is not None:
            self.changes += made.changes
        return made

    def find(self, memory_id: str) -> Row:
        """The row of a memory. `MemoryNotFoundError` if there is none."""
        found = _one(self.connection.execute(compiled.MEMORY_BY_ID, {"project": self.row, "id": memory_id}))
        if found is None:
            raise MemoryNotFoundError(f"project {self.project!r} has no memory {memory_id!r}")
        return found

    def _row_of(self, memory_id: str) -> int:
        found = self.connection.execute(compiled.MEMORY_PLACE, {"project": self.row, "id": memory_id}).fetchone()
        if found is None:
            raise MemoryNotFoundError(f"project {self.project!r} has no memory {memory_id!r}")
        return int(found[0])

    def finish(self) -> bytes | None:
        """Writes the journal record and gives its hash; `None` if nothing was changed."""
        if not self.changes:
            return None
        head = self._journalled()
        self._touch()
        if any(map(journal.is_of_evidence, self.changes)):
            self.learned_seq = self.seq
        advanced = {
            "of_row": self.row,
            "head_seq": self.seq,
            "head_hash": head,
            "learned_seq": self.learned_seq,
            "unindexed": str(self.unindexed),  # a list of whole numbers is written as JSON writes it
        }
        self.connection.execute(compiled.PROJECT_ADVANCE, advanced)
        return head

    def _journalled(self) -> bytes:
        """Writes the record of all changes, and gives its hash."""
        payload = journal.encode_payload(self.changes)
        salt = os.urandom(journal.SALT_BYTES)
        seq, at, actor, operation = self.seq, self.at, self.actor, self.operation
        digest = journal.payload_digest(salt, payload)
        head = journal.record_hash(
            self.previous, project=self.project, seq=seq, at=at, actor=actor, operation=operation, digest=digest
        )
        said = {"project": self.row, "seq": seq, "at": at, "actor": actor, "operation": operation}
        kept = {"payload": self._sealed(payload, "journal.payload"), "salt": salt, "digest": digest, "hash": head}
        self.connection.execute(compiled.JOURNAL_INSERT, {**said, **kept})
        return head

    def _touch(self) -> None:
        """Notes what the record changed, by which history finds it; of a memory whose row names the record, that is enough."""
        told_by_row = {change.key: change.after is not None for change in self.changes if change.table == "memory"}
        keys = dict.fromkeys(entity(change.table, change.key) for change in self.changes)
        rows = [{"project": self.row, "key": key, "seq": self.seq} for key in keys if not told_by_row.get(key)]
        if rows:
            self.connection.executemany(compiled.TOUCHED_INSERT, rows)

    def _make_searchable(self, memory_number: int, passages: Sequence[Passage]) -> None:
        if may_wait(passages) and len(self.unindexed) < MOST_WAITING:
            self.unindexed.append(memory_number)
            self.waiting[memory_number] = passages
            return
        self._index_waiting()
        fulltext.insert(self.connection, self.row, memory_number, passages)

    def _index_waiting(self) -> None:
        take_in(self._view(), self.unindexed, self.waiting)
        self.unindexed.clear()
        self.waiting.clear()

    def _view(self) -> View:
        return View(self.connection, self.row, self.seal, self._partition)

    def _logical(self, view: View, memory_id: str) -> Row:
        table = TABLES["memory"]
        raw = table.raw(view, memory_id)
        if raw is None:
            raise MemoryNotFoundError(f"project {self.project!r} has no memory {memory_id!r}")
        return table.decoded(view, raw)

    def _difference(self, memory_id: str, row: Row, wanted: Row, *, keep_time: bool = False) -> list[Change]:
        """The change that makes a memory's row what is wanted; none, if it is that already."""
        if unknown := set(wanted) - set(row):
            raise ValueError(f"a memory has no columns {sorted(unknown)}")
        changed = {name for name in row if row[name] != wanted[name]}
        if changed - _SILENT and "updated_at" not in changed and not keep_time and row["updated_at"] != self.at:
            wanted = {**wanted, "updated_at": self.at}
            changed = {*changed, "updated_at"}
        if not changed:
            return []
        before, after = ({name: values[name] for name in sorted(changed)} for values in (row, wanted))
        return [Change("memory", memory_id, before, after)]

    def _insert_memory(self, row: Row, partition: int) -> int:
        columns = {
            **row,
            "project": self.row,
            "partition": partition,
            "body": self._sealed(dump_body(row["body"]), "memory.body"),
            "content_hash": bytes.fromhex(row["content_hash"]),
            "seq": self.seq,
        }
        try:
            number = self.connection.execute(compiled.MEMORY_INSERT, columns).lastrowid
        except sqlite3.IntegrityError as error:
            raise ConflictError(f"there is a memory {row['id']!r} already; nothing was stored") from error
        assert number is not None
        return number

    def _insert_passage(self, memory_id: str, memory_number: int, passage: Passage, vector: bytes | None) -> None:
        digest = None if vector is None else text_hash(passage.text)
        row = passage_row(memory_id, passage, digest)
        sealed = {name: self._sealed(row[name].encode(), f"passage.{name}") for name in ("speaker", "text", "keywords")}
        self.connection.execute(
            compiled.PASSAGE_INSERT,
            {**row, **sealed, "project": self.row, "memory": memory_number, "text_hash": digest, "seq": self.seq},
        )
        if digest is not None and vector is not None:
            self._insert_vector(digest, vector)
        self.changes.append(Change("passage", passage_key(memory_id, passage.position), None, row))

    def _insert_vector(self, digest: bytes, vector: bytes) -> None:
        sealed = self._sealed(vector, "vector.vector")
        columns = {"project": self.row, "text_hash": digest, "vector": sealed, "checksum": vector_checksum(digest, vector)}
        self.connection.execute(compiled.VECTOR_INSERT, columns)

    def _partition(self, key: PartitionKey) -> int:
        number = self.partitions.get(key) or self.new_partitions.get(key)
        if number is None:
            is_user, owner, kind = key
            columns = {"project": self.row, "is_user": is_user, "owner": owner, "kind": kind}
            number = self.connection.execute(compiled.PARTITION_INSERT, columns).lastrowid
            assert number is not None
            self.new_partitions[key] = number
        return number

    def _sealed(self, data: bytes, place: str) -> bytes:
        return self.seal.seal(data, place=place)


def _one(cursor: sqlite3.Cursor) -> Row | None:
    values = cursor.fetchone()
    return None if values is None else named(cursor, values)
