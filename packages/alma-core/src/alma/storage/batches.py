"""Reads or writes many rows with one statement."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

MOST_ROWS = 32
"""A statement takes this many rows of values. To prepare a longer one takes longer than it saves."""


def query_many(connection: sqlite3.Connection, statement: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[sqlite3.Cursor]:
    """What a statement that has one row of `VALUES` finds for all rows, part by part. It takes nothing but what these hold."""
    return (_run(connection, statement, rows[start : start + MOST_ROWS]) for start in range(0, len(rows), MOST_ROWS))


def run_many(connection: sqlite3.Connection, statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Runs a statement that has one row of `VALUES` for all rows. It takes nothing but what these hold; without rows nothing is run."""
    if len(rows) > MOST_ROWS:
        connection.executemany(statement, rows)
    elif rows:
        _run(connection, statement, rows)


def _run(connection: sqlite3.Connection, statement: str, rows: Sequence[Mapping[str, Any]]) -> sqlite3.Cursor:
    repeated, names = _repeated(statement, len(rows))
    return connection.execute(repeated, [row[name] for row in rows for name in names])


@lru_cache(maxsize=512)
def _repeated(statement: str, count: int) -> tuple[str, Sequence[str]]:
    """The statement with its row of values repeated, and the names of what each of these takes, in order."""
    start = statement.index("VALUES (") + len("VALUES ")
    end = _closing(statement, start) + 1
    names, row = re.findall(r":(\w+)", statement[start:end]), re.sub(r":\w+", "?", statement[start:end])
    return f"{statement[:start]}{', '.join([row] * count)}{statement[end:]}", names


def _closing(text: str, opening: int) -> int:
    """Where the bracket is closed that is opened at a place."""
    depth = 0
    for at, sign in enumerate(text[opening:], start=opening):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            return at
    raise ValueError(f"no bracket closes that at {opening} of {text!r}")
