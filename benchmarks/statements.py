"""Counts the statements that SQLite runs for a call, over all connections that are opened after this is imported and begun."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

OF_TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK")
OF_FULL_TEXT = "--"
"""What FTS5 runs inside one of our statements, on its own tables, begins so in a trace. How much that is depends on its segments."""


@dataclass(slots=True)
class Trace:
    """The statements run so far, as SQLite ran them: one for many rows is one, one that is run for each row is many."""

    ran: list[str] = field(default_factory=list)

    def of(self, call: Callable[[], object]) -> tuple[int, int]:
        """How many statements a call runs: those that begin and end transactions left out, and all."""
        self.ran.clear()
        call()
        ours = [statement for statement in self.ran if not statement.startswith(OF_FULL_TEXT)]
        return sum(not statement.startswith(OF_TRANSACTION) for statement in ours), len(ours)


@contextmanager
def traced() -> Iterator[Trace]:
    """Traces every connection to a file that is opened in the block."""
    trace, connect = Trace(), sqlite3.connect

    def connected(path: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(path, **options)
        if path != ":memory:":
            connection.set_trace_callback(trace.ran.append)
        return connection

    sqlite3.connect = connected  # type: ignore[assignment] # for as long as the block lasts
    try:
        yield trace
    finally:
        sqlite3.connect = connect
