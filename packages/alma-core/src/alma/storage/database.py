"""One SQLite file: made whole or not at all, opened with the settings that durability needs, a connection for each use."""

import os
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from alma.errors import ConfigurationError, CorruptStoreError, StorageError
from alma.forking import renewed_in_children

OLDEST_SQLITE = (3, 37, 0)
BUSY_SECONDS = 30.0
MOST_FREE = 8
"""So many connections are kept for later, each with the pages that it holds."""

_HEADER = b"SQLite format 3\x00"
_SIGNS_OF_DAMAGE = ("malformed", "not a database", "no such ", "Could not decode")
_SETTINGS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA wal_autocheckpoint=2000",  # pages of 4 kB; one that changes often is then written back once for many times
    "PRAGMA journal_size_limit=8388608",
    "PRAGMA cache_size=-16000",
    "PRAGMA secure_delete=ON",
    "PRAGMA trusted_schema=OFF",
)

_LEFT_OPEN: list[tuple[Path, Sequence[sqlite3.Connection]]] = []
"""Files that another thread was using when this process was forked off. SQLite does not work on them here: it believes that this process has the
locks of its parent. The connections are kept, for to close them would touch the parent's work."""


@dataclass(slots=True)
class _Use:
    """A connection while a thread uses it, by so many `with` blocks inside each other."""

    connection: sqlite3.Connection
    blocks: int = 0


class Database:
    """Connections to one file. A use has one for itself; the one that was given back last is taken next, whatever the thread, for the pages that it
    holds are the newest. All are closed by `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _file_at(path)
        self.writing = threading.Lock()
        self._mine = threading.local()
        self._free: list[sqlite3.Connection] = []
        self._in_use: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._is_closed = False
        self._writer: int | None = None
        self._writing_by: sqlite3.Connection | None = None
        self._errors = DriverErrors(path)
        renewed_in_children(self)

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection that this thread is using, else the one that will be taken next."""
        use: _Use | None = getattr(self._mine, "use", None)
        if use is not None:
            return use.connection
        self._give_back(found := self._take())
        return found

    def _take(self) -> sqlite3.Connection:
        """A connection that nobody uses, noted as in use."""
        with self._guard:
            connection = self._free.pop() if self._free else self._made()
            self._in_use.append(connection)
            return connection

    def _made(self) -> sqlite3.Connection:
        with storage_errors(self.path):
            if self._is_closed:
                raise StorageError(f"{self.path} was closed; open ALMA again")
            if any(path.samefile(self.path) for path, _ in _LEFT_OPEN):
                raise StorageError(
                    f"{self.path} cannot be used here: this process was forked while its parent was using it; fork when nothing is under way, "
                    "or start processes by 'spawn'"
                )
            return connect(self.path)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            if connection not in self._in_use:  # it is that of a parent
                return
            self._in_use.remove(connection)
            if len(self._free) < MOST_FREE and not connection.in_transaction and not self._is_closed:
                self._free.append(connection)
            else:
                connection.close()

    @contextmanager
    def _apart(self) -> Iterator[sqlite3.Connection]:
        """A connection for this use alone: what the thread does meanwhile, in a callback say, gets another."""
        mine, connection = self._mine, self._take()
        before, mine.use = getattr(mine, "use", None), None
        try:
            yield connection
        finally:
            mine.use = before
            self._give_back(connection)

    def _check_in_place(self) -> None:
        """`StorageError` if the file was moved, replaced or deleted: what is written to it now would be lost, or would damage what took its place."""
        try:
            found = _file_at(self.path)
        except OSError as error:
            raise _unusable(self.path, error) from error
        if found != self._file:
            raise StorageError(
                f"{self.path} was moved, replaced or deleted while it was open; nothing was stored, open ALMA again"
            )

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One write transaction: all of it lands, or none. Threads of this process queue here, other processes in SQLite.

        What its thread reads meanwhile in another way than `within` is what was there before; a second write of that thread is a `StorageError`.
        """
        if self._writer == threading.get_ident():
            raise StorageError(f"{self.path}: this thread is in the middle of a write; it can write again when that has landed")
        with self.writing, self._errors:
            # As `_apart`, without a frame of its own: every call that writes comes by here.
            mine, connection = self._mine, self._take()
            before, mine.use = getattr(mine, "use", None), None
            self._writer, self._writing_by = threading.get_ident(), connection
            try:
                self._check_in_place()
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._writer = self._writing_by = None
                mine.use = before
                self._give_back(connection)

    def reading(self) -> "_Reading":
        """A connection, with driver errors translated: the same in a block inside another."""
        return _Reading(self, is_of_one_moment=False)

    @contextmanager
    def within(self) -> Iterator[sqlite3.Connection]:
        """As `reading`; in the middle of a write of this thread, that write's connection, whose pages are still at hand.

        Any other connection has to read all pages anew, the roots of the trees first, whenever something was written.
        """
        if self._writer == threading.get_ident() and self._writing_by is not None:
            yield self._writing_by
            return
        with self.reading() as connection:
            yield connection

    def snapshot(self) -> "_Reading":
        """A read transaction: everything read in it is of one moment. Inside another one of this thread, of the moment of that."""
        return _Reading(self, is_of_one_moment=True)

    @contextmanager
    def snapshot_apart(self) -> Iterator[sqlite3.Connection]:
        """As `snapshot`, for long work that calls others back: what this thread does meanwhile is of the present, and it may write."""
        with self._errors, self._apart() as connection:
            self._begin_moment(connection)
            try:
                yield connection
            finally:
                _end_moment(connection)

    def _begin_moment(self, connection: sqlite3.Connection) -> None:
        self._check_in_place()
        connection.execute("BEGIN")

    def renew_in_child(self) -> None:
        """Closes the inherited connections, for SQLite would take the parent's locks for this process's own; the parent's stay as they are."""
        connections = [*self._free, *self._in_use]
        if self._in_use or self.writing.locked() or self._guard.locked():
            _LEFT_OPEN.append((self.path, connections))
        else:
            for connection in connections:
                connection.close()
        self.writing, self._guard, self._mine = threading.Lock(), threading.Lock(), threading.local()
        self._free, self._in_use, self._writer, self._writing_by = [], [], None, None

    def close(self) -> None:
        """Closes all connections, after a write under way has landed. One that is being read by is closed by whoever reads, at the end of that:
        SQLite does not survive to have it taken away."""
        with self.writing, self._guard:
            self._is_closed = True
            for connection in self._free:
                connection.close()
            self._free = []


class _Reading:
    """Gives its thread a connection for a `with` block, and takes it back after the last block of those inside each other.

    Generators would be shorter, but every call that reads comes by here, most of them several times.
    """

    __slots__ = ("_database", "_has_begun", "_is_of_one_moment", "_use")

    def __init__(self, database: Database, *, is_of_one_moment: bool) -> None:
        self._database = database
        self._is_of_one_moment = is_of_one_moment

    def __enter__(self) -> sqlite3.Connection:
        database = self._database
        use: _Use | None = getattr(database._mine, "use", None)
        if use is None or not use.blocks:  # or it was given back by another thread, which closed a generator of this one
            use = database._mine.use = _Use(database._take())
        self._use, self._has_begun = use, False
        use.blocks += 1
        if self._is_of_one_moment:
            try:
                with database._errors:
                    if not use.connection.in_transaction:
                        database._begin_moment(use.connection)
                        self._has_begun = True
            except BaseException:
                self._leave()
                raise
        return use.connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if self._has_begun:
                with self._database._errors:
                    _end_moment(self._use.connection)
        finally:
            self._leave()
        if error is not None:
            self._database._errors.__exit__(kind, error, trace)

    def _leave(self) -> None:
        use, mine = self._use, self._database._mine
        use.blocks -= 1
        if not use.blocks:
            if getattr(mine, "use", None) is use:
                mine.use = None
            self._database._give_back(use.connection)


def _end_moment(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("COMMIT")


def _file_at(path: Path) -> tuple[int, int] | None:
    """Which file that is, whatever it is called; `None` if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit, usable from the thread that asks and closable from any."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256)
    for setting in _SETTINGS:
        connection.execute(setting)
    return connection


def create_database(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Makes the file whole under a temporary name, then gives it its own; an existing file, also one made meanwhile, is left alone."""
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
        try:
            draft.touch(mode=0o600, exist_ok=False)
            _fill(draft, fill)
            _give_name(draft, path)
        finally:
            for leftover in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm")):
                leftover.unlink(missing_ok=True)


def _fill(draft: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    connection = connect(draft)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("BEGIN IMMEDIATE")
        fill(connection)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _give_name(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            draft.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_file(path: Path) -> None:
    """`CorruptStoreError` if the file cannot be a whole database; `ConfigurationError` if this Python's SQLite is too old."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise ConfigurationError(f"SQLite {sqlite3.sqlite_version} is too old; ALMA needs 3.37 or newer")
    with storage_errors(path):
        size = path.stat().st_size
        with path.open("rb") as file:
            header = file.read(100)
        has_log = _size(Path(f"{path}-wal")) > 0
    if len(header) < 100 or not header.startswith(_HEADER):
        raise CorruptStoreError(f"{path} is not an ALMA database ({size} bytes); move it away or restore it from a backup")
    page_size = int.from_bytes(header[16:18], "big")
    expected = int.from_bytes(header[28:32], "big") * (65536 if page_size == 1 else page_size)
    if size < expected and not has_log:
        raise CorruptStoreError(f"{path} is cut short: {size} of {expected} bytes are left; restore it from a backup")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turns what the driver and the file system raise into errors of ALMA."""
    try:
        with DriverErrors(path):
            yield
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path} cannot be used: {error.strerror or error}")


class DriverErrors:
    """Turns what the driver raises in a `with` block into errors of ALMA; errors of other files than the database pass through."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, sqlite3.Error | UnicodeDecodeError):  # the driver also chokes on damaged names
            raise _translated(error, self._path) from error


def _translated(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> StorageError:
    if isinstance(error, sqlite3.OperationalError):
        return _operational(error, path)
    if isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError) and not isinstance(error, sqlite3.ProgrammingError):
        return CorruptStoreError(f"{path} is damaged ({error}); restore it from a backup, or see `alma verify`")
    return StorageError(f"{path}: {error}")  # closed by another thread meanwhile, say


def _operational(error: sqlite3.OperationalError, path: Path) -> StorageError:
    text = str(error)
    if "locked" in text or "busy" in text:
        return StorageError(f"{path} was locked by another process for more than {BUSY_SECONDS:.0f} s; try again")
    if any(sign in text for sign in _SIGNS_OF_DAMAGE):
        return CorruptStoreError(f"{path} is damaged ({text}); restore it from a backup")
    return StorageError(f"{path}: {text}")
