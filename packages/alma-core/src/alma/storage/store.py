"""The SQL store: one database file with many projects."""

import json
import sqlite3
import uuid
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import datetime
from pathlib import Path

from alma.errors import CorruptStoreError
from alma.storage import compiled
from alma.storage.backup import copy_database
from alma.storage.compacting import compact
from alma.storage.creating import create_database, remove_drafts
from alma.storage.database import Database
from alma.storage.driver_errors import storage_errors
from alma.storage.migrations import applied_migrations, migrate, missing_migrations
from alma.storage.project import SQLProject
from alma.storage.rebuilding import rebuild, unembedded
from alma.storage.reembedding import NextVectors, drop_left_over
from alma.storage.seal import OpenSeal, Seal
from alma.storage.store_values import RELEARN, check_whole, note_checksum
from alma.storage.verifying import verify
from alma.types.embedding import Fingerprint
from alma.types.identity import to_micros
from alma.types.reports import VerifyReport
from alma.types.stored import Copied


class SQLStorage:
    """The truth: every memory, its passages and vectors, the evidence, and the journal. Shared by threads and processes."""

    def __init__(self, path: Path, *, at: datetime, seal: Seal | None = None) -> None:
        """Opens a database that exists and brings its tables up to date. `StorageError` if it cannot, `CorruptStoreError` if it is damaged."""
        self.path = path
        self.database = Database(path)
        self.seal = seal or OpenSeal()
        try:
            self.database.check_whole()
            with self.database.reading() as connection:
                if not applied_migrations(connection):
                    raise CorruptStoreError(
                        f"{path} is no database of ALMA; move it away, give another name, or restore it from a backup"
                    )
                outdated = missing_migrations(connection)
            if outdated:
                with self.database.transaction() as connection:
                    migrate(connection, at=to_micros(at))
            self.id, self.fingerprint, self._embedder = self._identity()
            remove_drafts(path)
        except BaseException:
            self.database.close()
            raise

    @classmethod
    def create(cls, path: Path, fingerprint: Fingerprint, *, at: datetime) -> None:
        """Makes the database if there is none yet: whole, or not at all."""

        def fill(connection: sqlite3.Connection) -> None:
            migrate(connection, at=to_micros(at))
            connection.execute(compiled.STORE_INSERT, {"key": "id", "value": str(uuid.uuid4())})
            connection.execute(compiled.STORE_INSERT, {"key": "embedder", "value": fingerprint.model_dump_json()})
            connection.execute(compiled.STORE_INSERT, {"key": "embedder_number", "value": "1"})
            note_checksum(connection)

        create_database(path, fill)

    def project(self, name: str) -> SQLProject:
        """One project of this store; made by its first write."""
        return SQLProject(self.database, name, dimension=self.fingerprint.dimension, embedder=self._embedder, seal=self.seal)

    def project_names(self) -> list[str]:
        """The projects that hold anything."""
        with self.database.reading() as connection:
            return [name for (name,) in connection.execute(compiled.PROJECT_NAMES)]

    def to_relearn(self) -> list[str]:
        """The projects whose evidence a former version stored by class of tasks."""
        with self.database.reading() as connection:
            return [
                str(name) for name in json.loads(dict(connection.execute(compiled.STORE_VALUES).fetchall()).get(RELEARN, "[]"))
            ]

    def note_relearned(self, name: str) -> None:
        """Notes that the evidence of a project is by task now."""
        with self.database.transaction() as connection:
            check_whole(connection)
            left = [one for one in self.to_relearn() if one != name]
            connection.execute("DELETE FROM store WHERE key = ?", (RELEARN,))
            if left:
                connection.execute(compiled.STORE_INSERT, {"key": RELEARN, "value": json.dumps(left)})
            note_checksum(connection)

    def size(self) -> int:
        """Bytes on disk, the write-ahead log included."""
        with storage_errors(self.path):
            files = (self.path, Path(f"{self.path}-wal"))
            return sum(file.stat().st_size for file in files if file.exists())

    def verify(self) -> VerifyReport:
        """What is wrong with what is stored. Reads only, and lets others write meanwhile."""
        return verify(self.database, seal=self.seal)

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
        return compact(self.database, seal=self.seal)

    def close(self) -> None:
        """Closes all connections. Using the store afterwards is a `StorageError`."""
        self.database.close()

    def next_vectors(self, fingerprint: Fingerprint) -> NextVectors:
        """The vectors of another embedder, to be made while those of the present one serve; what was made of them before is still there."""
        return NextVectors.begin(self.database, self.seal, fingerprint)

    def drop_left_over(self) -> int:
        """Deletes the vectors of embedders that are gone, and says how many. Others may write meanwhile."""
        return drop_left_over(self.database)

    def renewed(self) -> "SQLStorage":
        """The same open database, seen with the embedder that it has now. Closing either closes both."""
        other = copy(self)
        other.id, other.fingerprint, other._embedder = other._identity()
        return other

    def _identity(self) -> tuple[str, Fingerprint, int]:
        with self.database.reading() as connection:
            values = dict(connection.execute(compiled.STORE_VALUES).fetchall())
        try:
            return (
                str(uuid.UUID(values["id"])),
                Fingerprint.model_validate_json(values["embedder"]),
                int(values["embedder_number"]),
            )
        except (KeyError, ValueError) as error:
            raise CorruptStoreError(
                f"{self.path} does not say which database it is and which embedder made it; restore it from a backup"
            ) from error
