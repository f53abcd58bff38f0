"""The side database of a store: states of deliveries, answers to repeated requests, leases. It holds no words of memories.

On SQLite it is a file beside the store, `service.db` beside `alma.db`; on PostgreSQL a schema of the same database, `alma_service` beside
`alma`. Losing it may repeat work, and never loses an event: all content comes from the journal.
"""

import os
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import BigInteger, Column, Engine, MetaData, String, Table, create_engine, event, text
from sqlalchemy.engine import Connection
from sqlalchemy.schema import CreateIndex, CreateTable

from alma import ALMA
from alma.errors import StorageError
from alma.forking import renewed_in_children

READS = {"alma_reads": True}
"""Execution options of a connection that only reads: it does not wait for writers."""

DURABLE = {"alma_durable": True}
"""Execution options of a connection whose commits survive a power loss; other commits survive the end of their process."""

BUSY_SECONDS = 30.0
MICROSECONDS = 1_000_000

_OF_STORE = "alma.db"
_NOW_OF_SERVER = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"

_metadata = MetaData()
Table(
    "lease",
    _metadata,
    Column("name", String(300), primary_key=True),
    Column("owner", String(100), nullable=False),
    Column("until", BigInteger, nullable=False),
)


class _Address(Protocol):
    conninfo: str
    schema: str


class _Engines:
    """The engines of this process, one for each side database. A forked child makes its own connections."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._made: dict[str, Engine] = {}

    def renew_in_child(self) -> None:
        """Forgets the connections of the parent without closing them: closing would release the parent's locks."""
        self._lock = threading.RLock()
        for engine in self._made.values():
            engine.dispose(close=False)

    def engine(self, alma: ALMA) -> Engine:
        address: _Address | None = getattr(getattr(alma.storage, "database", None), "address", None)
        path = _path_beside(alma) if address is None else None
        key = str(path) if address is None else f"{address.conninfo} {address.schema}"
        with self._lock:
            if key not in self._made or (path is not None and not path.exists()):
                if key in self._made:  # its file was deleted
                    self._made.pop(key).dispose()
                engine = _sqlite_engine(Path(key)) if address is None else _postgres_engine(address)
                create_tables(engine, _metadata)
                self._made[key] = engine
            return self._made[key]


_ENGINES = renewed_in_children(_Engines())


def service_engine(alma: ALMA) -> Engine:
    """Returns the engine of a store's side database, which is made if it is not there: one for all projects and callers of a process.

    On SQLite `engine.begin()` takes the write lock at once, and waits up to 30 s for it; a connection with the execution options `READS` does
    not. `StorageError` for a store without a file or a server.
    """
    return _ENGINES.engine(alma)


def create_tables(engine: Engine, metadata: MetaData) -> None:
    """Creates tables that are missing. Threads and processes may do so at once."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(7046029254386353131)"))
            connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{engine.get_execution_options()["alma_schema"]}"'))
        for table in metadata.sorted_tables:
            connection.execute(CreateTable(table, if_not_exists=True))
            for index in table.indexes:
                connection.execute(CreateIndex(index, if_not_exists=True))


def empty_log(engine: Engine) -> None:
    """Writes the log of a SQLite file back and empties it, as far as no other process reads: it holds what was there before."""
    if engine.dialect.name == "sqlite":
        connection = engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
        finally:
            connection.close()


def _path_beside(alma: ALMA) -> Path:
    file = getattr(alma.storage, "file", None)
    if not isinstance(file, str):
        raise StorageError("this store has neither a file nor a server, so nothing can be kept beside it")
    path = Path(file).absolute()
    return path.with_name("service.db" if path.name == _OF_STORE else f"{path.stem}.service.db")


def _sqlite_engine(path: Path) -> Engine:
    with suppress(FileExistsError):  # made before SQLite opens it, so that only its owner may ever read it
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # `_begin` begins transactions, not the driver
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("alma_reads"):
        connection.exec_driver_sql("BEGIN")
        return
    connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if options.get('alma_durable') else 'NORMAL'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _postgres_engine(address: _Address) -> Engine:
    import psycopg  # comes with alma-postgres, which opened the store

    schema = f"{address.schema}_service"

    def connect() -> Any:
        return psycopg.connect(address.conninfo, options=f"-c search_path={schema}")

    return create_engine("postgresql+psycopg://", creator=connect, pool_pre_ping=True, execution_options={"alma_schema": schema})


class Lease:
    """The right of one owner to do some work, until it releases it or its time ends. Not shared by threads.

    The time of a lease on PostgreSQL is that of the server, so machines agree on it.
    """

    def __init__(self, engine: Engine, name: str, seconds: float = 30.0) -> None:
        """`seconds` is how long the lease lasts after each `acquire` or `renew`."""
        self._engine, self.name, self.seconds = engine, name, seconds
        self._id = uuid.uuid4().hex
        self._ends = 0.0

    @property
    def seconds_left(self) -> float:
        """Seconds for which this owner surely holds the lease, 0 if it does not."""
        return max(0.0, self._ends - time.monotonic())

    def acquire(self) -> bool:
        """Takes the lease if no other owner holds it. Returns whether this owner holds it now."""
        return self._run(
            "INSERT INTO lease (name, owner, until) VALUES (:name, :owner, {now} + :lasts) ON CONFLICT (name) DO UPDATE "
            "SET owner = :owner, until = {now} + :lasts WHERE lease.owner = :owner OR lease.until < {now}"
        )

    def renew(self) -> bool:
        """Makes the lease last `seconds` from now on. Returns False if this owner has lost it."""
        return self._run("UPDATE lease SET until = {now} + :lasts WHERE name = :name AND owner = :owner AND until >= {now}")

    def release(self) -> None:
        """Gives the lease back. Harmless if this owner does not hold it."""
        self._ends = 0.0
        with self._engine.begin() as connection:
            connection.execute(
                text("DELETE FROM lease WHERE name = :name AND owner = :owner"), {"name": self.name, "owner": self._owner}
            )

    @property
    def _owner(self) -> str:
        return f"{self._id}.{os.getpid()}"  # a forked child is another owner

    def _run(self, statement: str) -> bool:
        of_server = self._engine.dialect.name == "postgresql"
        began = time.monotonic()
        given = {"name": self.name, "owner": self._owner, "lasts": int(self.seconds * MICROSECONDS)}
        if not of_server:
            given["now"] = time.time_ns() // 1_000
        with self._engine.begin() as connection:
            held = connection.execute(text(statement.format(now=_NOW_OF_SERVER if of_server else ":now")), given).rowcount == 1
        self._ends = began + self.seconds if held else 0.0
        return held
