"""Looks for damage in a file: its pages, its definitions, its numbers, its full text, and all that `alma.storage.relational.verify` looks at."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

from alma.storage.relational.logical import View
from alma.storage.relational.readback import Report
from alma.storage.relational.seal import OpenSeal, Seal
from alma.storage.relational.store_values import is_whole
from alma.storage.relational.text_index import fill
from alma.storage.relational.verify import Findings, examine
from alma.storage.sqlite import fulltext
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.migrations import LAYOUT, MIGRATIONS, applied_migrations, is_former_name, migrate
from alma.storage.sqlite.session import Connection, connection_of
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


def verify(database: Database, *, seal: Seal) -> VerifyReport:
    """Lists what is wrong with the database, each problem with its place. Reads a consistent view, while others may go on writing."""
    with database.snapshot_apart() as connection:
        return examined(connection, seal=seal).report()


def examined(connection: Connection, *, seal: Seal) -> Findings:
    """Returns all that is wrong with the database that a connection sees."""
    findings = Findings((sqlite3.DatabaseError,))
    with any_text(connection):
        check_store = partial(_check_file, connection, findings)
        examine(connection, findings, seal=seal, check_store=check_store, check_text=_check_full_text)
    return findings


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
    with findings.reading("store") as report:
        if not is_whole(connection):
            report("store", "its values, the database's id and embedder, are not those that its checksum was made of")
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
        for term in sorted({term for each in (connection, model) for term in fulltext.terms(each, view.project)}):
            found, due = (fulltext.documents_with(each, view.project, term) for each in (connection, model))
            if found != due:
                report("full text", f"the word {term!r} is not found where the passages have it")
                return
