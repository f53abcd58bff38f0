"""A second dialect: SQLite as SQLAlchemy runs it, with full text in a plain table. It stands on the shared code alone."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from alma.errors import StorageError
from alma.storage.relational.session import NOTHING, Given, NotUniqueError
from alma.storage.relational.statements import STATEMENTS
from alma.storage.relational.store import RelationalStore
from alma.storage.relational.tables import metadata, text_metadata
from alma.storage.relational.text_index import TextRows
from alma.testing import MockEmbedder

NAMES = {name: frozenset(statement.compile().params) for name, statement in STATEMENTS.items()}


class AlchemySession:
    """Runs the statements themselves; their text only where there are many rows of values."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def all(self, statement: str, given: Given = NOTHING, /) -> Iterator[tuple[Any, ...]]:
        return map(tuple, self._result(statement, given))

    def each(self, statement: str, given: Given = NOTHING, /) -> Iterator[dict[str, Any]]:
        return map(dict, self._result(statement, given).mappings())

    def many(self, statement: str, rows: Sequence[Given], /) -> Iterator[dict[str, Any]]:
        compiled: Any = STATEMENTS[statement].compile(self.connection.engine)  # once: SQLAlchemy caches no statement with VALUES
        for row in rows:
            values = compiled.construct_params({name: row[name] for name in NAMES[statement]})
            found = self.connection.exec_driver_sql(compiled.string, tuple(values[name] for name in compiled.positiontup))
            yield from map(dict, found.mappings())

    def run(self, statement: str, given: Given = NOTHING, /) -> int:
        return int(self._result(statement, given).rowcount)

    def insert(self, statement: str, given: Given, /) -> int:
        try:
            with self.connection.begin_nested():
                number = self._result(statement, given).inserted_primary_key[0]
        except IntegrityError as error:
            raise NotUniqueError(str(error)) from error
        return number if isinstance(number, int) else 0

    def run_many(self, statement: str, rows: Sequence[Given], /) -> int:
        return sum(self.run(statement, row) for row in rows)

    def _result(self, statement: str, given: Given) -> Any:
        values = {name: given[name] for name in NAMES[statement]}
        return self.connection.execute(STATEMENTS[statement], values, execution_options={"preserve_rowcount": True})


class AlchemyDatabase:
    """A file over an engine of its own."""

    _writers: ClassVar[dict[str, tuple[int, AlchemySession]]] = {}

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.engine: Any = create_engine(f"sqlite:///{path}", connect_args={"timeout": 30})
        self._mine = threading.local()
        self._is_closed = False
        event.listen(self.engine, "connect", _set_up)
        event.listen(self.engine, "begin", _begin)

    def reading(self) -> AbstractContextManager[AlchemySession]:
        return self.snapshot()

    @contextmanager
    def within(self) -> Iterator[AlchemySession]:
        writer, session = self._writers.get(self.name, (None, None))
        if session is not None and writer == threading.get_ident():
            yield session
            return
        with self.snapshot() as looking:
            yield looking

    @contextmanager
    def snapshot(self) -> Iterator[AlchemySession]:
        held: AlchemySession | None = getattr(self._mine, "session", None)
        if held is not None:
            yield held
            return
        with self.snapshot_apart() as session:
            mine, mine.session = self._mine, session
            try:
                yield session
            finally:
                mine.session = None

    @contextmanager
    def snapshot_apart(self) -> Iterator[AlchemySession]:
        with self._errors(), self.engine.connect() as connection, connection.begin():
            yield AlchemySession(connection)

    @contextmanager
    def transaction(self, project: str | None = None) -> Iterator[AlchemySession]:
        me = threading.get_ident()
        if self._writers.get(self.name, (None,))[0] == me:
            raise StorageError("this thread is in the middle of a write")
        with self._errors(), self.engine.connect().execution_options(is_write=True) as connection, connection.begin():
            session = AlchemySession(connection)
            self._writers[self.name] = me, session
            try:
                yield session
            finally:
                del self._writers[self.name]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        if self._is_closed:
            raise StorageError(f"{self.name} was closed")
        try:
            yield
        except SQLAlchemyError as error:
            raise StorageError(str(error)) from error

    def close(self) -> None:
        self._is_closed = True
        self.engine.dispose()


def _set_up(connection: Any, _: object) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")


def _begin(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("is_write") else "BEGIN")


class AlchemyStore(RelationalStore):
    """A store in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "alchemy.db"
        self.database = AlchemyDatabase(self.path)
        with self.database.transaction() as session:
            for made in (metadata, text_metadata):
                made.create_all(session.connection)
            if not list(session.all("store_values")):
                self.begin(session, MockEmbedder(16).fingerprint)
        super().__init__(self.database, TextRows())

    def size(self) -> int:
        return self.path.stat().st_size

    def compact(self) -> bool:
        return True

    def close(self) -> None:
        self.database.close()
