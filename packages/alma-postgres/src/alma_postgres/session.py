"""A session over one connection: runs statements by their names."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from psycopg import Connection, Cursor, OperationalError
from psycopg.abc import Params
from psycopg.pq import TransactionStatus
from psycopg.sql import Composed

from alma.storage.relational.session import NOTHING, Given, NotUniqueError
from alma_postgres.compiling import Texts

MOST_ROWS = 64
"""A statement takes this many rows of values."""

AT_ONCE = 2_000
"""A long result is read in portions of this many rows."""

LONG = frozenset(
    {
        "vector_changes",
        "memory_rows",
        "passage_rows",
        "usage_rows",
        "record_rows",
        "vector_rows",
        "journal_after",
        "touched_all",
        "texts",
        "texts_searched",
        "outcome_bodies",
    }
)
"""Statements that may find all of a project, and those of a copy. In a view they are read portion by portion, through a cursor of the server."""


class PostgresSession:
    """Implements `alma.storage.relational.session.Session`."""

    def __init__(
        self,
        connection: Connection,
        texts: Texts,
        limit: Callable[[], str],
        renew: Callable[[Connection], Connection] | None = None,
    ) -> None:
        """`limit` is the statement that bounds how long a transaction waits for locks. `renew` gives another connection for one that the
        server closed. It is asked for single looks only: they can be repeated."""
        self.connection = connection
        self._texts = texts
        self._limit = limit
        self._renew = renew
        self._numbers = count()

    def all(self, statement: str, given: Given = NOTHING, /) -> Iterator[tuple[Any, ...]]:
        """The rows that a statement finds."""
        if self._is_long(statement):
            return self._in_portions(statement, given)
        return iter(self.execute(self._texts[statement], given).fetchall())

    def each(self, statement: str, given: Given = NOTHING, /) -> Iterator[dict[str, Any]]:
        """The rows that a statement finds, by column."""
        if self._is_long(statement):
            names: list[str] = []
            return (dict(zip(names, values, strict=True)) for values in self._in_portions(statement, given, names))
        return _by_column(self.execute(self._texts[statement], given))

    def many(self, statement: str, rows: Sequence[Given], /) -> Iterator[dict[str, Any]]:
        """The rows that a statement finds for all given ones, by column."""
        for start in range(0, len(rows), MOST_ROWS):
            repeated = self._at_once(statement, rows[start : start + MOST_ROWS])
            assert repeated is not None
            yield from _by_column(repeated)

    def run(self, statement: str, given: Given = NOTHING, /) -> int:
        """Runs a statement, and returns how many rows it changed."""
        return self.execute(self._texts[statement], given).rowcount

    def insert(self, statement: str, given: Given, /) -> int:
        """Makes a row, and returns its number."""
        cursor = self.execute(self._texts.inserting(statement), given)
        if not cursor.rowcount:
            raise NotUniqueError(f"a row cannot be stored ({statement}): its key is taken; see `alma verify`")
        row = cursor.fetchone() if cursor.description else None
        return int(row[0]) if row and isinstance(row[0], int) else 0

    def run_many(self, statement: str, rows: Sequence[Given], /) -> int:
        """Runs a statement for each of the given rows."""
        changed = 0
        for start in range(0, len(rows), MOST_ROWS):
            part = rows[start : start + MOST_ROWS]
            cursor = self._at_once(statement, part) or self._one_by_one(statement, part)
            changed += cursor.rowcount
        return changed

    def _at_once(self, statement: str, rows: Sequence[Given]) -> Cursor | None:
        repeated = self._texts.repeated(statement, len(rows))
        if repeated is None:
            return None
        text, names = repeated
        return self.execute(text, {f"{name}__{number}": row[name] for number, row in enumerate(rows) for name in names})

    def _one_by_one(self, statement: str, rows: Sequence[Given]) -> Cursor:
        cursor = self.connection.cursor(binary=True)
        cursor.executemany(self._texts[statement], rows)
        return cursor

    def execute(self, text: str | Composed, given: Params = NOTHING) -> Cursor:
        """Runs a text with parameters, outside of a transaction in one of its own."""
        if self.connection.info.transaction_status != TransactionStatus.IDLE:
            return self.connection.execute(text, given, binary=True)
        try:
            return self._look(text, given)
        except OperationalError:
            if self._renew is None or not self.connection.broken:
                raise
            self.connection = self._renew(self.connection)
            return self._look(text, given)

    def _look(self, text: str | Composed, given: Params) -> Cursor:
        """Runs one statement with a bound on its waiting for locks: four statements on one way to the server and back."""
        connection = self.connection
        try:
            with connection.pipeline():
                connection.execute("BEGIN")
                connection.execute(self._limit())
                found = connection.execute(text, given, binary=True)
                connection.execute("COMMIT")
        except BaseException:
            roll_back(connection)
            raise
        return found

    def _is_long(self, statement: str) -> bool:
        is_long = statement in LONG or statement.startswith("copy_")
        return is_long and self.connection.info.transaction_status == TransactionStatus.INTRANS

    def _in_portions(self, statement: str, given: Given, names: list[str] | None = None) -> Iterator[tuple[Any, ...]]:
        with self.connection.cursor(f"alma_{next(self._numbers)}", binary=True) as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(self._texts[statement], given, binary=True)
            if names is not None:
                names += [column.name for column in cursor.description or ()]
            yield from cursor


def roll_back(connection: Connection) -> None:
    """Ends a transaction, if there is one, as if it had not been."""
    if not connection.closed and connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
        connection.execute("ROLLBACK")


def _by_column(cursor: Cursor) -> Iterator[dict[str, Any]]:
    names = [column.name for column in cursor.description or ()]
    return (dict(zip(names, values, strict=True)) for values in cursor.fetchall())
