"""Ladybug, a graph database in a file, which continues Kùzu. The name `kuzu` opens the same; Kùzu itself serves where only it is installed."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from os import PathLike, fspath
from typing import Any

from alma.errors import StorageError
from alma_graph.backends.cypher import Dialect, Statement, Values
from alma_graph.backends.missing import missing_driver
from alma_graph.backends.records import ENTITY_COLUMNS, RELATIONSHIP_COLUMNS, Row

LIBRARIES = ("ladybug", "kuzu")
"""Libraries of one interface, the first that is installed is taken. Their files differ: a file is read by the library that made it. The contract was
run on ladybug 0.22.0 and kuzu 0.11.3; real_ladybug 0.15.3, an older name, takes a text such as "{}" in a batch for a map, and is left out for it."""


def _typed(columns: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


LADYBUG = Dialect(
    schema=(
        f"CREATE NODE TABLE IF NOT EXISTS AlmaEntity(key STRING PRIMARY KEY, {_typed(ENTITY_COLUMNS)})",
        f"CREATE REL TABLE IF NOT EXISTS RELATES(FROM AlmaEntity TO AlmaEntity, key STRING, {_typed(RELATIONSHIP_COLUMNS)})",
        "CREATE NODE TABLE IF NOT EXISTS `_Alma`(project STRING PRIMARY KEY, seq INT64)",
    ),
    has_labels=False,
)


class LadybugTransport:
    """Statements to a file of Ladybug, one at a time; in memory if there is no path. Other processes may read it with `read_only`."""

    def __init__(self, database_path: str | PathLike[str] | None, *, read_only: bool) -> None:
        name = next((each for each in LIBRARIES if find_spec(each)), None)
        if name is None:
            raise missing_driver("ladybug", "ladybug")
        library: Any = import_module(name)
        self.engine = f"{name} {getattr(library, '__version__', '')}".strip()
        self._read_only, self._lock = read_only, threading.RLock()
        with self._errors():
            path = ":memory:" if database_path is None else fspath(database_path)
            self._database = library.Database(path, read_only=read_only)
            self._connection = library.Connection(self._database)

    def read(self, statement: str, values: Values) -> list[Row]:
        with self._lock, self._errors():
            found = self._connection.execute(statement, dict(values))
            names = found.get_column_names()
            return [dict(zip(names, row, strict=True)) for row in found.get_all()]

    def write(self, statements: Sequence[Statement]) -> None:
        with self._lock, self._errors():
            self._connection.execute("BEGIN TRANSACTION")
            try:
                for text, values in statements:
                    self._connection.execute(text, dict(values))
            except BaseException:
                with suppress(RuntimeError):  # an error of a statement has ended the transaction already
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def define(self, statements: Sequence[str]) -> None:
        if self._read_only:
            return
        with self._lock, self._errors():
            for text in statements:
                self._connection.execute(text)

    def close(self) -> None:
        with self._lock:
            self._connection.close()
            self._database.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, OSError) as error:
            raise StorageError(f"{self.engine}: {error}") from error
