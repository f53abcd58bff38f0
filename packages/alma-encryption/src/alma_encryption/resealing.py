"""Encrypting, decrypting and changing the key of a database file that no process uses.

A file is never changed in place: a new one is filled beside it, compared with it, synced, and renamed over it. A crash leaves the one or the
other whole. The former file is then overwritten through the connection that still has it open.
"""

import glob
import hashlib
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path

from alma import folders
from alma.errors import ConfigurationError, CorruptStoreError, StorageError
from alma.journal import RETIRED_TABLE
from alma.storage.relational.logical import View
from alma.storage.relational.rows import Row
from alma.storage.relational.session import ENCRYPTION, OpenSeal, Seal, check_whole, note_checksum
from alma.storage.relational.text_index import fill
from alma.storage.sqlite.connections import Connection, connect, file_at, is_open_here, storage_errors
from alma.storage.sqlite.files import draft_beside
from alma.storage.sqlite.fulltext import FTS5Index
from alma.storage.sqlite.migrations import BEFORE_UPGRADE
from alma_encryption.keys import any_seal, is_former, new_envelope
from alma_encryption.rows import open_row, seal_row

_LOG = logging.getLogger("alma")

PATIENCE_MS = 3000
"""How long other processes may go on before the file counts as in use."""

ROWS_AT_ONCE = 1000

_OURS = "sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT GLOB 'text_*_*'"
_DEFINITIONS = (
    f"SELECT sql FROM sqlite_master WHERE type IN ('table', 'index') AND name NOT LIKE 'sqlite_%' AND {_OURS} ORDER BY type DESC"  # noqa: S608 - ours
)
_TABLES = f"SELECT name FROM sqlite_master WHERE type = 'table' AND {_OURS} ORDER BY name = 'sqlite_sequence', name"  # noqa: S608 - ours
"""The numbers that rows go on with come last: inserting rows changes these."""

_VIRTUAL_FIRST = """
    SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC, name DESC"""

_Seals = Callable[[Mapping[str, str]], tuple[Seal, str | None, Seal]]
"""Takes the values of the `store` table; gives the seal that is there, the new envelope, `None` for an open store, and its seal."""


def encrypt_file(path: Path, *, key: bytes) -> None:
    """Encrypts a database file; one that an earlier version encrypted with this key it encrypts in today's way, under a new data key.

    `ConfigurationError` if it is encrypted already, or was so by an earlier version with another key.
    """

    def seals(values: Mapping[str, str]) -> tuple[Seal, str, Seal]:
        if ENCRYPTION in values and not is_former(values):
            raise ConfigurationError(f"{path} is encrypted already; `alma rotate-key` changes its key")
        before = any_seal(values, key if ENCRYPTION in values else None, name=str(path))
        return before, *new_envelope(key=key, store_id=values["id"])

    _replace(path, seals)


def decrypt_file(path: Path, *, key: bytes) -> None:
    """Decrypts a database file. `ConfigurationError` if this is not its key, or if it is not encrypted."""
    _replace(path, lambda values: (any_seal(values, key, name=str(path)), None, OpenSeal()))


def change_key(path: Path, *, key: bytes, new_key: bytes) -> None:
    """Encrypts an encrypted file under another key and a new data key. `ConfigurationError` if `key` is not its key."""
    _replace(path, lambda values: (any_seal(values, key, name=str(path)), *new_envelope(key=new_key, store_id=values["id"])))


def _replace(path: Path, seals: _Seals) -> None:
    """Puts a copy of a file under a new seal in place of the file."""
    with storage_errors(path):
        if not path.exists():
            raise ConfigurationError(f"there is no store at {path}; `ALMA.open` with an encryption_key makes an encrypted one")
    if is_open_here(path):
        raise StorageError(f"{path} is open in this process; close it first")
    with storage_errors(path), _alone_with(path) as source:
        check_whole(source)
        values = dict(source.all("store_values"))
        before, envelope, after = seals(values)
        with draft_beside(path) as draft:
            _check_same(draft, after, _fill(draft, source, before, after, envelope))
            _drop_copies(path, values["id"])
            draft.replace(path)
        folders.sync(path.parent)
        _overwrite(source, path)


@contextmanager
def _alone_with(path: Path) -> Iterator[Connection]:
    """A connection to a file that no other uses, in an exclusive transaction, without a log or a journal beside the file.

    SQLite leaves the write-ahead log only where no other connection is open. It writes no journal for this connection, for that would lie
    beside the file that takes this one's place.
    """
    file = file_at(path)
    with closing(connect(path)) as connection:
        connection.execute(f"PRAGMA busy_timeout={PATIENCE_MS:d}")
        try:
            with suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("PRAGMA journal_mode=OFF")
            connection.execute("BEGIN EXCLUSIVE")
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            if mode != "off" or file_at(path) != file:
                raise _in_use(path)
            yield connection
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if file_at(path) == file:  # else a log would lie beside the file that took this one's place
                with suppress(sqlite3.OperationalError):
                    connection.execute("PRAGMA journal_mode=WAL")
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise _in_use(path) from error
            raise


def _in_use(path: Path) -> StorageError:
    return StorageError(f"{path} is in use; end every program that has it open, and try again. Nothing was changed")


def _fill(draft: Path, source: Connection, before: Seal, after: Seal, envelope: str | None) -> int:
    """Copies all rows into a new file, under the new seal, syncs it, and returns the sum of the rows."""
    with closing(connect(draft)) as target:
        target.execute("PRAGMA journal_mode=OFF")  # what fails is deleted
        target.execute("PRAGMA synchronous=OFF")
        target.execute("BEGIN IMMEDIATE")
        for (definition,) in source.execute(_DEFINITIONS).fetchall():
            target.execute(definition)
        total = sum(_copy_table(table, source, target, before, after) for table in _tables(source))
        if envelope is None:
            target.run("store_delete", {"of_key": ENCRYPTION})
        else:
            target.run("store_put", {"key": ENCRYPTION, "value": envelope})
        note_checksum(target)
        for project, _ in list(target.all("projects")):
            fill(View(target, project, after), FTS5Index(after))
        target.execute("COMMIT")
        target.execute("PRAGMA journal_mode=WAL")
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    return total


def _tables(connection: Connection) -> list[str]:
    """Returns the tables whose rows are copied. Counts of a former layout follow from outcomes."""
    return [name for (name,) in connection.execute(_TABLES).fetchall() if name != RETIRED_TABLE]


def _copy_table(table: str, source: Connection, target: Connection, before: Seal, after: Seal) -> int:
    """Copies the rows of a table, and returns their sum."""
    total, found = 0, _clear_rows(table, source, before)
    target.execute(f'DELETE FROM "{table}"')  # noqa: S608 - a table of ours, as below
    while rows := list(islice(found, ROWS_AT_ONCE)):
        total += sum(_number(table, row) for row in rows)
        columns, marks = ", ".join(f'"{name}"' for name in rows[0]), ", ".join(f":{name}" for name in rows[0])
        insertion = f'INSERT INTO "{table}" ({columns}) VALUES ({marks})'  # noqa: S608
        target.executemany(insertion, [seal_row(table, row, after) for row in rows])
    return total


def _clear_rows(table: str, connection: Connection, seal: Seal) -> Iterator[Row]:
    """Yields the rows of a table in clear. `CorruptStoreError` for a damaged one."""
    found = connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - a table of ours
    names = [column[0] for column in found.description]
    try:
        yield from (open_row(table, dict(zip(names, row, strict=True)), seal) for row in found)
    except (CorruptStoreError, ValueError) as error:
        raise CorruptStoreError(f"a row of {table} is damaged ({error}); nothing was changed, see `alma verify`") from error


def _check_same(draft: Path, seal: Seal, total: int) -> None:
    """`CorruptStoreError` if a file, read back row by row, does not hold rows of this sum."""
    with closing(connect(draft)) as target:
        total -= sum(_number(table, row) for table in _tables(target) for row in _clear_rows(table, target, seal))
    if total:
        raise CorruptStoreError("the new file does not hold what the former one does; nothing was changed, see `alma verify`")


def _number(table: str, clear: Row) -> int:
    """Returns a number for a row in clear: equal rows have equal sums in any order. The values of the store differ by the envelope."""
    if table == "store":
        return 0
    return int.from_bytes(hashlib.blake2b(repr((table, clear)).encode(), digest_size=24).digest())


def _drop_copies(path: Path, store_id: str) -> None:
    """Deletes the vector snapshots of the store, which are readable, and the copy of the time before an upgrade, which the former key opens."""
    for pattern in (f"{store_id}.*.index*", f".{store_id}.*.index*", f"{glob.escape(path.name)}{BEFORE_UPGRADE}"):
        for copy in path.parent.glob(pattern):
            copy.unlink(missing_ok=True)


def _overwrite(source: Connection, path: Path) -> None:
    """Overwrites the former file, which has no name any more, and makes it unusable for a process that opened it just before."""
    try:
        source.execute("PRAGMA secure_delete=ON")
        for (table,) in source.execute(_VIRTUAL_FIRST).fetchall():
            source.execute(f'DROP TABLE IF EXISTS "{table}"')
        source.execute("COMMIT")
    except sqlite3.Error as error:
        _LOG.warning("the former %s is deleted, but it could not be overwritten: %s", path, error)
