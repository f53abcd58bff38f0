"""The connections of this process to one SQLite file, shared by every store that is open on it.

POSIX drops all locks of a process on a file as soon as the process closes *any* descriptor of that file
(https://www.sqlite.org/howtocorrupt.html, 2.2). SQLite guards against itself, not against others: so nothing in ALMA opens a database file but
SQLite, also not to look at its header.
"""

import errno
import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from alma.calls import current_call, has_ended
from alma.errors import StorageError
from alma.forking import is_held_elsewhere, renewed_in_children
from alma.storage.sqlite import driver_errors
from alma.storage.sqlite.driver_errors import storage_errors, unusable
from alma.storage.sqlite.session import Connection

MOST_FREE = 8
"""The number of idle connections that are kept, each with its cached pages."""

FileId = tuple[int, int]
"""Device and inode: the file, whatever it is called."""

_SETTINGS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA wal_autocheckpoint=2000",  # pages of 4 kB; a page that changes often is then written back once for many changes
    "PRAGMA journal_size_limit=8388608",
    "PRAGMA cache_size=-16000",
    "PRAGMA secure_delete=ON",
    "PRAGMA trusted_schema=OFF",
)


def connect(path: Path) -> Connection:
    """A connection in autocommit that any thread may use and close."""
    seconds = driver_errors.BUSY_SECONDS
    connection = sqlite3.connect(
        path, timeout=seconds, isolation_level=None, check_same_thread=False, cached_statements=256, factory=Connection
    )
    connection.waits = seconds
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
    except BaseException:
        connection.close()
        raise
    return connection


class Connections:
    """A pool for one file. The connection that was given back last is taken next, whatever the thread: its cached pages are the newest."""

    def __init__(self, path: Path, file: FileId) -> None:
        self.path = path
        self.file = file
        self.users = 0
        self.is_closed = False
        self.writer: int | None = None
        """The thread that is writing."""
        self._free: list[Connection] = []
        self.in_use: dict[Connection, tuple[int, int]] = {}
        """With the thread that uses it, and its call."""
        self.writing = threading.RLock()
        self._guard = threading.RLock()
        renewed_in_children(self)

    def take(self) -> Connection:
        """An idle connection, from now on in use. Those that this thread left in use when an interrupt ended its call are closed."""
        me = threading.get_ident()
        with self._guard:
            for used, (thread, call) in list(self.in_use.items()):
                if thread == me and has_ended(call):
                    self.drop(used)
            connection = self._free.pop() if self._free else self._made()
            self.in_use[connection] = me, current_call()
            return connection

    def drop(self, connection: Connection) -> None:
        """Closes a connection that an interrupted call of this thread left in use. The call may still give it back, which has no effect then."""
        with self._guard:
            if self.in_use.pop(connection, None) is not None:
                connection.close()

    def _made(self) -> Connection:
        if any(file == self.file for file, _ in _LEFT_OPEN):
            raise StorageError(
                f"{self.path} cannot be used here: this process was forked while its parent was using it; fork when nothing is under way, "
                "or start processes by 'spawn'"
            )
        with storage_errors(self.path):
            return connect(self.path)

    def give_back(self, connection: Connection) -> None:
        """Makes a connection idle again. One that belongs to the parent of this process is left alone."""
        with self._guard:
            if self.in_use.pop(connection, None) is None:
                return
            if len(self._free) < MOST_FREE and not connection.in_transaction and not self.is_closed:
                self._free.append(connection)
            else:
                connection.close()

    def check_in_place(self) -> None:
        """`StorageError` if the file was moved, replaced or deleted: what is written to it now would be lost, or would damage what took its place."""
        try:
            found = file_at(self.path)
        except FileNotFoundError:
            found = None
        except OSError as error:
            raise unusable(self.path, error) from error
        if found != self.file:
            raise StorageError(
                f"{self.path} was moved, replaced or deleted while it was open; nothing was stored, open ALMA again"
            )

    def close(self) -> None:
        """Closes all connections, after a write under way has landed. A thread that is reading closes its own connection when it is done: SQLite does
        not survive having it closed by another."""
        with self.writing, self._guard:
            self.is_closed = True
            for connection in self._free:
                connection.close()
            self._free = []

    def renew_in_child(self) -> None:
        """Closes the inherited connections, for SQLite would take the parent's locks for this process's own; the parent's stay as they are."""
        connections = [*self._free, *self.in_use]
        if self.in_use or is_held_elsewhere(self.writing) or is_held_elsewhere(self._guard):
            _LEFT_OPEN.append((self.file, connections))
        else:
            for connection in connections:
                connection.close()
        self._free, self.in_use, self.writer = [], {}, None
        self.writing, self._guard = threading.RLock(), threading.RLock()


_LEFT_OPEN: list[tuple[FileId, Sequence[sqlite3.Connection]]] = []
"""Files that another thread was using when this process was forked off. SQLite does not work on them here: it believes that this process has the
locks of its parent. The connections are kept, for to close them would touch the parent's work."""


class _Pools:
    """The pools of this process, one for each file."""

    def __init__(self) -> None:
        self._open: dict[FileId, Connections] = {}
        self._guard = threading.RLock()
        renewed_in_children(self)

    def share(self, path: Path) -> Connections:
        with self._guard:
            file = _usable_file(path)
            pool = self._open.get(file)
            if pool is None:
                pool = self._open[file] = Connections(path, file)
            pool.users += 1
            return pool

    def release(self, pool: Connections) -> None:
        with self._guard:
            pool.users -= 1
            if pool.users:
                return
            self._open.pop(pool.file, None)
        pool.close()

    def holds(self, file: FileId) -> bool:
        with self._guard:
            return file in self._open

    def renew_in_child(self) -> None:
        self._guard = threading.RLock()


def _usable_file(path: Path) -> FileId:
    """The file at a path. `StorageError` if there is none or SQLite could not open it."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        file = file_at(path)
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise unusable(path, error) from error
    return file


_POOLS = _Pools()


def shared_connections(path: Path) -> Connections:
    """The pool of a file, the same for every caller until the last one releases it. `StorageError` if there is no such file."""
    return _POOLS.share(path)


def release(pool: Connections) -> None:
    """Gives up a share of a pool; the last one closes it."""
    _POOLS.release(pool)


def is_open_here(path: Path) -> bool:
    """Returns True if this process has a database open at that path. Such a file must not be opened by anything but SQLite."""
    try:
        return _POOLS.holds(file_at(path))
    except OSError:
        return False


def file_at(path: Path) -> FileId:
    """The file at a path."""
    found = os.stat(path)
    return found.st_dev, found.st_ino
