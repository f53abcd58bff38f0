"""Brings a database file of a former version to today's layout, in one transaction, after a copy of it was made beside it."""

import os
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

from alma import folders
from alma.storage.relational.seal import Seal
from alma.storage.relational.store_values import note_checksum
from alma.storage.relational.upgrading import log_upgrade, upgrade_projects
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.driver_errors import storage_errors
from alma.storage.sqlite.former_migrations import migrate_former
from alma.storage.sqlite.fulltext import FTS5Index
from alma.storage.sqlite.migrations import BEFORE_UPGRADE, LAYOUT, MIGRATIONS, applied_migrations, is_former, note_migration
from alma.storage.sqlite.session import Connection

_DROP_RETIRED = (
    "DROP TABLE evidence",
    "DROP INDEX memory_evidence",
    "DROP INDEX memory_partition",
    "ALTER TABLE memory DROP COLUMN evidence",
    "CREATE INDEX memory_partition ON memory (partition)",
    "DELETE FROM sqlite_sequence WHERE name = 'evidence'",
    "DELETE FROM store WHERE key = 'relearn'",
)


def upgrade_file(database: Database, seal: Seal, *, at: int) -> None:
    """Upgrades a file, unless another process has done so meanwhile. Killed at any moment, it leaves the former file or the new one."""
    with database.transaction() as connection:
        if not is_former(applied_migrations(connection)):
            return
        copy = database.path.with_name(f"{database.path.name}{BEFORE_UPGRADE}")
        _copy(database, copy)
        migrate_former(connection, at=at)
        for migration in MIGRATIONS:  # they make what the upgrade writes to
            migration(connection, seal)
            note_migration(connection, migration.__name__, at=at)
        reports = list(upgrade_projects(connection, FTS5Index(seal), seal, at=at))
        _drop_retired(connection)
        note_migration(connection, LAYOUT, at=at)
    log_upgrade(str(database.path), reports, copy=copy)


def _drop_retired(connection: Connection) -> None:
    for statement in _DROP_RETIRED:
        connection.execute(statement)
    note_checksum(connection)


def _copy(database: Database, target: Path) -> None:
    """Copies the file as it is. The caller's transaction keeps others from writing meanwhile."""
    draft = target.with_name(f".{database.path.name}.{uuid.uuid4().hex}.new")
    with storage_errors(database.path), folders.making_in(target.parent):
        try:
            draft.touch(mode=0o600, exist_ok=False)
            with database.snapshot_apart() as source, closing(sqlite3.connect(draft, isolation_level=None)) as copy:
                copy.execute("PRAGMA journal_mode=OFF")
                source.backup(copy)
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            draft.replace(target)
            folders.sync(target.parent)
        finally:
            draft.unlink(missing_ok=True)
