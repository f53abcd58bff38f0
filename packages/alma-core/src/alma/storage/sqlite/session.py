"""A connection that runs the statements of `alma.storage.relational.statements`, most of them as they were compiled ahead of time."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from alma.storage.relational.session import NOTHING, Given, NotUniqueError, Session, split_at_values
from alma.storage.sqlite.compiled import STATEMENTS

MOST_ROWS = 32
"""A statement takes this many rows of values. To prepare a longer one takes longer than it saves."""


class Connection(sqlite3.Connection):
    """A connection that is a `Session`, and knows how long it waits for locks."""

    waits: float

    def wait_for(self, seconds: float) -> None:
        """Waits that long for locks from now on."""
        if self.waits != seconds:
            self.execute(f"PRAGMA busy_timeout={round(seconds * 1000)}")
            self.waits = seconds

    def all(self, statement: str, given: Given = NOTHING, /) -> Iterator[tuple[Any, ...]]:
        """The rows that a statement finds."""
        return self.execute(_text(statement), given)

    def each(self, statement: str, given: Given = NOTHING, /) -> Iterator[dict[str, Any]]:
        """The rows that a statement finds, by column."""
        return _by_column(self.execute(_text(statement), given))

    def many(self, statement: str, rows: Sequence[Given], /) -> Iterator[dict[str, Any]]:
        """The rows that a statement finds for all given ones, by column."""
        for start in range(0, len(rows), MOST_ROWS):
            yield from _by_column(self._at_once(statement, rows[start : start + MOST_ROWS]))

    def run(self, statement: str, given: Given = NOTHING, /) -> int:
        """Runs a statement, and returns how many rows it changed."""
        return self.execute(_text(statement), given).rowcount

    def insert(self, statement: str, given: Given, /) -> int:
        """Makes a row, and returns its number."""
        try:
            return self.execute(_text(statement), given).lastrowid or 0
        except sqlite3.IntegrityError as error:
            raise NotUniqueError(f"a row cannot be stored: {error}; see `alma verify`") from error

    def run_many(self, statement: str, rows: Sequence[Given], /) -> int:
        """Runs a statement for each of the given rows."""
        if len(rows) > MOST_ROWS or "VALUES (" not in _text(statement):
            return self.executemany(_text(statement), rows).rowcount if rows else 0
        return self._at_once(statement, rows).rowcount if rows else 0

    def _at_once(self, statement: str, rows: Sequence[Given]) -> sqlite3.Cursor:
        repeated, names = _repeated(_text(statement), len(rows))
        return self.execute(repeated, [row[name] for row in rows for name in names])


def connection_of(session: Session) -> Connection:
    """The connection that a session of this room is."""
    assert isinstance(session, Connection)
    return session


def _text(statement: str) -> str:
    """The text of a statement. A rare one is compiled here, which loads SQLAlchemy, once a process."""
    if statement not in STATEMENTS:
        from alma.storage.sqlite.compiling import compiled_statements

        STATEMENTS[statement] = compiled_statements()[statement]
    return STATEMENTS[statement]


def _by_column(cursor: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return (dict(zip(names, values, strict=True)) for values in cursor)


@lru_cache(maxsize=512)
def _repeated(statement: str, count: int) -> tuple[str, Sequence[str]]:
    """The statement with its row of values repeated, and the names of what each of these takes, in order."""
    head, row, tail = split_at_values(statement)
    rows = ", ".join([re.sub(r":\w+", "?", row)] * count)
    return f"{head}{rows}{tail}", re.findall(r":(\w+)", row)


def continue_numbers(session: Session) -> None:
    """Has row numbers go on after all that were copied. Of passages that are gone, those of the newest rows may be among them."""
    connection = connection_of(session)
    ((gone,),) = connection.execute("SELECT coalesce(max(passage), 0) FROM removed")
    if not connection.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'passage'", (gone,)).rowcount:
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('passage', ?)", (gone,))
