"""The connections of a process to one address: shared by all stores that are open on it, closed with the last one."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import Connection, OperationalError
from psycopg.errors import FeatureNotSupported, ReadOnlySqlTransaction
from psycopg.types.numeric import NumericBinaryLoader
from psycopg_pool import ConnectionPool

from alma.forking import renewed_in_children
from alma_postgres.address import Address

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # else it prints a line for each lost connection

SHORTEST_WAIT = 2.0
"""Seconds for which a call waits for a connection at least, whatever it says of locks: to connect is not to wait for others."""


class _NumberLoader(NumericBinaryLoader):
    """Sums arrive as `numeric`; the shared code adds whole numbers and floats."""

    def load(self, data: Any) -> Any:
        value = super().load(data)
        return int(value) if value == value.to_integral_value() else float(value)


class Connections:
    """A pool, and who is writing. Thread-safe."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.users = 0
        self._left_open: list[object] = []
        self._begin()
        renewed_in_children(self)

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._pool: ConnectionPool | None = None
        self._turns: dict[str, threading.Semaphore] = {}
        self._writers = threading.BoundedSemaphore(max(1, self.address.pool_size // 2))
        self.inside: set[int] = set()
        """The threads that write, or wait for their turn."""

    def renew_in_child(self) -> None:
        """Other connections for a forked child. Those of the parent are kept as they are: to close them here would end the parent's."""
        self._left_open.append(self._pool)
        self._begin()

    def take(self, seconds: float) -> Connection:
        """A connection, made anew if all are in use. It may have been closed by the server since it was last used."""
        return self._opened().getconn(timeout=max(seconds, SHORTEST_WAIT))

    def give_back(self, connection: Connection) -> None:
        """Takes a connection back; one that is broken is thrown away."""
        pool = self._pool
        if pool is None:
            connection.close()
        else:
            pool.putconn(connection)

    def renewed(self, connection: Connection, seconds: float) -> Connection:
        """Another connection in place of one that is broken. Idle ones are looked at, too: a server that was restarted closed them all."""
        self.give_back(connection)
        pool = self._opened()
        pool.check()
        return pool.getconn(timeout=max(seconds, SHORTEST_WAIT))

    def begun(self, connection: Connection, statements: str, seconds: float) -> Connection:
        """Begins a transaction by statements that change nothing, on another connection if the server closed this one.

        A connection to a server that takes no writes now is closed: after a failover the address leads to another one.
        """
        try:
            connection.execute(statements)
        except (FeatureNotSupported, ReadOnlySqlTransaction):
            connection.close()
            raise
        except OperationalError:
            if not connection.broken:
                raise
            connection = self.renewed(connection, seconds)
            connection.execute(statements)
        return connection

    @contextmanager
    def turn(self, project: str | None, seconds: float | None, late: Callable[[], Exception]) -> Iterator[None]:
        """The turn of a thread among those of this process that write to a project, and among all that write: they leave connections to others."""
        with self._lock:
            turn = self._turns.setdefault(project or "", threading.Semaphore())
        with _held(turn, seconds, late), _held(self._writers, seconds, late):
            yield

    def close(self) -> None:
        """Closes all that are idle; those in use when they are given back."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _opened(self) -> ConnectionPool:
        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    self.address.conninfo,
                    kwargs={
                        "autocommit": True,
                        "prepare_threshold": self.address.prepare_threshold,
                    },
                    min_size=1,
                    max_size=self.address.pool_size,
                    configure=_configure,
                    reconnect_timeout=60.0,
                    name="alma",
                    open=True,
                )
            return self._pool


@contextmanager
def _held(turns: threading.Semaphore, seconds: float | None, late: Callable[[], Exception]) -> Iterator[None]:
    if not turns.acquire(timeout=seconds):
        raise late()
    try:
        yield
    finally:
        turns.release()


def _configure(connection: Connection) -> None:
    connection.adapters.register_loader("numeric", _NumberLoader)


_SHARED: dict[Address, Connections] = {}
_SHARING = threading.RLock()


def shared_connections(address: Address) -> Connections:
    """The connections of this process to an address, used once more."""
    with _SHARING:
        found = _SHARED.get(address)
        if found is None:
            found = _SHARED[address] = Connections(address)
        found.users += 1
        return found


def release(connections: Connections) -> None:
    """Ends one use of connections. The last one closes them."""
    with _SHARING:
        connections.users -= 1
        if connections.users:
            return
        _SHARED.pop(connections.address, None)
    connections.close()
