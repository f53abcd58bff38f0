"""Tables of a database file: the layout of a new one, and numbered migrations that came after it, run in order and recorded by name.

What has been released is never edited; a change of the tables is a new function. Files of former versions are brought to the layout by
the package alma-upgrade.
"""

from collections.abc import Callable, Mapping, Sequence

from alma.errors import ConfigurationError
from alma.storage.relational.logical import View
from alma.storage.relational.seal import Seal
from alma.storage.relational.text_index import fill
from alma.storage.sqlite.connections import Connection
from alma.storage.sqlite.fulltext import FTS5Index

Migration = Callable[[Connection, Seal], None]

LAYOUT = "m008_outcomes_alone"
"""Name of the migration that leads to this layout. New files have no other before it."""


def m009_stems_of_our_own(connection: Connection, seal: Seal) -> None:
    """Nothing: the full text was made anew here, and `m010_words_of_one_character`, which runs after it, does it once more."""


def m010_words_of_one_character(connection: Connection, seal: Seal) -> None:
    """Fills the full text of each project again: with our own stems, single characters of Chinese, Japanese and Korean, and emoji; of an
    encrypted store, too, whose files had none."""
    for project, _ in list(connection.all("projects")):
        fill(View(connection, project, seal), FTS5Index(seal))


MIGRATIONS: Sequence[Migration] = (m009_stems_of_our_own, m010_words_of_one_character)

BEFORE_UPGRADE = ".before-upgrade"
"""Ending of the copy of a file that is made before it is brought to the layout. `compact` deletes it."""

FORMER_NUMBERS = tuple(f"m00{number}_" for number in range(1, 8))
"""Beginnings of the names of migrations that led to the former layouts."""

INDEXES = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"


def applied_migrations(connection: Connection) -> set[str]:
    """The names of those that were run; empty for a file without our tables."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone():
        return set()
    return {name for (name,) in connection.execute("SELECT name FROM migration")}


def is_former(applied: set[str]) -> bool:
    """Returns True for a file that a former version made and that has not been brought to the layout. `ConfigurationError` if a newer ALMA
    made it."""
    known = {LAYOUT, *(migration.__name__ for migration in MIGRATIONS)}
    unknown = sorted(name for name in applied - known if not is_former_name(name))
    if unknown:
        raise ConfigurationError(f"the database was made by a newer ALMA (it knows {unknown[0]}); upgrade alma-core")
    return LAYOUT not in applied


def is_former_name(name: str) -> bool:
    """Returns True for the name of a migration of former versions: files that were brought to the layout list these, too."""
    return name.startswith(FORMER_NUMBERS)


def missing_migrations(applied: set[str]) -> list[Migration]:
    """Those still to run on a file of the layout."""
    return [migration for migration in MIGRATIONS if migration.__name__ not in applied]


def migrate(connection: Connection, seal: Seal, *, at: int) -> None:
    """Makes the tables where there are none, and runs what is missing, inside the caller's transaction. `at` is in microseconds since 1970."""
    applied = applied_migrations(connection)
    if not applied:
        for statement in _LAYOUT.split(";\n"):
            connection.execute(statement)
        note_migration(connection, LAYOUT, at=at)
    for migration in missing_migrations(applied):
        migration(connection, seal)
        note_migration(connection, migration.__name__, at=at)


def note_migration(connection: Connection, name: str, *, at: int) -> None:
    """Notes that a migration was run."""
    connection.execute("INSERT INTO migration (name, applied_at) VALUES (?, ?)", (name, at))


def restore_indexes(connection: Connection, expected: Mapping[str, str | None]) -> None:
    """Makes indexes anew that are missing or defined otherwise, by name and statement, and drops those without a statement."""
    found = dict(connection.execute(INDEXES).fetchall())
    for name, statement in expected.items():
        if found.get(name) != statement:
            connection.execute(f"DROP INDEX IF EXISTS {name}")
            if statement:
                connection.execute(statement)


_LAYOUT = """\
CREATE TABLE store (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE migration (name TEXT NOT NULL PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT;
CREATE TABLE partition (
    row INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL, is_user INTEGER NOT NULL, owner TEXT NOT NULL, kind TEXT NOT NULL,
    UNIQUE (project, is_user, owner, kind)
) STRICT;
CREATE TABLE vector (
    row INTEGER PRIMARY KEY, project INTEGER NOT NULL, text_hash BLOB NOT NULL, embedder INTEGER NOT NULL, vector BLOB NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (project, text_hash, embedder)
) STRICT;
CREATE TABLE usage (
    memory INTEGER PRIMARY KEY, used INTEGER NOT NULL, ignored INTEGER NOT NULL, thumbs_up INTEGER NOT NULL, thumbs_down INTEGER NOT NULL,
    credited_successes REAL NOT NULL, credited_trials REAL NOT NULL
) STRICT;
CREATE TABLE record (
    project INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL,
    updated_at INTEGER NOT NULL, PRIMARY KEY (project, kind, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE journal (
    place INTEGER PRIMARY KEY, project INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, actor TEXT NOT NULL,
    operation TEXT NOT NULL, payload BLOB, salt BLOB, digest BLOB NOT NULL, hash BLOB NOT NULL
) STRICT;
CREATE TABLE touched (
    project INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (project, key, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE removed (
    project INTEGER NOT NULL, seq INTEGER NOT NULL, passage INTEGER NOT NULL, PRIMARY KEY (project, seq, passage)
) STRICT, WITHOUT ROWID;
CREATE TABLE project (
    row INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, head_seq INTEGER NOT NULL, head_hash BLOB NOT NULL,
    learned_seq INTEGER NOT NULL) STRICT;
CREATE TABLE "memory" (
    row INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL, id TEXT NOT NULL, partition INTEGER NOT NULL, agent TEXT NOT NULL,
    body BLOB NOT NULL, confidence REAL NOT NULL, successes REAL, trials REAL, seen_at INTEGER NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, archived_at INTEGER, content_hash BLOB NOT NULL, seq INTEGER NOT NULL,
    UNIQUE (project, id)
) STRICT;
CREATE TABLE "passage" (
    row INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL, memory INTEGER NOT NULL, position INTEGER NOT NULL, speaker BLOB NOT NULL,
    time INTEGER, is_own INTEGER NOT NULL, text BLOB NOT NULL, keywords BLOB NOT NULL, text_hash BLOB, is_live INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    UNIQUE (memory, position)
) STRICT;
CREATE INDEX passage_seq ON passage (project, seq);
CREATE INDEX memory_partition ON memory (partition)"""
