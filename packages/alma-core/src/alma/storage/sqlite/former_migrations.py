"""Migrations of the tables that former versions made, run in order, recorded by name, up to the layout that `upgrading` takes over.

None is edited any more. New databases begin with the layout of `migrations`.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import closing

from alma.errors import StorageError
from alma.storage.relational.store_values import note_checksum
from alma.storage.sqlite.migrations import INDEXES, SINCE_THE_FIRST, applied_migrations, note_migration, restore_indexes
from alma.storage.sqlite.session import Connection

_FormerMigration = Callable[[Connection], None]


def m001_first_layout(connection: Connection) -> None:
    """The tables of ALMA 0.1."""
    for statement in _FIRST_LAYOUT.split(";\n"):
        connection.execute(statement)


def m002_row_numbers_given_out_once(connection: Connection) -> None:
    """Row numbers of memories, passages and evidence are never reused, also after the newest rows were deleted.

    Caches of other processes know rows by these numbers. SQLite adds AUTOINCREMENT to no table that exists, so the tables are copied.
    """
    for name in ("memory", "passage", "evidence"):
        made = "SELECT sql FROM sqlite_master WHERE tbl_name = ? AND type = ? AND sql IS NOT NULL"
        (table,) = connection.execute(made, (name, "table")).fetchone()
        indexes = connection.execute(made, (name, "index")).fetchall()
        numbered = table.replace("row INTEGER PRIMARY KEY,", "row INTEGER PRIMARY KEY AUTOINCREMENT,")
        connection.execute(numbered.replace(f"CREATE TABLE {name} ", "CREATE TABLE copied "))
        connection.execute(f"INSERT INTO copied SELECT * FROM {name}")  # noqa: S608 - one of our own names
        connection.execute(f"DROP TABLE {name}")
        connection.execute(f"ALTER TABLE copied RENAME TO {name}")
        for (index,) in indexes:
            connection.execute(index)
        _continue_after_deleted(connection, name)
    connection.execute("DELETE FROM store WHERE key LIKE 'newest_%_let_go'")


def _continue_after_deleted(connection: Connection, table: str) -> None:
    """Lets the numbers go on after the greatest one that the first layout, which noted it in `store`, had seen deleted."""
    noted = connection.execute("SELECT value FROM store WHERE key = ?", (f"newest_{table}_let_go",)).fetchone()
    newest = connection.execute(f"SELECT max(row) FROM {table}").fetchone()[0] or 0  # noqa: S608 - one of our own names
    connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
    connection.execute(
        "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, max(newest, int(noted[0]) if noted else 0))
    )


def m003_outcomes_by_agent(connection: Connection) -> None:
    """The newest outcomes of an agent are found without reading those of all others."""
    connection.execute("CREATE INDEX memory_partition ON memory (partition) WHERE evidence IS NOT NULL")


def m004_checksums(connection: Connection) -> None:
    """The `store` table gets a checksum, and that of a vector is one of its text's hash as well. A checksum that is wrong stays wrong."""

    def renewed(text_hash: bytes, vector: bytes, checksum: bytes) -> bytes:
        is_right = hashlib.blake2b(vector, digest_size=8).digest() == checksum
        return hashlib.blake2b(text_hash + vector, digest_size=8).digest() if is_right else checksum

    connection.create_function("renewed", 3, renewed)
    connection.execute("UPDATE vector SET checksum = renewed(text_hash, vector, checksum)")
    connection.create_function("renewed", 3, None)
    note_checksum(connection)


def m005_evidence_by_task(connection: Connection) -> None:
    """Nothing: what was counted by class of tasks is retired, as all that was counted."""


def m006_no_memory_waits_for_the_full_text(connection: Connection) -> None:
    """Nothing waits any more for the full text, which is made anew for today's layout."""
    connection.execute("ALTER TABLE project DROP COLUMN unindexed")


def m007_words_that_no_space_parts(connection: Connection) -> None:
    """Nothing: the full text is made anew for today's layout."""


MIGRATIONS: Sequence[_FormerMigration] = (
    m001_first_layout,
    m002_row_numbers_given_out_once,
    m003_outcomes_by_agent,
    m004_checksums,
    m005_evidence_by_task,
    m006_no_memory_waits_for_the_full_text,
    m007_words_that_no_space_parts,
)


def migrate_former(connection: Connection, *, at: int) -> None:
    """Runs what is missing, inside the caller's transaction. `at` is in microseconds since 1970.

    `StorageError` for a database whose tables are not those that its migrations make: only drafts of the first layout had others.
    """
    applied = applied_migrations(connection)
    _check_layout(connection, applied)
    for migration in MIGRATIONS:
        if migration.__name__ not in applied:
            migration(connection)
            note_migration(connection, migration.__name__, at=at)


_COLUMNS = """
    SELECT made.name, info.name FROM sqlite_master AS made JOIN pragma_table_info(made.name) AS info
    WHERE made.type = 'table' AND made.sql NOT LIKE 'CREATE VIRTUAL%' AND made.name NOT LIKE 'text\\_%' ESCAPE '\\'"""


def _check_layout(connection: Connection, applied: Collection[str]) -> None:
    """Compares tables with those that the applied migrations make, and makes indexes anew that drafts of the first layout had otherwise."""
    with closing(sqlite3.connect(":memory:", isolation_level=None, factory=Connection)) as model:
        _run(model, [migration for migration in MIGRATIONS if migration.__name__ in applied])
        missing = set(model.execute(_COLUMNS)) - set(connection.execute(_COLUMNS))
        indexes = dict(model.execute(INDEXES).fetchall())
        _run(model, [migration for migration in MIGRATIONS if migration.__name__ not in applied])
        later: dict[str, str | None] = {name: None for name, _ in model.execute(INDEXES)}
    if missing:
        table, column = min(missing)
        raise StorageError(
            f"the database was made by a draft of ALMA 0.1 with other tables (it has no {table}.{column}), which this ALMA cannot read; "
            "nothing was changed. Open it with the ALMA that made it, and add what that lists to a new store"
        )
    restore_indexes(connection, later | indexes)


def _run(connection: Connection, chosen: Sequence[_FormerMigration]) -> None:
    for migration in chosen:
        migration(connection)


_FIRST_LAYOUT = f"""\
{SINCE_THE_FIRST};
CREATE TABLE project (
    row INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, head_seq INTEGER NOT NULL, head_hash BLOB NOT NULL,
    learned_seq INTEGER NOT NULL, unindexed TEXT NOT NULL
) STRICT;
CREATE TABLE memory (
    row INTEGER PRIMARY KEY, project INTEGER NOT NULL, id TEXT NOT NULL, partition INTEGER NOT NULL, agent TEXT NOT NULL,
    body BLOB NOT NULL, confidence REAL NOT NULL, successes REAL, trials REAL, seen_at INTEGER NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, archived_at INTEGER, content_hash BLOB NOT NULL, evidence TEXT, seq INTEGER NOT NULL,
    UNIQUE (project, id)
) STRICT;
CREATE INDEX memory_evidence ON memory (project, evidence, partition, successes) WHERE evidence IS NOT NULL;
CREATE TABLE passage (
    row INTEGER PRIMARY KEY, project INTEGER NOT NULL, memory INTEGER NOT NULL, position INTEGER NOT NULL, speaker BLOB NOT NULL,
    time INTEGER, is_own INTEGER NOT NULL, text BLOB NOT NULL, keywords BLOB NOT NULL, text_hash BLOB, is_live INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    UNIQUE (memory, position)
) STRICT;
CREATE INDEX passage_seq ON passage (project, seq);
CREATE TABLE evidence (
    row INTEGER PRIMARY KEY, project INTEGER NOT NULL, id TEXT NOT NULL, agent TEXT NOT NULL, task_class TEXT NOT NULL,
    strategy_hash BLOB NOT NULL, strategy BLOB NOT NULL, successes REAL NOT NULL, trials REAL NOT NULL, operative_successes REAL NOT NULL,
    operative_trials REAL NOT NULL, unverified INTEGER NOT NULL, observed_at INTEGER NOT NULL, recent TEXT NOT NULL, reasons BLOB NOT NULL,
    heuristic TEXT, heuristic_status TEXT, anti_pattern TEXT, anti_pattern_status TEXT, task BLOB,
    UNIQUE (project, agent, task_class, strategy_hash), UNIQUE (project, id)
) STRICT;
CREATE INDEX evidence_class ON evidence (project, agent, row) WHERE task IS NOT NULL"""
