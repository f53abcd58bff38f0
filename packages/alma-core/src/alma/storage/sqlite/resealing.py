"""Encrypting, decrypting and changing the key of a database file that no process uses.

A file is never changed in place: a new one is filled beside it, checked against it, synced, and renamed over it. A crash leaves the one or the
other whole. The former file is then overwritten through the connection that still has it open.
"""

import logging
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from alma import folders, journal
from alma.errors import ConfigurationError, CorruptStoreError, StorageError
from alma.storage.encryption.envelope import ENCRYPTION, is_former, new_envelope, opened_seal, rewrapped
from alma.storage.relational.hidden_names import revealed_project
from alma.storage.relational.logical import View, read_rows
from alma.storage.relational.resealing import resealed
from alma.storage.relational.seal import OpenSeal, Seal
from alma.storage.relational.store_values import check_whole, note_checksum
from alma.storage.relational.transfer import whole
from alma.storage.sqlite import fulltext
from alma.storage.sqlite.connections import connect, file_at, is_open_here
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.driver_errors import storage_errors
from alma.storage.sqlite.migrations import migrate
from alma.storage.sqlite.session import Connection
from alma.storage.sqlite.store import SQLStorage

_LOG = logging.getLogger("alma")

PATIENCE_MS = 3000
"""How long other processes may go on before the file counts as in use."""

ROWS_AT_ONCE = 1000

_TABLES = """
    SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%'
    AND name NOT GLOB 'text_*_*'"""
_VIRTUAL_FIRST = """
    SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC, name DESC"""
_PROJECTS = "SELECT row, name, head_seq, head_hash FROM project ORDER BY row"

_Values = Mapping[str, str]
_NewSeal = Callable[[_Values], tuple[str | None, Seal]]
"""Takes the values of the `store` table; gives the envelope, `None` for an open store, and the seal."""


def encrypt_file(path: Path, *, key: bytes, at: datetime) -> None:
    """Encrypts a database file; one that an earlier version encrypted it encrypts anew, under a new data key.

    `ConfigurationError` if it is encrypted already, or was so by an earlier version with another key.
    """
    values = _brought_up_to_date(path, key, at=at, may_be_encrypted=True)
    if ENCRYPTION in values and not is_former(values):
        raise ConfigurationError(f"{path} is encrypted already; `alma rotate-key` changes its key")
    former_key = key if ENCRYPTION in values else None
    _rewrite(path, former_key, lambda values: new_envelope(key=key, store_id=values["id"]))


def decrypt_file(path: Path, *, key: bytes, at: datetime) -> None:
    """Decrypts a database file. `ConfigurationError` if this is not its key, or if it is not encrypted."""
    _brought_up_to_date(path, key, at=at)
    _rewrite(path, key, lambda values: (None, OpenSeal()))


def change_key(path: Path, *, key: bytes, new_key: bytes, at: datetime) -> None:
    """Lets a new key open an encrypted file, and the former one no more. What is stored stays as it is, so others may go on using the file."""
    with closing(SQLStorage(path, at=at, key=key)) as storage:
        with storage.database.transaction() as connection:
            check_whole(connection)
            envelope = rewrapped(dict(connection.all("store_values")), key=key, new_key=new_key, name=str(path))
            connection.run("store_put", {"key": ENCRYPTION, "value": envelope})
            note_checksum(connection)
        with storage.database.alone() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the former envelope is in the log


def _brought_up_to_date(path: Path, key: bytes | None, *, at: datetime, may_be_encrypted: bool = False) -> _Values:
    """The values of the `store` table, after the migrations of the tables."""
    with storage_errors(path):
        if not path.exists():
            raise ConfigurationError(f"there is no store at {path}; `ALMA.open` with an encryption_key makes an encrypted one")
    if is_open_here(path):
        raise StorageError(f"{path} is open in this process; close it first")
    if may_be_encrypted and ENCRYPTION not in _values_of(path):
        key = None
    with closing(SQLStorage(path, at=at, key=key)) as storage, storage.database.reading() as connection:
        return dict(connection.all("store_values"))


def _values_of(path: Path) -> _Values:
    """The values of the `store` table as they are; none if there is no such table, which opening the store reports."""
    with closing(Database(path)) as database, suppress(StorageError), database.reading() as connection:
        return dict(connection.all("store_values"))
    return {}


def _rewrite(path: Path, key: bytes | None, new_seal: _NewSeal) -> None:
    """Puts a file under a new seal in place of the one that is there."""
    with storage_errors(path), folders.making_in(path.parent), _alone_with(path) as source:
        check_whole(source)
        values = dict(source.all("store_values"))
        before = opened_seal(values, key, name=str(path))
        envelope, after = new_seal(values)
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
        try:
            draft.touch(mode=0o600, exist_ok=False)
            _fill(draft, source, before, after, envelope)
            _check_same(draft, source, before, after)
            _drop_snapshots(path.parent, values["id"])
            draft.replace(path)
        finally:
            for leftover in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm")):
                leftover.unlink(missing_ok=True)
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


def _fill(draft: Path, source: Connection, before: Seal, after: Seal, envelope: str | None) -> None:
    """Copies all rows into a new file, under the new seal, and syncs it."""
    with closing(connect(draft)) as target:
        target.execute("PRAGMA journal_mode=OFF")  # what fails is deleted
        target.execute("PRAGMA synchronous=OFF")
        target.execute("BEGIN IMMEDIATE")
        migrate(target, at=0)
        for (table,) in source.execute(_TABLES).fetchall():
            _copy_table(table, source, target, before, after)
        target.execute("DELETE FROM sqlite_sequence")
        target.executemany("INSERT INTO sqlite_sequence VALUES (?, ?)", source.execute("SELECT name, seq FROM sqlite_sequence"))
        if envelope is None:
            target.run("store_delete", {"of_key": ENCRYPTION})
        else:
            target.run("store_put", {"key": ENCRYPTION, "value": envelope})
        note_checksum(target)
        if not after.is_secret:
            _fill_full_text(target, after)
        target.execute("COMMIT")
        target.execute("PRAGMA journal_mode=WAL")
    with draft.open("rb") as file:
        os.fsync(file.fileno())


def _copy_table(table: str, source: Connection, target: Connection, before: Seal, after: Seal) -> None:
    found = source.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - a table of ours, as below
    names = [column[0] for column in found.description]
    columns, marks = ", ".join(f'"{name}"' for name in names), ", ".join(f":{name}" for name in names)
    target.execute(f'DELETE FROM "{table}"')  # noqa: S608
    insertion = f'INSERT INTO "{table}" ({columns}) VALUES ({marks})'  # noqa: S608
    while rows := found.fetchmany(ROWS_AT_ONCE):
        try:
            made = [resealed(table, dict(zip(names, row, strict=True)), before, after) for row in rows]
        except (CorruptStoreError, ValueError) as error:
            raise CorruptStoreError(f"a row of {table} is damaged ({error}); nothing was changed, see `alma verify`") from error
        target.executemany(insertion, made)


def _fill_full_text(target: Connection, seal: Seal) -> None:
    for project, *_ in target.execute(_PROJECTS).fetchall():
        fulltext.create(target, project)
        fulltext.insert_all(target, project, fulltext.searchable(View(target, project, seal)))


def _check_same(draft: Path, source: Connection, before: Seal, after: Seal) -> None:
    """`CorruptStoreError` if the two files do not hold the same, read back row by row."""
    with closing(connect(draft)) as target:
        if list(_contents(target, after)) != list(_contents(source, before)):
            raise CorruptStoreError("the new file does not hold what the former one does; nothing was changed, see `alma verify`")


def _contents(connection: Connection, seal: Seal) -> Iterator[tuple[object, ...]]:
    """Returns what identifies the content of each project, read from its rows."""
    for row, name, *end in connection.execute(_PROJECTS).fetchall():
        rows = ((stored.table, stored.key, whole(stored)) for stored in read_rows(View(connection, row, seal)))
        yield row, revealed_project(seal, name), *end, journal.rows_hash(rows)


def _drop_snapshots(folder: Path, store_id: str) -> None:
    """Deletes the vector snapshots of the store, which are readable."""
    for pattern in (f"{store_id}.*.index*", f".{store_id}.*.index*"):
        for snapshot in folder.glob(pattern):
            snapshot.unlink(missing_ok=True)


def _overwrite(source: Connection, path: Path) -> None:
    """Overwrites the former file, which has no name any more, and makes it unusable for a process that opened it just before."""
    try:
        source.execute("PRAGMA secure_delete=ON")
        for (table,) in source.execute(_VIRTUAL_FIRST).fetchall():
            source.execute(f'DROP TABLE IF EXISTS "{table}"')
        source.execute("COMMIT")
    except sqlite3.Error as error:
        _LOG.warning("the former %s is deleted, but it could not be overwritten: %s", path, error)
