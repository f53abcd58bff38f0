"""The connections of this process to one SQLite file, shared by every store that is open on it; each runs statements by name, and what the driver
raises is translated.

POSIX drops all locks of a process on a file as soon as the process closes *any* descriptor of that file
(https://www.sqlite.org/howtocorrupt.html, 2.2). SQLite guards against itself, not against others: so nothing in ALMA opens a database file but
SQLite, also not to look at its header.
"""

import errno
import json
import os
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from alma.calls import current_call, has_ended
from alma.errors import CorruptStoreError, StorageError
from alma.forking import is_held_elsewhere, renewed_in_children
from alma.storage.relational.session import NOTHING, Given, NotUniqueError, Session, split_at_values

STATEMENTS: dict[str, str] = json.loads(Path(__file__).with_name("compiled.json").read_text(encoding="utf-8"))
"""The text of statements by name: the usual ones, as `compiling` writes them, and those that this process compiled."""

BUSY_SECONDS = 30.0
"""The time that a call waits for other processes, unless the store or the caller asks for another time."""

MOST_ROWS = 32
"""A statement takes this many rows of values. To prepare a longer one takes longer than it saves."""


class Connection(sqlite3.Connection):
    """A connection that is a `Session`, and knows how long it waits for locks."""

    waits = BUSY_SECONDS

    def wait_for(self, seconds: float) -> None:
        """Waits that long for locks from now on."""
        if self.waits != seconds:
            self.execute(f"PRAGMA busy_timeout={round(seconds * 1000)}")
            self.waits = seconds

    def all(self, statement: str, given: Given = NOTHING, /) -> Iterator[tuple[Any, ...]]:
        """The rows that a statement finds."""
        return self.execute(_text(statement), given)

    def each(self, statement: str, given: Given = NOTHING, /) -> Iterator[dict[str, Any]]:
        """The rows that a statement finds, by column."""
        return _by_column(self.execute(_text(statement), given))

    def many(self, statement: str, rows: Sequence[Given], /) -> Iterator[dict[str, Any]]:
        """The rows that a statement finds for all given ones, by column."""
        for start in range(0, len(rows), MOST_ROWS):
            yield from _by_column(self._at_once(statement, rows[start : start + MOST_ROWS]))

    def run(self, statement: str, given: Given = NOTHING, /) -> int:
        """Runs a statement, and returns how many rows it changed."""
        return self.execute(_text(statement), given).rowcount

    def insert(self, statement: str, given: Given, /) -> int:
        """Makes a row, and returns its number."""
        try:
            return self.execute(_text(statement), given).lastrowid or 0
        except sqlite3.IntegrityError as error:
            raise NotUniqueError(f"a row cannot be stored: {error}; see `alma verify`") from error

    def run_many(self, statement: str, rows: Sequence[Given], /) -> int:
        """Runs a statement for each of the given rows."""
        if len(rows) > MOST_ROWS or "VALUES (" not in _text(statement):
            return self.executemany(_text(statement), rows).rowcount if rows else 0
        return self._at_once(statement, rows).rowcount if rows else 0

    def _at_once(self, statement: str, rows: Sequence[Given]) -> sqlite3.Cursor:
        repeated, names = _repeat_row(_text(statement), len(rows))
        return self.execute(repeated, [row[name] for row in rows for name in names])


def connection_of(session: Session) -> Connection:
    """The connection that a session of this room is."""
    assert isinstance(session, Connection)
    return session


def _text(statement: str) -> str:
    """The text of a statement. A rare one is compiled here, which loads SQLAlchemy, once a process."""
    if statement not in STATEMENTS:
        from alma.storage.sqlite.compiling import compiled_statements

        STATEMENTS[statement] = compiled_statements()[statement]
    return STATEMENTS[statement]


def _by_column(cursor: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return (dict(zip(names, values, strict=True)) for values in cursor)


@lru_cache(maxsize=512)
def _repeat_row(statement: str, count: int) -> tuple[str, Sequence[str]]:
    """The statement with its row of values repeated, and the names of what each of these takes, in order."""
    head, row, tail = split_at_values(statement)
    rows = ", ".join([re.sub(r":\w+", "?", row)] * count)
    return f"{head}{rows}{tail}", re.findall(r":(\w+)", row)


def continue_numbers(session: Session) -> None:
    """Has row numbers go on after all that were copied. Of passages that are gone, those of the newest rows may be among them."""
    connection = connection_of(session)
    ((gone,),) = connection.execute("SELECT coalesce(max(passage), 0) FROM removed")
    if not connection.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'passage'", (gone,)).rowcount:
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('passage', ?)", (gone,))


DRIVER_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""The errors that the driver raises; the second where it cannot decode damaged names."""

_SIGNS_OF_DAMAGE = ("malformed", "not a database", "Could not decode")

_SIGNS_OF_NO_ACCESS = ("unable to open", "readonly")


@contextmanager
def storage_errors(path: Path, waited: float = BUSY_SECONDS) -> Iterator[None]:
    """Translates errors of the driver and of the file system; `waited` is how many seconds a call waits for a lock."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise translated(error, path, waited) from error
    except OSError as error:
        raise unusable(path, error) from error


def unusable(path: Path, error: OSError) -> StorageError:
    """The error for a file that the operating system refuses."""
    return StorageError(f"{path} cannot be used: {error.strerror or error}")


def locked(path: Path, seconds: float) -> StorageError:
    """The error for a file that others write to for longer than a call waits."""
    return StorageError(f"{path} was locked by another process for more than {seconds:g} s; try again")


def translated(error: sqlite3.Error | UnicodeDecodeError, path: Path, waited: float) -> StorageError:
    """Returns the error of ALMA for one of the driver."""
    if isinstance(error, sqlite3.OperationalError):
        return _operational(error, path, waited)
    if "not a database" in str(error):
        return CorruptStoreError(f"{path} is not an ALMA database; move it away or restore it from a backup")
    if isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError) and not isinstance(error, sqlite3.ProgrammingError):
        return CorruptStoreError(f"{path} is damaged ({error}); restore it from a backup, or see `alma verify`")
    return StorageError(f"{path}: {error}")  # another thread closed it meanwhile


def _operational(error: sqlite3.OperationalError, path: Path, waited: float) -> StorageError:
    text = str(error)
    if "locked" in text or "busy" in text:
        return locked(path, waited)
    if "no such " in text:
        return CorruptStoreError(
            f"{path} is damaged, or a newer ALMA has changed its tables since it was opened here ({text}); open it again, with that version "
            "if there is one, or else restore it from a backup"
        )
    if any(sign in text for sign in _SIGNS_OF_DAMAGE):
        return CorruptStoreError(f"{path} is damaged ({text}); restore it from a backup")
    if any(sign in text for sign in _SIGNS_OF_NO_ACCESS):
        return StorageError(f"{path}: {text}; SQLite has to read and write it, and to write in its folder, also for a look")
    return StorageError(f"{path}: {text}")


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


_OPENING = threading.RLock()
"""Held while a file is opened, so that a child knows whether it was forked off meanwhile."""


def connect(path: Path) -> Connection:
    """A connection in autocommit that any thread may use and close. `StorageError` in a process that was forked while a thread of its parent was
    in SQLite: it would wait without end for the lock of SQLite's memory, which no thread there gives back."""
    if _LEFT_OPEN:
        raise StorageError(
            f"{path} cannot be used here: this process was forked while its parent was using SQLite; fork when nothing is under way, "
            "or start processes by 'spawn'"
        )
    with storage_errors(path):
        with _OPENING:
            connection = sqlite3.connect(
                path,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
                factory=Connection,
            )
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
            connection = self._free.pop() if self._free else connect(self.path)
            self.in_use[connection] = me, current_call()
            return connection

    def drop(self, connection: Connection) -> None:
        """Closes a connection that an interrupted call of this thread left in use. The call may still give it back, which has no effect then."""
        with self._guard:
            if self.in_use.pop(connection, None) is not None:
                connection.close()

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
            _LEFT_OPEN.append(connections)
        else:
            for connection in connections:
                connection.close()
        self._free, self.in_use, self.writer = [], {}, None
        self.writing, self._guard = threading.RLock(), threading.RLock()


_LEFT_OPEN: list[Sequence[sqlite3.Connection]] = []
"""Connections that were in use when this process was forked off. They are kept, for to close them would touch the parent's work."""


class _Pools:
    """The pools of this process, one for each file."""

    def __init__(self) -> None:
        self._open: dict[FileId, Connections] = {}
        self._guard = threading.RLock()
        renewed_in_children(self)

    def share(self, path: Path) -> Connections:
        """The pool of a file, the same for every caller until the last one releases it. `StorageError` if there is no such file."""
        with self._guard:
            file = _usable_file(path)
            pool = self._open.get(file) or Connections(path, file)
            pool.users += 1
            if pool.is_closed:  # by the collector, which may drop its last user at any line
                pool = Connections(path, file)
                pool.users = 1
            self._open[file] = pool
            return pool

    def release(self, pool: Connections) -> None:
        """Gives up a share of a pool; the last one closes it."""
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
        if is_held_elsewhere(_OPENING):
            _LEFT_OPEN.append(())
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


POOLS = _Pools()


def is_open_here(path: Path) -> bool:
    """Returns True if this process has a database open at that path. Such a file must not be opened by anything but SQLite."""
    try:
        return POOLS.holds(file_at(path))
    except OSError:
        return False


def file_at(path: Path) -> FileId:
    """The file at a path."""
    found = os.stat(path)
    return found.st_dev, found.st_ino
