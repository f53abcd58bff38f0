"""One open SQLite file: transactions and consistent reads, a connection for each use."""

import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from alma.calls import has_ended
from alma.errors import ConfigurationError, CorruptStoreError, StorageError
from alma.forking import renewed_in_children
from alma.storage.relational.session import timeout_here
from alma.storage.sqlite import connections
from alma.storage.sqlite.connections import (
    DRIVER_ERRORS,
    POOLS,
    Connection,
    Connections,
    locked,
    storage_errors,
    translated,
)

OLDEST_SQLITE = (3, 37, 0)


@dataclass(slots=True)
class _Use:
    """A connection while a thread uses it in a call, by `blocks` nested `with` blocks."""

    connection: Connection
    call: int
    blocks: int = 0

    @property
    def is_over(self) -> bool:
        """True if no block is left, or an interrupt ended all of them before they were left."""
        return not self.blocks or has_ended(self.call)


class Database:
    """An open file. All that are open on the same file in a process share its connections, which the last one closes, also where it is dropped
    without `close`."""

    def __init__(self, path: Path, *, lock_timeout: float | None = None) -> None:
        """Opens a file that exists. `StorageError` if it cannot be opened, `ConfigurationError` if this Python's SQLite is too old.

        `lock_timeout` is how many seconds calls wait for others that write, unless the caller asks for another time.
        """
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise ConfigurationError(f"SQLite {sqlite3.sqlite_version} is too old; ALMA needs 3.37 or newer")
        self.path = path
        self._lock_timeout = lock_timeout
        self._pool = POOLS.share(path)
        self._release = weakref.finalize(self, POOLS.release, self._pool)
        self._release.atexit = False
        self._is_closed = False
        self.renew_in_child()
        renewed_in_children(self)

    def renew_in_child(self) -> None:
        """Forgets which connections the parent's threads were using."""
        self._mine = threading.local()
        self._closing = threading.RLock()

    @property
    def name(self) -> str:
        """The path, as messages name it."""
        return str(self.path)

    def _waits(self) -> float:
        asked = timeout_here(self._lock_timeout)
        return connections.BUSY_SECONDS if asked is None else asked

    def _take(self, waits: float | None = None) -> Connection:
        if self._is_closed:
            raise StorageError(f"{self.path} was closed; open ALMA again")
        connection = self._pool.take()
        try:
            connection.wait_for(self._waits() if waits is None else waits)
        except BaseException:
            self._pool.give_back(connection)
            raise
        return connection

    def _turn(self) -> float | None:
        """Waits for the turn of this thread among those of this process that write to the file, and returns how many seconds are left for its turn
        among processes. `StorageError` if it does not come in time. There is no limit of time if none was asked for."""
        seconds, writing = timeout_here(self._lock_timeout), self._pool.writing
        if seconds is None:
            writing.acquire()
            return None
        until = time.monotonic() + seconds
        if not writing.acquire(timeout=seconds):
            raise locked(self.path, seconds)
        return max(until - time.monotonic(), 0.0)

    @contextmanager
    def _apart(self, waits: float | None = None) -> Iterator[Connection]:
        """A connection for this use alone: what the thread does meanwhile, in a callback say, gets another."""
        mine, connection = self._mine, self._take(waits)
        before, mine.use = getattr(mine, "use", None), None
        try:
            yield connection
        finally:
            mine.use = before
            self._pool.give_back(connection)

    @contextmanager
    def transaction(self, project: str | None = None) -> Iterator[Connection]:
        """One write transaction: all of it lands, or none. Threads of this process queue here, other processes in SQLite.

        What its thread reads meanwhile in another way than `within` is what was there before; a second write of that thread is a `StorageError`.
        """
        pool = self._pool
        if pool.writer == threading.get_ident():
            raise StorageError(f"{self.path}: this thread is in the middle of a write; it can write again when that has landed")
        with self.alone() as connection:
            pool.writer = threading.get_ident()
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                pool.writer = None

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """A connection outside of any transaction, while no other thread of this process writes: for statements such as VACUUM."""
        try:
            with self._apart(self._turn()) as connection:
                self._pool.check_in_place()
                yield connection
        except DRIVER_ERRORS as error:
            raise translated(error, self.path, self._waits()) from error
        finally:
            try:  # noqa: SIM105 - a signal could end a call of `suppress` before anything is released
                self._pool.writing.release()
            except RuntimeError:
                pass  # the turn did not come

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection, with driver errors translated: the same in a block inside another."""
        return self._using()

    def snapshot(self) -> AbstractContextManager[Connection]:
        """A read transaction: a consistent view. Nested in another one of this thread, the view of that."""
        return self._using(is_snapshot=True)

    @contextmanager
    def _using(self, *, is_snapshot: bool = False) -> Iterator[Connection]:
        """Gives its thread a connection, and takes it back after the outermost of nested blocks."""
        mine, pool = self._mine, self._pool
        found: _Use | None = getattr(mine, "use", None)
        if found is not None and found.blocks and has_ended(found.call):
            pool.drop(found.connection)
            found = None
        if found is None or not found.blocks:  # or another thread gave it back, which closed a generator of this one
            taken = self._take()
            found = mine.use = _Use(taken, pool.in_use[taken][1])
        use = found
        use.blocks += 1
        try:
            if is_snapshot and not use.connection.in_transaction:
                with _view(pool, use.connection):
                    yield use.connection
            else:
                yield use.connection
        except DRIVER_ERRORS as error:
            raise translated(error, self.path, self._waits()) from error
        finally:
            use.blocks -= 1
            if not use.blocks:
                if getattr(mine, "use", None) is use:
                    mine.use = None
                pool.give_back(use.connection)

    @contextmanager
    def snapshot_apart(self) -> Iterator[Connection]:
        """As `snapshot`, for long work with callbacks: what this thread does meanwhile sees the present, and may write."""
        try:
            with self._apart() as connection, _view(self._pool, connection):
                yield connection
        except DRIVER_ERRORS as error:
            raise translated(error, self.path, self._waits()) from error

    def check_whole(self) -> None:
        """`CorruptStoreError` if the file is empty or cut short, `StorageError` if another took its place."""
        with storage_errors(self.path, self._waits()), self.reading() as connection:
            (pages,), (page_size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
            self._pool.check_in_place()  # a change of its key may have replaced the file while this waited
            has_log = _size(Path(f"{self.path}-wal")) > 0
            size = _size(self.path)
        if not pages:
            raise CorruptStoreError(
                f"{self.path} is not an ALMA database ({size} bytes); move it away or restore it from a backup"
            )
        if size < pages * page_size and not has_log:
            raise CorruptStoreError(
                f"{self.path} is cut short: {size} of {pages * page_size} bytes are left; restore it from a backup"
            )

    def close(self) -> None:
        """Ends the use of the file here. A call that is reading or writing ends first; others that are open on the file go on."""
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        self._release()


@contextmanager
def _view(pool: Connections, connection: Connection) -> Iterator[None]:
    """A read transaction."""
    pool.check_in_place()
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection in pool.in_use and connection.in_transaction:  # not closed since, as one that an interrupt left
            connection.execute("ROLLBACK")  # there is nothing to commit, and a damaged full text would refuse to


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
