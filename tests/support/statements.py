"""The statements that SQLite runs, over all connections to files that are opened meanwhile."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK")
OF_FULL_TEXT = "--"
"""What FTS5 runs inside one of our statements, on its own tables, begins so in a trace."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as SQLite ran it, and the number of its connection."""

    sql: str
    connection: int

    @property
    def is_counted(self) -> bool:
        """Returns False for statements of transactions, and for those that the full text runs by itself."""
        return not self.sql.startswith((*TRANSACTION, OF_FULL_TEXT))


@dataclass(slots=True)
class Trace:
    """The statements run so far."""

    statements: list[Statement] = field(default_factory=list)
    connections: int = 0

    def of(self, call: Callable[[], object]) -> list[Statement]:
        """Returns the statements of a call. One statement for many rows counts once; one that runs for each row counts each time."""
        start = len(self.statements)
        call()
        return self.statements[start:]

    def count(self, call: Callable[[], object]) -> int:
        """How many statements a call runs, those that begin and end transactions left out."""
        return counted(self.of(call))


@contextmanager
def traced() -> Iterator[Trace]:
    """Traces every connection that is opened in the block."""
    trace, connect = Trace(), sqlite3.connect

    def connected(path: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(path, **options)
        if path != ":memory:":
            number = trace.connections = trace.connections + 1
            connection.set_trace_callback(lambda sql: trace.statements.append(Statement(sql, number)))
        return connection

    with patch("sqlite3.connect", connected):
        yield trace


def next_connection(database: Any) -> sqlite3.Connection:
    """Returns the connection that this thread is using, else the one that will be taken next."""
    with database.reading() as connection:
        assert isinstance(connection, sqlite3.Connection)
        return connection


def counted(statements: Sequence[Statement]) -> int:
    """How many of the statements are counted."""
    return sum(statement.is_counted for statement in statements)


def beside_writes(statements: Sequence[Statement]) -> list[Statement]:
    """Returns the statements that ran on another connection during a write."""
    found: list[Statement] = []
    writer: int | None = None
    for statement in statements:
        if statement.sql.startswith("BEGIN IMMEDIATE"):
            writer = statement.connection
        elif writer is not None and statement.connection != writer:
            found.append(statement)
        elif statement.sql.startswith(("COMMIT", "ROLLBACK")):
            writer = None
    return found
