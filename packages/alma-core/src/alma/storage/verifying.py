"""Looks for damage: the file itself, each project's chain, every row against what the journal says of it, every vector and index entry."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from alma import journal
from alma.journal import BrokenChainError, JournalRecord, ReplayError, State
from alma.storage import compiled, fulltext
from alma.storage.database import Database
from alma.storage.migrations import migrate
from alma.storage.rows import Row, named, passage_key, text_hash, vector_checksum
from alma.storage.seal import Seal
from alma.types.partition import Partition
from alma.types.reports import Problem, VerifyReport

MOST_PROBLEMS = 100
NUMBERED = frozenset({"memory", "passage"})
"""Tables whose rows name the record that changed them last."""


@dataclass(slots=True)
class _Findings:
    problems: list[Problem] = field(default_factory=list)
    records: int = 0
    memories: int = 0
    vectors: int = 0
    purged: int = 0
    heads: dict[str, str] = field(default_factory=dict)

    def add(self, project: str | None, place: str, what: str) -> None:
        """Notes a problem. The first hundred are kept: one broken page can make thousands."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(project_id=project, place=place, what=what))


def verify(database: Database, *, seal: Seal, dimension: int) -> VerifyReport:
    """What is wrong with the database, each problem with its place. Of one moment, while others may go on writing."""
    findings = _Findings()
    with database.snapshot() as connection:
        _check(lambda: _check_file(connection, findings), findings)
        projects: list[tuple[int, str, int, bytes]] = []
        _check(
            lambda: projects.extend(
                connection.execute("SELECT row, coalesce(CAST(name AS TEXT), ''), head_seq, head_hash FROM project")
            ),
            findings,
        )
        _check(lambda: _check_schema(connection, [row for row, *_ in projects], findings), findings)
        for row, name, head_seq, head_hash in projects:
            project = _Project(connection, seal, dimension, row, name, findings)
            _check(lambda project=project, head=(head_seq, head_hash): project.check(*head), findings, name)  # type: ignore[misc]
    return VerifyReport(
        problems=tuple(findings.problems),
        projects=len(projects),
        records=findings.records,
        memories=findings.memories,
        vectors=findings.vectors,
        purged=findings.purged,
        heads=findings.heads,
    )


def _check(step: Callable[[], None], findings: _Findings, project: str | None = None) -> None:
    """Runs a step; damage that stops it is a finding, not the end."""
    try:
        step()
    except (sqlite3.DatabaseError, ValueError, TypeError, LookupError, AttributeError) as error:
        findings.add(project, "database file", f"cannot be read any further: {error}")


def _check_file(connection: sqlite3.Connection, findings: _Findings) -> None:
    for (line,) in connection.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            findings.add(None, "database file", line)


def _check_schema(connection: sqlite3.Connection, projects: Sequence[int], findings: _Findings) -> None:
    """Whether tables and indexes are defined as the migrations define them, and nothing acts on its own."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        migrate(model, at=0)
        for row in projects:
            fulltext.create(model, row)
        expected = set(model.execute(_DEFINITIONS))
    found = set(connection.execute(_DEFINITIONS))
    for kind, name, *_ in expected - found:
        findings.add(None, f"{kind} {name}", "is missing or defined otherwise than ALMA defines it")
    for kind, name, *_ in found - expected:
        if kind in ("trigger", "view"):
            findings.add(None, f"{kind} {name}", "is none of ALMA's")


_DEFINITIONS = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT GLOB 'text_*_*'"
"""Without the tables behind the full text, which differ from one version of SQLite to the next."""


@dataclass(slots=True)
class _Project:
    """The checks of one project."""

    connection: sqlite3.Connection
    seal: Seal
    dimension: int
    row: int
    name: str
    findings: _Findings

    def check(self, head_seq: int, head_hash: bytes) -> None:
        """All checks, the chain first."""
        state: State = {}
        self._check_chain(head_seq, head_hash, state)
        partitions = {
            row: Partition(row, bool(is_user), owner, kind)
            for row, is_user, owner, kind in self.connection.execute(compiled.PARTITIONS, {"project": self.row, "after": 0})
        }
        ids = dict(self.connection.execute("SELECT row, id FROM memory WHERE project = ?", (self.row,)))
        for table, key, logical in self._stored_rows(partitions, ids):
            self._compare(table, key, logical, state.pop((table, key), None))
        for table, key in state:
            self._report(f"{table} {key}", "is in the journal, but its row is gone")
        self._check_vectors(ids)
        self._check_full_text()

    def _report(self, place: str, what: str) -> None:
        self.findings.add(self.name, place, what)

    def _check_chain(self, head_seq: int, head_hash: bytes, state: State) -> None:
        previous, expected = journal.GENESIS, 1
        for values in self.connection.execute(compiled.JOURNAL_OF, {"project": self.row}):
            record = self._record(values)
            self.findings.records += 1
            try:
                journal.follow(record, previous=previous, seq=expected)
            except BrokenChainError as error:
                self._report(f"journal record {record.seq}", str(error))
            self._replay(record, state)
            previous, expected = record.hash, record.seq + 1
        if (expected - 1, previous) != (head_seq, head_hash):
            self._report(
                f"journal record {head_seq}", f"the newest record should be {head_seq}; the journal ends at {expected - 1}"
            )
        self.findings.heads[self.name] = previous.hex()

    def _record(self, values: tuple[Any, ...]) -> JournalRecord:
        _, seq, at, actor, operation, payload, salt, digest, head = values
        opened = None if payload is None else self.seal.open(payload, place="journal.payload")
        return JournalRecord(self.name, seq, at, actor, operation, opened, salt, digest, head)

    def _replay(self, record: JournalRecord, state: State) -> None:
        if record.payload is None:
            self.findings.purged += 1
            return
        try:
            changes = journal.decode_payload(record.payload)
            journal.replay(changes, state)
            for change in changes:
                if change.table in NUMBERED and change.after is not None:
                    state[change.table, change.key]["seq"] = record.seq
        except ReplayError as error:
            self._report(f"journal record {record.seq}", f"cannot be replayed: {error}")
        except (ValueError, TypeError) as error:
            self._report(f"journal record {record.seq}", f"its payload is not readable: {error}")

    def _stored_rows(self, partitions: dict[int, Partition], ids: dict[int, str]) -> Iterator[tuple[str, str, Row | str]]:
        """Table, key and logical row of everything the journal speaks of; a text instead of a row says why there is none."""
        for row in self._rows("SELECT * FROM memory WHERE project = ?"):
            self.findings.memories += 1
            yield "memory", row["id"], self._logical(lambda row=row: self._memory(row, partitions))  # type: ignore[misc]
        for row in self._rows("SELECT * FROM passage WHERE project = ?"):
            owner = ids.get(row["memory"], f"of row {row['memory']}")
            logical = self._logical(lambda row=row, owner=owner: self._passage(row, owner))  # type: ignore[misc]
            yield "passage", passage_key(owner, row["position"]), logical
        for row in self._rows("SELECT usage.* FROM usage JOIN memory ON memory.row = usage.memory WHERE memory.project = ?"):
            yield "usage", ids[row.pop("memory")], row
        for row in self._rows("SELECT * FROM record WHERE project = ?"):
            yield "record", f"{row['kind']}/{row['key']}", self._logical(lambda row=row: self._small_record(row))  # type: ignore[misc]

    def _rows(self, query: str) -> Iterator[Row]:
        cursor = self.connection.execute(query, (self.row,))
        for values in cursor:
            yield named(cursor, values)

    def _logical(self, read: Callable[[], Row]) -> Row | str:
        try:
            return read()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return f"is not readable: {error}"

    def _memory(self, row: Row, partitions: dict[int, Partition]) -> Row:
        partition = partitions[row["partition"]]
        plain = (
            "id",
            "agent",
            "confidence",
            "successes",
            "trials",
            "seen_at",
            "created_at",
            "updated_at",
            "archived_at",
            "evidence",
            "seq",
        )
        return {
            **{name: row[name] for name in plain},
            "kind": partition.kind,
            "is_user": partition.is_user,
            "owner": partition.owner,
            "body": json.loads(self.seal.open(row["body"], place="memory.body")),
            "content_hash": row["content_hash"].hex(),
        }

    def _passage(self, row: Row, memory_id: str) -> Row:
        texts = {name: self.seal.open(row[name], place=f"passage.{name}").decode() for name in ("speaker", "text", "keywords")}
        if row["text_hash"] is not None and row["text_hash"] != text_hash(texts["text"]):
            raise ValueError("its text is not the one that was embedded")
        return {
            **texts,
            "memory": memory_id,
            "position": row["position"],
            "time": row["time"],
            "is_own": bool(row["is_own"]),
            "text_hash": row["text_hash"].hex() if row["text_hash"] else None,
            "is_live": bool(row["is_live"]),
            "seq": row["seq"],
        }

    def _small_record(self, row: Row) -> Row:
        body = json.loads(self.seal.open(row["body"], place="record.body"))
        return {"version": row["version"], "body": body, "updated_at": row["updated_at"]}

    def _compare(self, table: str, key: str, stored: Row | str, expected: Row | None) -> None:
        place = f"{table} {key}"
        if expected is None:
            self._report(place, "is in no journal record")
        elif isinstance(stored, str):
            self._report(place, stored)
        elif stored != expected:
            columns = sorted(name for name in {*stored, *expected} if stored.get(name) != expected.get(name))
            self._report(place, f"differs from the journal in {', '.join(columns)}")

    def _check_vectors(self, ids: dict[int, str]) -> None:
        known = set()
        for digest, sealed, checksum in self.connection.execute(
            "SELECT text_hash, vector, checksum FROM vector WHERE project = ?", (self.row,)
        ):
            self.findings.vectors += 1
            known.add(digest)
            vector = self.seal.open(sealed, place="vector.vector")
            if vector_checksum(vector) != checksum or len(vector) != 2 * self.dimension:
                self._report(f"vector {digest.hex()}", f"was changed; it belongs to {self._users_of(digest, ids)}")
        embedded = self.connection.execute(
            "SELECT DISTINCT text_hash FROM passage WHERE project = ? AND text_hash IS NOT NULL AND is_live", (self.row,)
        )
        for (digest,) in embedded.fetchall():
            if digest not in known:
                self._report(f"vector {digest.hex()}", f"is missing; it belongs to {self._users_of(digest, ids)}")

    def _users_of(self, digest: bytes, ids: dict[int, str]) -> str:
        rows = self.connection.execute(
            "SELECT memory FROM passage WHERE project = ? AND text_hash = ? LIMIT 3", (self.row, digest)
        )
        return ", ".join(f"memory {ids.get(memory, memory)}" for (memory,) in rows) or "no memory"

    def _check_full_text(self) -> None:
        held, expected = fulltext.word_counts(self.connection, self.row)
        if held != expected:
            self._report("full text", f"holds {held} words, but its documents have {expected}")
        indexed = fulltext.documents(self.connection, self.row)
        live = dict(self.connection.execute("SELECT row, id FROM memory WHERE project = ? AND archived_at IS NULL", (self.row,)))
        for row in live.keys() - indexed:
            self._report(f"memory {live[row]}", "is missing from the full text")
        for row in indexed - live.keys():
            self._report("full text", f"has an entry, {row}, of no memory")
