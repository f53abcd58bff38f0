"""The statements that SQLite runs, over all connections to files that are opened meanwhile."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK")
FULL_TEXT = ("--", "INSERT INTO text_", "UPDATE project SET unindexed")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as SQLite ran it, and the number of its connection."""

    sql: str
    connection: int

    @property
    def is_counted(self) -> bool:
        """Whether it is neither of a transaction nor of the full text, which takes in many memories at once now and then."""
        return not self.sql.startswith((*TRANSACTION, *FULL_TEXT))


@dataclass(slots=True)
class Trace:
    """What was run so far."""

    statements: list[Statement] = field(default_factory=list)
    connections: int = 0

    def of(self, call: Callable[[], object]) -> list[Statement]:
        """What a call runs. A statement for many rows is one, one that is run for each row is many."""
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


def counted(statements: Sequence[Statement]) -> int:
    """How many of the statements are counted."""
    return sum(statement.is_counted for statement in statements)


def beside_writes(statements: Sequence[Statement]) -> list[Statement]:
    """What ran on another connection while one was in the middle of a write."""
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
