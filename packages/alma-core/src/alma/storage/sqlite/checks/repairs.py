"""Repairs of what holds for the whole file, from what SQLite, the migrations and the hashes of the journals say."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress

from alma import journal
from alma.storage.relational.logical import View
from alma.storage.relational.readback import record_from
from alma.storage.relational.rows import PLACES
from alma.storage.sqlite.checks.file import GIVEN_OUT, LARGEST_ROW, NUMBERED_ONCE, definitions, last_number, ownerless
from alma.storage.sqlite.migrations import restore_indexes
from alma.storage.sqlite.session import Connection, connection_of

_SLACK = 1_000

_TRUTH = frozenset({"store", "migration", "project", "journal"})
"""Tables whose content can come from nowhere else."""

_FROM_PLACE = (
    f"UPDATE journal SET project = place / {PLACES}, seq = place % {PLACES}",  # noqa: S608 - a number
)
_FROM_COLUMNS = (
    f"UPDATE journal SET place = -(project * {PLACES} + seq) WHERE place <> project * {PLACES} + seq",  # noqa: S608 - a number
    "UPDATE journal SET place = -place WHERE place < 0",
)
_ENDS = f"""
    SELECT project, hash FROM (SELECT place / {PLACES} AS project, max(place), hash FROM journal GROUP BY 1)
    WHERE project NOT IN (SELECT row FROM project)"""  # noqa: S608 - a number
_RENUMBER = f"""
    UPDATE project SET row = :row
    WHERE head_hash = :head AND NOT EXISTS (SELECT 1 FROM journal WHERE place / {PLACES} = project.row)"""  # noqa: S608 - a number
_HAS_JOURNAL = f"SELECT EXISTS (SELECT 1 FROM journal WHERE place / {PLACES} = ?)"  # noqa: S608 - a number


def restore_definitions(connection: Connection, projects: Sequence[int]) -> None:
    """Makes missing tables anew, empty; indexes that are missing or defined otherwise; and all indexes from their tables."""
    known = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    indexes: dict[str, str | None] = {}
    for kind, name, table, statement in definitions(projects):
        if statement and not statement.startswith("CREATE VIRTUAL") and table not in _TRUTH:
            if kind == "index":
                indexes[name] = statement
            elif name not in known:
                connection.execute(statement)
    restore_indexes(connection, indexes)
    with suppress(sqlite3.DatabaseError):  # rows that no index allows are found otherwise
        connection.execute("REINDEX")


def restore_project_rows(connection: Connection) -> None:
    """Gives a project without a journal the number of the journal that ends as the project says, if that journal has no project."""
    for journal_of, end in connection.execute(_ENDS).fetchall():
        connection.execute(_RENUMBER, {"row": journal_of, "head": end})


def restore_places(connection: Connection, faults: Callable[[], int]) -> None:
    """Sets the columns by which journal records are found from one another, if the hashes of the records then agree better than before.

    `faults` is the number of faults in the journals.
    """
    fewest, best = faults(), None
    for attempt in (_FROM_PLACE, _FROM_COLUMNS):
        if fewest:
            connection.execute("SAVEPOINT attempt")
            if _ran(connection, attempt) and (found := faults()) < fewest:
                fewest, best = found, attempt
            connection.execute("ROLLBACK TO attempt")
            connection.execute("RELEASE attempt")
    if best is not None:
        _ran(connection, best)


def restore_hashes(view: View, name: str, seq: int, head: bytes) -> None:
    """Computes the hashes of a project's records anew, and keeps them if they lead to the one that the project names as the newest."""
    previous, renewed = journal.GENESIS, []
    for place, *values in list(view.session.all("journal_of", {"project": view.project})):
        record = record_from(values, view, name)
        digest = record.digest if record.payload is None else journal.payload_digest(record.salt or b"", record.payload)
        previous = journal.record_hash(
            previous,
            project=name,
            seq=record.seq,
            at=record.at,
            actor=record.actor,
            operation=record.operation,
            digest=digest,
        )
        renewed.append((view.seal.seal(digest, place="journal.digest", row=(view.project, record.seq)), previous, place))
    if (len(renewed), previous) == (seq, head):
        connection_of(view.session).executemany("UPDATE journal SET (digest, hash) = (?, ?) WHERE place = ?", renewed)


def _ran(connection: Connection, statements: Sequence[str]) -> bool:
    try:
        for statement in statements:
            connection.execute(statement)
    except sqlite3.IntegrityError:  # two records would have one place
        return False
    return True


def drop_ownerless(connection: Connection) -> None:
    """Deletes rows of no project, unless there is a journal of that project: then only its name is lost. Usage of no memory goes as well."""
    for table, project, _ in [*ownerless(connection)]:
        if table != "journal" and not connection.execute(_HAS_JOURNAL, (project,)).fetchone()[0]:
            connection.execute(f'DELETE FROM "{table}" WHERE project = ?', (project,))  # noqa: S608 - a table of ours
    connection.execute("DELETE FROM usage WHERE memory NOT IN (SELECT row FROM memory)")


def restore_row_numbers(connection: Connection) -> None:
    """Lets row numbers go on after the greatest one that was given out."""
    for table in NUMBERED_ONCE:
        last = _last_passage(connection) if table == "passage" else _last_row(connection, table)
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, last))


def _last_row(connection: Connection, table: str) -> int:
    query = f'SELECT coalesce(max(row), 0) FROM "{table}" WHERE row <= ?'  # noqa: S608 - one of our own names
    (newest,) = connection.execute(query, (LARGEST_ROW,)).fetchone()
    noted = last_number(connection, table)
    return max(newest, noted) if isinstance(noted, int) and noted <= LARGEST_ROW else int(newest)


def _last_passage(connection: Connection) -> int:
    """As for other tables. Every number of a passage is that of a row or listed as removed, so a number far beyond their count is damaged."""
    count, _, newest = connection.execute(GIVEN_OUT).fetchone()
    given_out = (number for number in (newest, last_number(connection, "passage")) if isinstance(number, int))
    return max((number for number in given_out if count <= number <= 2 * count + _SLACK), default=count)
