"""Brings a database file of a former version to today's layout, in one transaction, after a copy of it was made beside it.

Two former layouts are known: the first one, and the last one before counts and learned rules followed from outcomes alone. Rows are copied into
tables of today's layout; what was counted is retired, for it is in the journal.
"""

import hashlib
import os
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from alma import folders
from alma.errors import StorageError
from alma.storage.relational.session import OpenSeal, Seal, note_checksum
from alma.storage.sqlite.connections import Connection, storage_errors
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.files import draft_beside
from alma.storage.sqlite.fulltext import FTS5Index
from alma.storage.sqlite.migrations import (
    BEFORE_UPGRADE,
    FORMER_NUMBERS,
    LAYOUT,
    MIGRATIONS,
    applied_migrations,
    is_former,
    migrate,
    note_migration,
    restore_indexes,
)
from alma_upgrade.projects import log_upgrade, upgrade_projects

_RENEWED = ("memory", "passage")
"""Tables that former layouts defined otherwise."""

_LAST_NUMBER = "SELECT seq FROM sqlite_sequence WHERE name = ?"

_COUNTED_COLUMNS = {"evidence": {"task"}, "memory": {"evidence"}}
"""Columns by which a former layout differs from the drafts that went before it."""


def upgrade_file(database: Database, seal: Seal, *, at: int) -> None:
    """Upgrades a file, unless another process has done so meanwhile. Killed at any moment, it leaves the former file or the new one.

    `StorageError` for a file whose layout is neither the first nor the last former one; then nothing is changed.
    """
    with database.transaction() as connection:
        applied = applied_migrations(connection)
        if not is_former(applied):
            return
        _check_layout(connection, applied)
        copy = database.path.with_name(f"{database.path.name}{BEFORE_UPGRADE}")
        _copy(database, copy)
        if len(applied) == 1:
            _add_checksums(connection)
        _renew_tables(connection)
        for migration in MIGRATIONS:  # they make what the upgrade writes to
            migration(connection, seal)
            note_migration(connection, migration.__name__, at=at)
        reports = list(upgrade_projects(connection, FTS5Index(seal), seal, at=at))
        note_checksum(connection)
        note_migration(connection, LAYOUT, at=at)
    log_upgrade(str(database.path), reports, copy=copy)


def _check_layout(connection: Connection, applied: Collection[str]) -> None:
    found = {
        table: {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
        for table in _COUNTED_COLUMNS
    }
    missing = [(table, min(names - found[table])) for table, names in _COUNTED_COLUMNS.items() if names - found[table]]
    if missing or len(applied) not in (1, len(FORMER_NUMBERS)):
        lacks = f"it has no {'.'.join(missing[0])}" if missing else f"it knows {len(applied)} migrations"
        raise StorageError(
            f"the database was made by a draft of ALMA 0.1 with other tables ({lacks}), which this ALMA cannot read; "
            "nothing was changed. Open it with the ALMA that made it, and add what that lists to a new store"
        )


def _add_checksums(connection: Connection) -> None:
    """Makes the checksum of a vector, in the first layout that of its bytes, one of its text's hash as well. A wrong one stays wrong."""

    def renewed(text_hash: bytes, vector: bytes, checksum: bytes) -> bytes:
        is_right = hashlib.blake2b(vector, digest_size=8).digest() == checksum
        return hashlib.blake2b(text_hash + vector, digest_size=8).digest() if is_right else checksum

    connection.create_function("renewed", 3, renewed)
    connection.execute("UPDATE vector SET checksum = renewed(text_hash, vector, checksum)")
    connection.create_function("renewed", 3, None)


def _renew_tables(connection: Connection) -> None:
    """Copies rows into tables of today's layout, and drops the counts. Row numbers go on after the last ones that were given out."""
    with closing(sqlite3.connect(":memory:", isolation_level=None, factory=Connection)) as model:
        migrate(model, OpenSeal(), at=0)
        expected = dict(model.execute("SELECT name, sql FROM sqlite_master").fetchall())
        columns = {name: ", ".join(row[1] for row in model.execute(f"PRAGMA table_info({name})")) for name in _RENEWED}
    if connection.execute("SELECT 1 FROM pragma_table_info('project') WHERE name = 'unindexed'").fetchone():
        connection.execute("ALTER TABLE project DROP COLUMN unindexed")
    connection.execute("DROP TABLE evidence")
    values = dict(connection.all("store_values"))
    for name in _RENEWED:
        newest = connection.execute(f"SELECT coalesce(max(row), 0) FROM {name}").fetchone()[0]  # noqa: S608 - our own names, as below
        noted = int(values.get(f"newest_{name}_let_go", 0))  # where the first layout, which had no numbers of its own, kept it
        last = max(newest, noted, *(seq for (seq,) in connection.execute(_LAST_NUMBER, (name,))), 0)
        connection.execute(expected[name].replace(f'CREATE TABLE "{name}"', "CREATE TABLE copied"))
        connection.execute(f"INSERT INTO copied ({columns[name]}) SELECT {columns[name]} FROM {name}")  # noqa: S608
        connection.execute(f"DROP TABLE {name}")
        connection.execute(f"ALTER TABLE copied RENAME TO {name}")
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, last))
    restore_indexes(connection, {name: sql for name, sql in expected.items() if sql and sql.startswith("CREATE INDEX")})
    connection.execute("DELETE FROM store WHERE key = 'relearn' OR key LIKE 'newest_%_let_go'")


def _copy(database: Database, target: Path) -> None:
    """Copies the file as it is. The caller's transaction keeps others from writing meanwhile."""
    with storage_errors(database.path), draft_beside(target) as draft:
        with database.snapshot_apart() as source, closing(sqlite3.connect(draft, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode=OFF")
            source.backup(copy)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(target)
        folders.sync(target.parent)
