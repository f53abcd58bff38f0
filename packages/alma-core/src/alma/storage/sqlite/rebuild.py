"""Rebuilds what follows from the journals: a damaged project is made from its journal again, if the journal is whole.

One transaction, with new row numbers throughout, and a journal record of its own. The record changes nothing. It names every passage and all
small records, so that indexes and caches, those of other processes too, take in the new rows and let go of the old ones, as after any other write.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache

from alma import journal
from alma.journal import Change
from alma.storage.relational.applying import store_vectors
from alma.storage.relational.hidden_keys import hide_touched
from alma.storage.relational.logical import TABLES, PartitionKey, View
from alma.storage.relational.lookups import Partitions
from alma.storage.relational.readback import Expected, replay
from alma.storage.relational.reembedding import dimensions_of
from alma.storage.relational.rows import text_hash
from alma.storage.relational.seal import Seal
from alma.storage.relational.store_values import is_whole
from alma.storage.relational.text_index import fill
from alma.storage.relational.verify import Findings, stored_vectors
from alma.storage.relational.writing import Write
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.fulltext import FTS5Index
from alma.storage.sqlite.migrations import restore_indexes
from alma.storage.sqlite.session import Connection, connection_of
from alma.storage.sqlite.verify import (
    GIVEN_OUT,
    LARGEST_ROW,
    NUMBERED_ONCE,
    OF_PROJECTS,
    any_text,
    definitions,
    examined,
    last_number,
)
from alma.types.reports import VerifyReport

_SLACK = 1_000
_ROWS_OF = (
    "DELETE FROM passage WHERE project = :project OR memory IN (SELECT row FROM memory WHERE project = :project)",
    "DELETE FROM usage WHERE memory IN (SELECT row FROM memory WHERE project = :project)",
    *(
        f"DELETE FROM {table} WHERE project = :project"  # noqa: S608 - our own names
        for table in ("memory", "record", "partition", "touched", "removed")
    ),
)
_TRUTH = ("store", "migration", "project", "journal")
"""Tables whose content can come from nowhere else."""

_NAMED_BY = {"passage": "is_live", "record": "version"}


def unembedded(database: Database, *, seal: Seal) -> Sequence[str]:
    """Returns the texts that need a vector and have no sound one; none if the store does not say for sure which embedder made the others."""
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
            _restore_file(connection, [row for row, _ in before.projects])
            damaged = [(View(connection, row, seal), name) for row, name in before.projects if row in before.damaged]
            whole = [(view, name) for view, name in damaged if _replayed(view, name) is not None]
            for view, _ in whole:  # all of them first: a damaged row number may be the greatest
                for statement in _ROWS_OF:
                    connection.execute(statement, {"project": view.project})
            for view, name in whole:
                _make_again(view, name, at=at)
            for view, _ in damaged:
                _replace_vectors(view, before.unembedded.get(view.project, ()), vectors)
                fill(view, FTS5Index(seal))
        after = examined(connection, seal=seal)
    return after.report(tuple(problem for problem in before.problems if problem not in after.problems))


def _restore_file(connection: Connection, projects: list[int]) -> None:
    """Makes missing tables and indexes again, drops rows whose project has neither a row nor a journal, and lets row numbers go on after all
    that were given out. A number of passages far beyond their count is damaged."""
    known = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    expected = {name.split(" ", 1)[1]: sql for name, sql in definitions(projects).items() if sql}
    for name, statement in expected.items():
        if name not in known and statement.startswith("CREATE TABLE") and name not in _TRUTH:
            connection.execute(statement)
    restore_indexes(connection, {name: sql for name, sql in expected.items() if sql.startswith("CREATE INDEX")})
    with suppress(sqlite3.DatabaseError):  # rows that no index allows are reported
        connection.execute("REINDEX")
    owners = "SELECT row FROM project UNION SELECT project FROM journal"
    for table in (table for table in OF_PROJECTS if table not in _TRUTH):
        connection.execute(f"DELETE FROM {table} WHERE project NOT IN ({owners})")  # noqa: S608 - our own names, as below
    connection.execute("DELETE FROM usage WHERE memory NOT IN (SELECT row FROM memory)")
    for table in NUMBERED_ONCE:
        numbers = GIVEN_OUT if table == "passage" else f"SELECT row FROM {table} WHERE row <= {LARGEST_ROW}"  # noqa: S608
        count, newest = connection.execute(f"SELECT count(*), coalesce(max(row), 0) FROM ({numbers})").fetchone()  # noqa: S608
        most = 2 * count + _SLACK if table == "passage" else LARGEST_ROW
        noted = last_number(connection, table)
        last = max((one for one in (newest, noted) if isinstance(one, int) and count <= one <= most), default=count)
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, last))


def _replayed(view: View, name: str) -> Expected | None:
    """Returns the content of a project by its journal; `None` if that is damaged or does not reach the end that the project names."""
    wanted, findings = Expected(), Findings((sqlite3.DatabaseError,))
    with findings.reading("journal") as report:
        replay(wanted, view, name, report)
    seq, head, _ = view.ends()
    return None if findings.problems or (wanted.seq != seq and wanted.head != head) else wanted


def _make_again(view: View, name: str, *, at: int) -> None:
    """Inserts the rows of a project as its journal says, and notes that in a record."""
    wanted = _replayed(view, name)
    assert wanted is not None
    write = Write(
        *(view.session, name, view.project, wanted.seq + 1, wanted.head, wanted.learned_seq),
        *("", journal.REBUILD, at, view.seal, FTS5Index(view.seal), Partitions({}, {}, 0)),
    )
    insert_rows(view, wanted, write.seq)
    for (table, key), row in wanted.rows.items():
        if column := _NAMED_BY.get(table):
            write.changes.append(Change(table, key, {column: row[column]}, {column: row[column]}))
    if write.finish() is None:  # a project without rows
        end = {"head_seq": wanted.seq, "head_hash": wanted.head, "learned_seq": wanted.learned_seq}
        view.session.run("project_advance", {"of_row": view.project, **end})


def _replace_vectors(view: View, unembedded: Sequence[str], vectors: Mapping[str, bytes]) -> None:
    """Deletes the damaged vectors, and stores those that were made in their place."""
    connection = connection_of(view.session)
    if not _embedder_is_known(connection):
        return
    damaged = [(row,) for row, _, _, fault in stored_vectors(view, dimensions_of(connection)) if fault is not None]
    connection.executemany("DELETE FROM vector WHERE row = ?", damaged)
    store_vectors(view, {text_hash(text): vectors[text] for text in unembedded if text in vectors})


def _embedder_is_known(connection: Connection) -> bool:
    with any_text(connection), suppress(sqlite3.DatabaseError):
        return is_whole(connection)
    return False


def insert_rows(view: View, wanted: Expected, seq: int | None) -> None:
    """Inserts all rows and lists of a project that has none as part of record `seq`; with `None`, for a database that was empty, each as part of
    its own record."""
    seal, project = view.seal, view.project

    @cache
    def partition(key: PartitionKey) -> int:
        is_user, owner, kind = key
        columns = {"project": project, "is_user": int(is_user), "owner": owner, "kind": kind}
        return view.session.insert("partition_insert", columns)

    view = View(view.session, project, seal, partition)
    for (table, key), row in wanted.rows.items():
        columns = TABLES[table].encoded(view, key, row)
        if TABLES[table].is_numbered:
            columns["seq"] = seq if table == "passage" and seq is not None else row["seq"]
        TABLES[table].insert(view, columns)
    last = {(key, row["seq"]) for (table, key), row in wanted.rows.items() if table == "memory"}
    lines = [{"project": project, "key": hide_touched(seal, key), "seq": number} for key, number in wanted.touched - last]
    view.session.run_many("touched_insert", lines)
    if seq is not None:  # every number of a passage that is gone and that no other project lists
        listed = {row for (row,) in connection_of(view.session).execute(GIVEN_OUT)}
        gone = (row for row in range(1, max(listed, default=0) + 1) if row not in listed)
        view.session.run_many("removed_insert", [{"project": project, "seq": seq, "passage": row} for row in gone])
