"""A store in one SQLite file."""

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from alma.errors import ConflictError, CorruptStoreError
from alma.extensions import extension
from alma.storage.relational.session import ENCRYPTION, OpenSeal, Seal, Session, check_whole, note_checksum
from alma.storage.relational.store import RelationalStore
from alma.storage.relational.verify import Findings
from alma.storage.sqlite.connections import Connection, connection_of, continue_numbers, storage_errors
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.files import compact, copy_database, create_database, remove_drafts
from alma.storage.sqlite.fulltext import FTS5Index
from alma.storage.sqlite.migrations import BEFORE_UPGRADE, applied_migrations, is_former, migrate, missing_migrations
from alma.storage.sqlite.verify import examined, rebuild, unembedded
from alma.types.identity import Fingerprint, to_micros
from alma.types.reports import VerifyReport
from alma.types.stored import Copied, StoreRequest


class SQLStorage(RelationalStore):
    """A store in a SQLite file. Shared by threads and processes."""

    def __init__(
        self,
        path: Path,
        *,
        at: datetime,
        key: bytes | None = None,
        seal: Seal | None = None,
        lock_timeout: float | None = None,
    ) -> None:
        """Opens a database that exists and brings its tables up to date. `StorageError` if it cannot, `CorruptStoreError` if it is damaged,
        `ConfigurationError` if it is encrypted and `key` is not its key, or if it is not and there is one.

        `lock_timeout` is how many seconds calls wait for others that write, 30 by default.
        """
        self.path = path
        self.database = Database(path, lock_timeout=lock_timeout)
        try:
            applied = self._check_made()
            self._restore_log()
            seal = seal or self._open_seal(key)
            self._migrate(applied, seal, to_micros(at))
            super().__init__(self.database, FTS5Index(seal), seal=seal)
            remove_drafts(path)
        except BaseException:
            self.database.close()
            raise

    def _check_made(self) -> set[str]:
        """The names of the migrations that were run, unless it is no database of ALMA, or that of a newer one."""
        self.database.check_whole()
        with self.database.reading() as connection:
            applied = applied_migrations(connection)
            if not applied:
                raise CorruptStoreError(
                    f"{self.path} is no database of ALMA; move it away, give another name, or restore it from a backup"
                )
        is_former(applied)  # that of a newer ALMA is left alone
        return applied

    def _migrate(self, applied: set[str], seal: Seal, at: int) -> None:
        """Brings the tables up to date. The seal has to be known: what a former version learned is in its journal."""
        if is_former(applied):
            upgrade = extension("alma_upgrade.sqlite", "upgrade", f"{self.path} is of a former version, whose upgrade is")
            upgrade.upgrade_file(self.database, seal, at=at)
        elif missing_migrations(applied):
            with self.database.transaction() as connection:
                migrate(connection, seal, at=at)

    def _restore_log(self) -> None:
        """Turns the write-ahead log on where a process that was killed while it encrypted the file had turned it off."""
        with self.database.reading() as connection, suppress(sqlite3.OperationalError):
            # unless another process uses the file: the next one to open it tries again
            connection.execute("PRAGMA journal_mode=WAL")

    def _open_seal(self, key: bytes | None) -> Seal:
        with self.database.reading() as connection:
            values = dict(connection.all("store_values"))
            if ENCRYPTION in values:
                check_whole(connection)
            elif key is None:
                return OpenSeal()
        seal: Seal = _encryption().opened_seal(values, key, name=str(self.path))
        return seal

    @property
    def is_encrypted(self) -> bool:
        """True when nothing readable may be written to a file."""
        return self.seal.is_secret

    @classmethod
    def create(cls, path: Path, fingerprint: Fingerprint, *, at: datetime, key: bytes | None = None) -> None:
        """Makes the database if there is none yet: whole, or not at all. It is encrypted if there is a key."""

        def fill(connection: Connection) -> None:
            migrate(connection, OpenSeal(), at=to_micros(at))
            cls.begin(connection, fingerprint)
            if key is not None:
                envelope, _ = _encryption().new_envelope(key=key, store_id=dict(connection.all("store_values"))["id"])
                connection.run("store_put", {"key": ENCRYPTION, "value": envelope})
                note_checksum(connection)

        create_database(path, fill)

    def size(self) -> int:
        """Bytes on disk, the write-ahead log included."""
        with storage_errors(self.path):
            files = (self.path, Path(f"{self.path}-wal"))
            return sum(file.stat().st_size for file in files if file.exists())

    def _examine(self, session: Session) -> Findings:
        return examined(connection_of(session), seal=self.seal)

    def unembedded(self) -> Sequence[str]:
        """The texts that need a vector and have no sound one."""
        return unembedded(self.database, seal=self.seal)

    def rebuild(self, vectors: Mapping[str, bytes], *, at: int) -> VerifyReport:
        """Rebuilds what is damaged and follows from the journals, in one transaction, and reports what it could and could not.

        `vectors` are those of texts that have none. Each project that was rebuilt has a journal record of it. Others wait with writes meanwhile.
        """
        return rebuild(self.database, seal=self.seal, vectors=vectors, at=at)

    @property
    def file(self) -> str:
        """The path of the database file."""
        return str(self.path)

    def backup(self, target: str, progress: Callable[[int, int], None] | None = None) -> Copied:
        """Copies the database into an empty file: a consistent view, while others write. `progress` receives how many pages are done, of how many."""
        return copy_database(self.database, Path(target), seal=self.seal, progress=progress)

    def compact(self) -> bool:
        """Rewrites the file without what was deleted. Whether that is true of the write-ahead log as well: not while others are reading."""
        is_compact = compact(self.database, seal=self.seal)
        self.path.with_name(f"{self.path.name}{BEFORE_UPGRADE}").unlink(missing_ok=True)
        return is_compact

    def continue_numbers(self, session: Session) -> None:
        """Has row numbers go on after all that were copied."""
        continue_numbers(session)

    def take_place(self) -> None:
        """Closes a draft and gives it the name that it was made for."""
        self.close()
        target = self.path.with_name(self.path.name.removesuffix(DRAFT))
        _check_free(target)
        with storage_errors(self.path):
            os.replace(self.path, target)

    def discard(self) -> None:
        """Closes a draft and deletes it."""
        self.close()
        with storage_errors(self.path):
            self.path.unlink()

    def close(self) -> None:
        """Closes all connections. Using the store afterwards is a `StorageError`."""
        self.database.close()


def _encryption() -> Any:
    return extension("alma_encryption.keys", "encryption", "encryption is")


DRAFT = ".moving"


def open_file(request: StoreRequest) -> SQLStorage:
    """Opens the database file of a folder, made if it is not there yet. The `StorageFactory` of `sqlite`."""
    path = Path(request.folder, request.db_name)
    if request.is_draft:
        _check_free(path)
        path = path.with_name(f"{path.name}{DRAFT}")
    if not os.path.exists(path):  # unlike `Path.exists` it does not raise for a folder that may not be entered
        SQLStorage.create(path, request.fingerprint(), at=request.at, key=request.encryption_key)
    return SQLStorage(path, at=request.at, key=request.encryption_key, lock_timeout=request.lock_timeout)


def _check_free(path: Path) -> None:
    if path.exists():
        raise ConflictError(f"there is a store in {path} already")
