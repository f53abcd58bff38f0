"""Rebuilds what follows from the journals: a project in which anything is damaged is made anew from its journal, if that is whole.

One transaction, with new row numbers throughout, and a journal record of its own. The record changes nothing. It names every passage and all
small records, so that indexes and caches, those of other processes too, take in the new rows and let go of the old ones, as after any other write.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from alma import journal
from alma.journal import Change
from alma.storage.relational.applying import store_vectors
from alma.storage.relational.checks.expected import Expected, replay
from alma.storage.relational.checks.findings import Area, Findings
from alma.storage.relational.checks.vectors import stored_vectors
from alma.storage.relational.hidden_keys import hide_touched
from alma.storage.relational.logical import TABLES, PartitionKey, View
from alma.storage.relational.partitions import Partitions
from alma.storage.relational.reembedding import dimensions_of
from alma.storage.relational.rows import text_hash
from alma.storage.relational.seal import Seal
from alma.storage.relational.store_values import is_whole
from alma.storage.relational.writing import Write
from alma.storage.sqlite import fulltext
from alma.storage.sqlite.checks.documents import passages_by_memory
from alma.storage.sqlite.checks.repairs import (
    drop_ownerless,
    restore_definitions,
    restore_hashes,
    restore_places,
    restore_project_rows,
    restore_row_numbers,
)
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.session import Connection, connection_of
from alma.storage.sqlite.verifying import any_text, examined
from alma.types.reports import VerifyReport

_PROJECTS = "SELECT row, name, head_seq, head_hash FROM project ORDER BY row"
_ROWS_OF = (
    "DELETE FROM passage WHERE project = :project OR memory IN (SELECT row FROM memory WHERE project = :project)",
    "DELETE FROM usage WHERE memory IN (SELECT row FROM memory WHERE project = :project)",
    *(
        f"DELETE FROM {table} WHERE project = :project"  # noqa: S608 - our own names
        for table in ("memory", "record", "partition", "touched", "removed")
    ),
)
_PASSAGES = "SELECT row FROM passage UNION SELECT passage FROM removed"
_NAMED_BY = {"passage": "is_live", "record": "version"}
LIVE = "SELECT row FROM memory WHERE project = ? AND archived_at IS NULL ORDER BY row"


def unembedded(database: Database, *, seal: Seal) -> Sequence[str]:
    """The texts that need a vector and have no sound one; none if the store does not say for sure which embedder made the others."""
    with database.snapshot_apart() as connection:
        found = examined(connection, seal=seal).unembedded if _embedder_is_known(connection) else {}
    return sorted({text for texts in found.values() for text in texts})


def rebuild(database: Database, *, seal: Seal, vectors: Mapping[str, bytes], at: int) -> VerifyReport:
    """Rebuilds what is damaged and follows from the journals, with the vectors of texts that have none, and reports what it could and could not."""
    with database.snapshot_apart() as connection:  # a transaction in which a damaged full text was read cannot write any more
        before = examined(connection, seal=seal)
    if not before.problems:
        return before.report()
    with database.transaction() as connection:
        with any_text(connection):
            _Rebuild(connection, seal, before, vectors, at).run()
        after = examined(connection, seal=seal)
    return after.report(tuple(problem for problem in before.problems if problem not in after.problems))


@dataclass(slots=True)
class _Rebuild:
    """The repairs of one transaction. `before` is what was found, `vectors` those of texts that had none."""

    connection: Connection
    seal: Seal
    before: Findings
    vectors: Mapping[str, bytes]
    at: int

    def run(self) -> None:
        """Repairs the file first, then project by project."""
        restore_project_rows(self.connection)
        restore_definitions(self.connection, [] if self.seal.is_secret else [row for row, *_ in self._projects()])
        restore_places(self.connection, self._faults)
        for row, name, seq, head in self._projects():
            if _replayed(view := View(self.connection, row, self.seal), name)[1]:
                with suppress(ValueError):  # a name or a text that was never one
                    restore_hashes(view, name, seq, head)
        drop_ownerless(self.connection)
        restore_row_numbers(self.connection)
        known = self.before.areas
        for row, name, seq, head in self._projects():
            if row not in self.before.rows or known.get(row) or Area.TABLES in known.get(None, ()):
                self._mend(View(self.connection, row, self.seal), name, seq, head)

    def _projects(self) -> list[tuple[int, str, int, bytes]]:
        return self.connection.execute(_PROJECTS).fetchall()

    def _faults(self) -> int:
        """The number of faults in all journals."""
        return sum(_replayed(View(self.connection, row, self.seal), name)[1] for row, name, *_ in self._projects())

    def _mend(self, view: View, name: str, seq: int, head: bytes) -> None:
        """Makes a project anew; where its journal is damaged, or does not reach the end that the project names, its caches alone."""
        wanted, faults = _replayed(view, name)
        self._replace_vectors(view)
        if faults or (wanted.seq != seq and wanted.head != head):
            fill_full_text(view)
            return
        made = MadeAnew(view, wanted)
        write = Write(
            *(self.connection, name, view.project, wanted.seq + 1, wanted.head, wanted.learned_seq, 0),
            *("", journal.REBUILD, self.at, self.seal, fulltext.FTS5Index(), Partitions({}, {}, 0), {}),
        )
        made.insert(write.seq)
        write.changes += made.named()
        if write.finish() is None:  # a project without rows
            made.restore_end()
        fill_full_text(view)

    def _replace_vectors(self, view: View) -> None:
        """Deletes the damaged vectors, and stores those that were made in their place."""
        if not _embedder_is_known(self.connection):
            return
        found = [*stored_vectors(view, dimensions_of(self.connection))]
        self.connection.executemany("DELETE FROM vector WHERE row = ?", [(vector.row,) for vector in found if vector.fault])
        texts = sorted(self.before.unembedded.get(view.project, set()) & self.vectors.keys())
        store_vectors(view, {text_hash(text): self.vectors[text] for text in texts})


def _replayed(view: View, name: str) -> tuple[Expected, int]:
    """The content of a project by its journal, and the number of faults in that."""
    wanted, findings = Expected(), Findings()

    def report(place: str, what: str) -> None:
        findings.add(Area.JOURNAL, place, what)

    findings.step(Area.JOURNAL, lambda: replay(wanted, view, name, report))
    return wanted, findings.count


def _embedder_is_known(connection: Connection) -> bool:
    with any_text(connection), suppress(sqlite3.DatabaseError):
        return is_whole(connection)
    return False


def fill_full_text(view: View) -> None:
    """Makes the full text of a project anew from its passages; that of an encrypted store is in memory alone."""
    if view.seal.is_secret:
        return
    connection = connection_of(view.session)
    fulltext.create_anew(connection, view.project)
    live = [row for (row,) in connection.execute(LIVE, (view.project,))]
    fulltext.insert_all(connection, view.project, passages_by_memory(view, live))


@dataclass(slots=True)
class MadeAnew:
    """The rows of a project, in place of those that were there."""

    view: View
    wanted: Expected
    partitions: dict[PartitionKey, int] = field(default_factory=dict)

    def insert(self, seq: int | None) -> None:
        """Inserts all rows and lists as part of record `seq`; with `None`, for a database that was empty, each as part of its own record."""
        for statement in _ROWS_OF:
            connection_of(self.view.session).execute(statement, {"project": self.view.project})
        view = View(self.view.session, self.view.project, self.view.seal, self._partition)
        for (table, key), row in self.wanted.rows.items():
            columns = TABLES[table].encoded(view, key, row)
            if TABLES[table].is_numbered:
                columns["seq"] = seq if table == "passage" and seq is not None else row["seq"]
            TABLES[table].insert(view, columns)
        self._insert_touched()
        if seq is not None:
            self._insert_removed(seq)

    def _partition(self, key: PartitionKey) -> int:
        if key not in self.partitions:
            is_user, owner, kind = key
            columns = {"project": self.view.project, "is_user": int(is_user), "owner": owner, "kind": kind}
            self.partitions[key] = self.view.session.insert("partition_insert", columns) or 0
        return self.partitions[key]

    def _insert_touched(self) -> None:
        last = {(key, row["seq"]) for (table, key), row in self.wanted.rows.items() if table == "memory"}
        seal, project = self.view.seal, self.view.project
        lines = [{"project": project, "key": hide_touched(seal, key), "seq": seq} for key, seq in self.wanted.touched - last]
        self.view.session.run_many("touched_insert", lines)

    def _insert_removed(self, seq: int) -> None:
        """Lists every number of a passage that is gone and that no other project lists."""
        listed = {row for (row,) in connection_of(self.view.session).execute(_PASSAGES)}
        gone = (row for row in range(1, max(listed, default=0) + 1) if row not in listed)
        rows = [{"project": self.view.project, "seq": seq, "passage": row} for row in gone]
        self.view.session.run_many("removed_insert", rows)

    def named(self) -> Sequence[Change]:
        """Changes that change nothing, of all rows that others keep by number or version."""
        return [
            Change(table, key, {_NAMED_BY[table]: row[_NAMED_BY[table]]}, {_NAMED_BY[table]: row[_NAMED_BY[table]]})
            for (table, key), row in self.wanted.rows.items()
            if table in _NAMED_BY
        ]

    def restore_end(self) -> None:
        """Has the project name the end of its journal."""
        end = {"head_seq": self.wanted.seq, "head_hash": self.wanted.head, "learned_seq": self.wanted.learned_seq}
        self.view.session.run("project_advance", {"of_row": self.view.project, **end})
