"""SQLite databases of other programs, read through a private copy. Their files are never written to, and nothing is left beside them."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from alma.errors import StorageError, ValidationError
from alma.files import SQLITE_HEADER
from alma.storage.sqlite.connections import is_open_here
from alma.text import quoted

LONGEST_NAME = 200
_WAL_AT = 18
"""The byte of the header that is 2 in a database with a write-ahead log."""

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ForeignDatabase:
    """One consistent view of a database of another program."""

    connection: sqlite3.Connection
    name: str

    def tables(self) -> dict[str, tuple[str, ...]]:
        """The columns of each table, without SQLite's own tables."""
        with self._read():
            names = self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
            return {name: self._columns(name) for (name,) in names if not name.startswith("sqlite_")}

    def _columns(self, table: str) -> tuple[str, ...]:
        return tuple(column[1] for column in self.connection.execute(f"PRAGMA table_info({_identifier(table)})"))

    def count(self, table: str) -> int:
        """The number of rows."""
        with self._read():
            (found,) = self.connection.execute(f"SELECT count(*) FROM {_identifier(table)}").fetchone()  # noqa: S608 - quoted
            return int(found)

    def counts_by(self, table: str, column: str) -> dict[object, int]:
        """The number of rows for each value of a column."""
        name = _identifier(column)
        with self._read():
            statement = f"SELECT {name}, count(*) FROM {_identifier(table)} GROUP BY {name}"  # noqa: S608 - quoted
            return dict(self.connection.execute(statement).fetchall())

    def rows(
        self, table: str, *, where: tuple[str, object] | None = None, order: str | None = None, newest_first: bool = False
    ) -> Iterator[Row]:
        """The rows as mappings of all their columns: those with one value in a column, in the order of a column, then as they were inserted."""
        values: list[object] = []
        statement = f"SELECT * FROM {_identifier(table)}"  # noqa: S608 - quoted
        if where is not None:
            statement += f" WHERE {_identifier(where[0])} = ?"
            values.append(where[1])
        direction = "DESC" if newest_first else "ASC"
        places = [f"{_identifier(name)} {direction}" for name in (order, "rowid") if name is not None]
        with self._read():
            cursor = self.connection.execute(f"{statement} ORDER BY {', '.join(places)}", values)
            names = [column[0] for column in cursor.description]
            for row in cursor:
                yield dict(zip(names, row, strict=True))

    @contextmanager
    def _read(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise StorageError(f"{self.name} cannot be read any further: {error}; it may be damaged") from error


@contextmanager
def foreign_database(path: Path) -> Iterator[ForeignDatabase]:
    """The database at a path, copied as it is at this moment, so that no lock is held on it while it is read.

    `ValidationError` for what is no SQLite database, `StorageError` for a file that cannot be read.
    """
    name = quoted(str(path), LONGEST_NAME)
    if is_open_here(path):
        raise ValidationError(f"{name} is a store of ALMA that is open in this process, not a database of another program")
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise StorageError(f"{name} cannot be read: {error.strerror or error}") from error
    if not head.startswith(SQLITE_HEADER):
        raise ValidationError(f"{name} is no SQLite database: {_seen(head)}")
    with tempfile.TemporaryDirectory(prefix="alma-import-") as folder:
        copy = Path(folder, "copy.db")
        try:
            _copy(path, copy, has_log=head[_WAL_AT] == 2)
        except sqlite3.DatabaseError as error:
            raise StorageError(f"{name} cannot be read: {error}; it may be damaged") from error
        except OSError as error:
            raise StorageError(f"{name} cannot be copied: {error.strerror or error}") from error
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            connection.text_factory = _decoded
            yield ForeignDatabase(connection, name)


def _copy(path: Path, copy: Path, *, has_log: bool) -> None:
    """Copies a database through SQLite where that leaves nothing beside it, else file by file, log included."""
    log, shared = Path(f"{path}-wal"), Path(f"{path}-shm")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    if has_log and not log.exists():
        uri += "&immutable=1"  # closed cleanly; opened otherwise it would get an empty log
    is_readable = not has_log or not log.exists() or shared.exists()
    try:
        if is_readable:
            with closing(sqlite3.connect(uri, uri=True)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
            return
    except sqlite3.OperationalError:  # a journal that has to be rolled back first, or a log that cannot be opened for reading
        copy.unlink(missing_ok=True)
    for ending in ("", "-wal", "-journal"):
        if Path(f"{path}{ending}").exists():
            shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")


def _decoded(text: bytes) -> str:
    """Text that is not UTF-8 keeps its bytes as lone surrogates, which no check lets through, instead of ending the reading."""
    return text.decode("utf-8", "surrogateescape")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _seen(head: bytes) -> str:
    if not head:
        return "it is empty"
    if head.lstrip()[:1] in (b"{", b"["):
        return "it holds JSON"
    return f"it begins with {quoted(head[:16])}"
