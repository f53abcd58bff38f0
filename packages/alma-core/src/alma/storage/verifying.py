"""Looks for damage: the file itself, each project's chain, every row against what the journal says of it, every vector and index entry."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

from alma import journal
from alma.journal import BrokenChainError, JournalRecord, ReplayError, State, entity
from alma.protocols import StoredRow
from alma.storage import compiled, fulltext
from alma.storage.database import Database
from alma.storage.evidence import compared, evidence_from, uncounted
from alma.storage.logical import View, read_rows
from alma.storage.migrations import migrate
from alma.storage.readback import Redactions, record_from, touching
from alma.storage.reembedding import dimensions_of
from alma.storage.rewording import reworded
from alma.storage.rows import Row, vector_checksum
from alma.storage.seal import Seal
from alma.types.reports import Problem, VerifyReport
from alma.types.soundness import fault_in_evidence

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


def verify(database: Database, *, seal: Seal) -> VerifyReport:
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
        dimensions: dict[int, int] = {}
        _check(lambda: dimensions.update(dimensions_of(connection)), findings)
        _check(lambda: _check_schema(connection, [row for row, *_ in projects], findings), findings)
        for row, name, head_seq, head_hash in projects:
            project = _Project(connection, seal, dimensions, row, name, findings)
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
    dimensions: Mapping[int, int]
    row: int
    name: str
    findings: _Findings

    def check(self, head_seq: int, head_hash: bytes) -> None:
        """All checks, the chain first."""
        state: State = {}
        self._check_chain(head_seq, head_hash, state)
        for stored in read_rows(View(self.connection, self.row, self.seal)):
            self.findings.memories += stored.table == "memory"
            self._compare(stored, state.pop((stored.table, stored.key), None))
        for table, key in state:
            self._report(f"{table} {key}", "is in the journal, but its row is gone")
        for evidence_id in uncounted(self.connection, self.row):
            self._report(f"evidence {evidence_id}", "does not count all outcomes that rest on it")
        self._check_vectors()
        self._check_full_text()

    def _report(self, place: str, what: str) -> None:
        self.findings.add(self.name, place, what)

    def _check_chain(self, head_seq: int, head_hash: bytes, state: State) -> None:
        previous, expected = journal.GENESIS, 1
        kept, touched = self._redactions(), set[tuple[str, int]]()
        for values in self.connection.execute(compiled.JOURNAL_OF, {"project": self.row}):
            record = self._record(values)
            self.findings.records += 1
            try:
                journal.follow(record, previous=previous, seq=expected)
            except BrokenChainError as error:
                self._report(f"journal record {record.seq}", str(error))
            self._replay(record, kept, state, touched)
            previous, expected = record.hash, record.seq + 1
        if (expected - 1, previous) != (head_seq, head_hash):
            self._report(
                f"journal record {head_seq}", f"the newest record should be {head_seq}; the journal ends at {expected - 1}"
            )
        self.findings.heads[self.name] = previous.hex()
        self._check_touched(touched)

    def _record(self, values: Sequence[Any]) -> JournalRecord:
        return record_from(values, View(self.connection, self.row, self.seal), self.name)

    def _redactions(self) -> Redactions:
        """What purge records keep of the records that they erased. One that cannot be read is found with its own record."""
        kept: Redactions = {}
        view = View(self.connection, self.row, self.seal)
        for values in touching(view, [journal.PURGE]).fetchall():
            with suppress(ValueError, TypeError, LookupError):
                payload = self._record(values).payload
                kept |= journal.redacted(journal.decode_payload(payload)) if payload is not None else {}
        return kept

    def _replay(self, record: JournalRecord, kept: Redactions, state: State, touched: set[tuple[str, int]]) -> None:
        place = f"journal record {record.seq}"
        if record.payload is None:
            self.findings.purged += 1
            if record.seq not in kept:
                self._report(place, "its payload was erased, but by no purge")
                return
        try:
            changes = kept[record.seq] if record.payload is None else journal.decode_payload(record.payload)
            touched |= {(entity(change.table, change.key), record.seq) for change in changes}
            changes = [change for change in changes if change.table != journal.PURGE]
            journal.replay(changes, state)
            for change in changes:
                if change.table in NUMBERED and change.after is not None:
                    state[change.table, change.key]["seq"] = record.seq
        except ReplayError as error:
            self._report(place, f"cannot be replayed: {error}")
        except (ValueError, TypeError) as error:
            self._report(place, f"its payload is not readable: {error}")

    def _check_touched(self, expected: set[tuple[str, int]]) -> None:
        held = set(self.connection.execute(compiled.TOUCHED_ALL, {"project": self.row}))
        for key, seq in sorted(expected - held):
            self._report(f"history of {key}", f"does not list record {seq}")
        for key, seq in sorted(held - expected):
            self._report(f"history of {key}", f"lists record {seq}, which did not change it")

    def _compare(self, stored: StoredRow, expected: Row | None) -> None:
        place = f"{stored.table} {stored.key}"
        if expected is None:
            self._report(place, "is in no journal record")
        elif stored.row is None:
            self._report(place, stored.fault)
        else:
            found = {**stored.row, "seq": stored.seq} if stored.table in NUMBERED else stored.row
            columns = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
            if columns:
                self._report(place, f"differs from the journal in {', '.join(columns)}")
            elif stored.table == "evidence" and (fault := fault_in_evidence(evidence_from(stored.row))):
                self._report(place, f"is none that learning leaves: {fault}")

    def _check_vectors(self) -> None:
        known = set()
        serving = next(iter(self.dimensions), None)
        for digest, embedder, sealed, checksum in self.connection.execute(
            "SELECT text_hash, embedder, vector, checksum FROM vector WHERE project = ?", (self.row,)
        ):
            if embedder not in self.dimensions:
                continue
            if embedder == serving:
                self.findings.vectors += 1
                known.add(digest)
            vector = self.seal.open(sealed, place="vector.vector")
            if vector_checksum(vector) != checksum or len(vector) != 2 * self.dimensions[embedder]:
                self._report(f"vector {digest.hex()}", f"was changed; it belongs to {self._users_of(digest)}")
        embedded = self.connection.execute(
            "SELECT DISTINCT text_hash FROM passage WHERE project = ? AND text_hash IS NOT NULL", (self.row,)
        )
        for (digest,) in embedded.fetchall():
            if digest not in known:
                self._report(f"vector {digest.hex()}", f"is missing; it belongs to {self._users_of(digest)}")

    def _waiting(self) -> set[int]:
        """The memories that the full text does not hold yet."""
        (found,) = self.connection.execute("SELECT unindexed FROM project WHERE row = ?", (self.row,)).fetchone()
        return {int(row) for row in json.loads(found)}

    def _users_of(self, digest: bytes) -> str:
        rows = self.connection.execute(
            "SELECT coalesce(memory.id, passage.memory) FROM passage LEFT JOIN memory ON memory.row = passage.memory "
            "WHERE passage.project = ? AND text_hash = ? LIMIT 3",
            (self.row, digest),
        )
        users = ", ".join(f"memory {memory}" for (memory,) in rows)
        return users or ("the evidence on a strategy" if self._is_compared(digest) else "no memory")

    def _is_compared(self, digest: bytes) -> bool:
        with suppress(ValueError):
            return (self.row, digest) in compared(self.connection, self.seal)
        return False

    def _check_full_text(self) -> None:
        held, expected = fulltext.word_counts(self.connection, self.row)
        if held != expected:
            self._report("full text", f"holds {held} words, but its documents have {expected}")
        indexed = fulltext.documents(self.connection, self.row)
        live = dict(self.connection.execute("SELECT row, id FROM memory WHERE project = ? AND archived_at IS NULL", (self.row,)))
        waiting = self._waiting()
        for row in waiting & indexed & live.keys():
            self._report(f"memory {live[row]}", "waits for the full text, which holds it")
        for row in waiting - live.keys():
            self._report("full text", f"waits for {row}, which is no memory")
        for row in live.keys() - indexed - waiting:
            self._report(f"memory {live[row]}", "is missing from the full text")
        for row in indexed - live.keys():
            self._report("full text", f"has an entry, {row}, of no memory")
        if held == expected:
            for row in reworded(View(self.connection, self.row, self.seal), sorted(live.keys() & indexed)):
                self._report(f"memory {live[row]}", "has other words in the full text than in its passages")
