"""Checks of the whole file: its pages, its definitions, the store's own values, row numbers, and rows that belong to no project."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache

from alma.storage.relational.checks.findings import Area, Findings
from alma.storage.relational.store_values import is_whole
from alma.storage.sqlite import fulltext
from alma.storage.sqlite.migrations import LAYOUT, MIGRATIONS, applied_migrations, is_former_name, migrate
from alma.storage.sqlite.session import Connection

NUMBERED_ONCE = ("memory", "passage", "partition")
"""Tables whose row numbers are never reused."""

LARGEST_ROW = (1 << 31) - 1
"""The largest row number that indexes hold."""

_DEFINITIONS = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT GLOB 'text_*_*'"
"""Without the tables behind the full text, which differ from one version of SQLite to the next."""

_OF_PROJECTS = """
    SELECT definition.name FROM sqlite_master AS definition JOIN pragma_table_info(definition.name) AS info
    WHERE definition.type = 'table' AND info.name = 'project' AND definition.sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY 1"""
GIVEN_OUT = "SELECT count(*), min(row), max(row) FROM (SELECT row FROM passage UNION SELECT passage FROM removed)"
"""The count of the row numbers of passages, the least and the greatest. Each that was given out is that of a row or listed as removed."""

_NO_MEMORY = "SELECT memory FROM usage WHERE memory NOT IN (SELECT row FROM memory)"

_Fault = tuple[str, str]
_Definition = tuple[str, str, str, str]


def check_file(connection: Connection, projects: Sequence[int], findings: Findings) -> None:
    """All checks that are of no single project. `projects` are those that have their full text in the file, by row."""
    checks: Sequence[tuple[Area, Callable[[], Iterator[_Fault]]]] = (
        (Area.FILE, lambda: _pages(connection)),
        (Area.FILE, lambda: _definitions(connection, projects)),
        (Area.FILE, lambda: _store(connection)),
        (Area.FILE, lambda: _ownerless(connection)),
        (Area.TABLES, lambda: _row_numbers(connection)),
        (Area.TABLES, lambda: _usage_of_none(connection)),
    )
    for area, check in checks:
        findings.step(area, lambda area=area, check=check: _noted(area, check(), findings))  # type: ignore[misc] # bound as defaults


def _noted(area: Area, faults: Iterator[_Fault], findings: Findings) -> None:
    for place, what in faults:
        findings.add(area, place, what)


def _pages(connection: Connection) -> Iterator[_Fault]:
    for (line,) in connection.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield "database file", line


def definitions(projects: Sequence[int]) -> frozenset[_Definition]:
    """Type, name, table and statement of each table and index of a database with these projects."""
    with closing(sqlite3.connect(":memory:")) as model:
        for row in projects:
            fulltext.create(model, row)
        return _without_projects().union(model.execute(_DEFINITIONS))


@cache
def _without_projects() -> frozenset[_Definition]:
    """Returns what the migrations define. Cached: it is the same for every database, and slow to make."""
    with closing(sqlite3.connect(":memory:", isolation_level=None, factory=Connection)) as model:
        migrate(model, at=0)
        return frozenset(model.execute(_DEFINITIONS))


def _definitions(connection: Connection, projects: Sequence[int]) -> Iterator[_Fault]:
    """Reports tables and indexes that are not as the migrations define them, and triggers."""
    expected, found = definitions(projects), set(connection.execute(_DEFINITIONS))
    known = {name for _, name, *_ in expected}
    for kind, name, *_ in sorted(expected - found, key=lambda one: one[:2]):
        yield f"{kind} {name}", "is missing or defined otherwise than ALMA defines it"
    for kind, name, *_ in sorted(found - expected, key=lambda one: one[:2]):
        if kind in ("trigger", "view"):
            yield f"{kind} {name}", "is none of ALMA's"
        elif name.startswith(("text_", "words_")) and name not in known:
            yield f"{kind} {name}", "is the full text of no project"


def _store(connection: Connection) -> Iterator[_Fault]:
    if not is_whole(connection):
        yield "store", "its values, the database's id and embedder, are not those that its checksum was made of"
    listed = {name for name in applied_migrations(connection) if not is_former_name(name)}
    missing = {LAYOUT, *(migration.__name__ for migration in MIGRATIONS)} ^ listed
    for name in sorted(missing):
        yield f"migration {name}", "is listed wrongly, or not listed"


def _ownerless(connection: Connection) -> Iterator[_Fault]:
    for table, project, count in ownerless(connection):
        yield table, f"has {count} rows of the project {project}, which there is not"


def ownerless(connection: Connection) -> Iterator[tuple[str, int, int]]:
    """Rows of no project, in every table whose rows are of one: the table, the project and their number."""
    for (table,) in connection.execute(_OF_PROJECTS).fetchall():
        query = f'SELECT project, count(*) FROM "{table}" WHERE project NOT IN (SELECT row FROM project) GROUP BY project'  # noqa: S608
        for project, count in connection.execute(query):
            yield table, project, count


def _row_numbers(connection: Connection) -> Iterator[_Fault]:
    """Row numbers that could be given out a second time, and numbers of passages of which nothing says what became of them."""
    for table in NUMBERED_ONCE:
        first, newest = connection.execute(f'SELECT coalesce(min(row), 1), coalesce(max(row), 0) FROM "{table}"').fetchone()  # noqa: S608
        if first < 1:
            yield table, f"has a row of the number {first}, and they begin at 1"
        last = last_number(connection, table)
        if not isinstance(last, int) or not newest <= last <= LARGEST_ROW:
            yield f"sqlite_sequence of {table}", f"says that {last} was the last row number given out, and {newest} is the newest"
    count, first, newest = connection.execute(GIVEN_OUT).fetchone()
    last = last_number(connection, "passage")
    if count != last or (count and (first, newest) != (1, last)):
        yield "passage", f"{last} row numbers were given out, but {count} are of a row or listed as removed, {first} to {newest}"


def last_number(connection: Connection, table: str) -> object:
    """The row number of a table that was given out last, as SQLite remembers it."""
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 0 if found is None else found[0]


def _usage_of_none(connection: Connection) -> Iterator[_Fault]:
    for (memory,) in connection.execute(_NO_MEMORY):
        yield f"usage of row {memory}", "is of no memory, and the next memory of that number would have it"
