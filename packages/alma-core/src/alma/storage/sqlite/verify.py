"""Looks for damage in a file (its pages, definitions, numbers and full text, and all that `alma.storage.relational.verify` looks at), and repairs
it: a damaged project is made from its journal again, if the journal is whole.

A rebuild is one transaction, with new row numbers throughout, and a journal record of its own. The record changes nothing. It names every passage
and all small records, so that indexes and caches, those of other processes too, take in the new rows and let go of the old ones.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache, partial

from alma import journal
from alma.journal import Change
from alma.storage.relational.applying import store_vectors
from alma.storage.relational.logical import TABLES, PartitionKey, View
from alma.storage.relational.lookups import Partitions
from alma.storage.relational.readback import Expected, Report, replay
from alma.storage.relational.reembedding import dimensions_of
from alma.storage.relational.rows import text_hash
from alma.storage.relational.session import OpenSeal, Seal, hide_touched, is_whole
from alma.storage.relational.text_index import fill
from alma.storage.relational.verify import Findings, examine, stored_vectors
from alma.storage.relational.writing import Write
from alma.storage.sqlite import fulltext
from alma.storage.sqlite.connections import Connection, connection_of
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.fulltext import FTS5Index
from alma.storage.sqlite.migrations import LAYOUT, MIGRATIONS, applied_migrations, is_former_name, migrate, restore_indexes
from alma.types.reports import VerifyReport

NUMBERED_ONCE = ("memory", "passage", "partition")
"""Tables whose row numbers are never reused."""

LARGEST_ROW = (1 << 31) - 1
"""The largest row number that indexes hold."""

OF_PROJECTS = ("partition", "memory", "passage", "vector", "record", "journal", "touched", "removed")
"""Tables whose rows name a project."""

GIVEN_OUT = "SELECT row FROM passage UNION SELECT passage FROM removed"
"""The row numbers of passages: each that was given out is that of a row or listed as removed."""

_DEFINITIONS = "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT GLOB 'text_*_*'"
"""Without the tables behind the full text, which differ from one version of SQLite to the next."""


def examined(connection: Connection, *, seal: Seal) -> Findings:
    """Returns all that is wrong with the database that a connection sees."""
    findings = Findings((sqlite3.DatabaseError,))
    check_store = partial(_check_file, connection, findings)
    with any_text(connection):
        return examine(connection, findings, seal=seal, check_store=check_store, check_text=_check_full_text)


@contextmanager
def any_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Has the driver read damaged text as well, which it would refuse: so it is compared, and its place named."""
    before, connection.text_factory = connection.text_factory, lambda data: data.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = before


def _check_file(connection: Connection, findings: Findings) -> None:
    """Checks what is of no single project."""
    with findings.reading("pages") as report:
        for (line,) in connection.execute("PRAGMA integrity_check(20)"):
            if line != "ok":
                report("database file", line)
    with findings.reading("migrations") as report:
        listed = {name for name in applied_migrations(connection) if not is_former_name(name)}
        for name in sorted({LAYOUT, *(migration.__name__ for migration in MIGRATIONS)} ^ listed):
            report(f"migration {name}", "is listed wrongly, or not listed")
    with findings.reading("tables") as report:
        _check_definitions(connection, report, [row for row, _ in findings.projects])
        _check_owners(connection, report)
    with findings.reading("row numbers") as report:
        for place, what in _number_faults(connection):
            report(place, what)
            findings.damaged.update(row for row, _ in findings.projects)


def definitions(projects: list[int]) -> dict[str, str | None]:
    """Returns the statement of each table and index of a database with these projects, by type and name."""
    with closing(sqlite3.connect(":memory:", isolation_level=None, factory=Connection)) as model:
        migrate(model, OpenSeal(), at=0)
        for row in projects:
            fulltext.create(model, row)
        return dict(model.execute(_DEFINITIONS))


def _check_definitions(connection: Connection, report: Report, projects: list[int]) -> None:
    expected, found = definitions(projects), dict(connection.execute(_DEFINITIONS))
    for name in sorted(found.keys() | expected.keys()):
        if name in expected and found.get(name) != expected[name]:
            report(name, "is missing or defined otherwise than ALMA defines it")
        elif name not in expected and name.startswith(("trigger", "view")):
            report(name, "is none of ALMA's")


def _check_owners(connection: Connection, report: Report) -> None:
    """Reports rows of no project or memory."""
    for table in OF_PROJECTS:
        of_none = f"SELECT project, count(*) FROM {table} WHERE project NOT IN (SELECT row FROM project) GROUP BY 1"  # noqa: S608 - our names
        for project, count in connection.execute(of_none):
            report(table, f"has {count} rows of the project {project}, which there is not")
    for (memory,) in connection.execute("SELECT memory FROM usage WHERE memory NOT IN (SELECT row FROM memory)"):
        report(f"usage of row {memory}", "is of no memory, and the next memory of that number would have it")


def _number_faults(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yields row numbers that could be given out twice, and those of passages of which nothing says what became of them."""
    for table in NUMBERED_ONCE:
        numbers = GIVEN_OUT if table == "passage" else f"SELECT row FROM {table}"  # noqa: S608 - our names
        count, first, newest = connection.execute(f"SELECT count(*), min(row), max(row) FROM ({numbers})").fetchone()  # noqa: S608
        last = last_number(connection, table)
        is_sound = isinstance(last, int) and last <= LARGEST_ROW and (not count or 1 <= first <= newest <= last)
        if not is_sound or (table == "passage" and count != last):
            what = f"says {last} row numbers were given out; {count} are known, {first} to {newest}"
            yield f"sqlite_sequence of {table}", what


def last_number(connection: Connection, table: str) -> object:
    """Returns the row number of a table that was given out last, as SQLite remembers it."""
    return next((seq for (seq,) in connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))), 0)


def _check_full_text(view: View, report: Report) -> None:
    """Compares the documents that a search for each word finds with those found in a second index, made from the passages."""
    connection = connection_of(view.session)
    with closing(sqlite3.connect("", isolation_level=None, factory=Connection)) as model:  # on disk, if it becomes large
        model.execute("BEGIN")
        fill(view, fulltext.FTS5Index(view.seal), into=model)
        words = f"words_{view.project:d}"
        terms = {term for each in (connection, model) for (term,) in each.execute(f"SELECT DISTINCT term FROM {words}")}  # noqa: S608
        documents = f"SELECT group_concat(doc) FROM {words} WHERE term = ?"  # noqa: S608 - a number
        for term in sorted(terms):
            if connection.execute(documents, (term,)).fetchone() != model.execute(documents, (term,)).fetchone():
                report("full text", f"the word {term!r} is not found where the passages have it")
                return


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
            whole = [(view, name, wanted) for view, name in damaged if (wanted := _replay_journal(view, name)) is not None]
            for view, *_ in whole:  # all of them first: a damaged row number may be the greatest
                for statement in _ROWS_OF:
                    connection.execute(statement, {"project": view.project})
            for view, name, wanted in whole:
                _make_again(view, name, wanted, at=at)
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


def _replay_journal(view: View, name: str) -> Expected | None:
    """Returns the content of a project by its journal; `None` if that is damaged or does not reach the end that the project names."""
    wanted, findings = Expected(), Findings((sqlite3.DatabaseError,))
    with findings.reading("journal") as report:
        replay(wanted, view, name, report)
    seq, head, _ = view.ends()
    return None if findings.problems or (wanted.seq != seq and wanted.head != head) else wanted


def _make_again(view: View, name: str, wanted: Expected, *, at: int) -> None:
    """Inserts the rows of a project as its journal says, and notes that in a record."""
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
