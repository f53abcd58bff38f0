"""Tables of a database file: the layout of a new one, and numbered migrations that came after it, run in order and recorded by name.

What has been released is never edited; a change of the tables is a new function. Files of former versions are brought to the layout by
the package alma-upgrade.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from alma.errors import ConfigurationError
from alma.storage.relational.logical import View
from alma.storage.relational.session import Seal
from alma.storage.relational.text_index import fill
from alma.storage.sqlite.connections import Connection
from alma.storage.sqlite.fulltext import FTS5Index

Migration = Callable[[Connection, Seal], None]

LAYOUT = "m008_outcomes_alone"
"""Name of the migration that leads to this layout. New files have no other before it."""


def m009_stems_of_our_own(connection: Connection, seal: Seal) -> None:
    """Nothing: the full text was rebuilt here, and `m010_words_of_one_character`, which runs after it, does it once more."""


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
    """Returns the migrations still to run on a file of the layout."""
    return [migration for migration in MIGRATIONS if migration.__name__ not in applied]


def migrate(connection: Connection, seal: Seal, *, at: int) -> None:
    """Makes the tables where there are none, and runs what is missing, inside the caller's transaction. `at` is in microseconds since 1970."""
    applied = applied_migrations(connection)
    if not applied:
        for statement in Path(__file__).with_name("layout.sql").read_text(encoding="utf-8").rstrip().split(";\n"):
            connection.execute(statement)
        note_migration(connection, LAYOUT, at=at)
    for migration in missing_migrations(applied):
        migration(connection, seal)
        note_migration(connection, migration.__name__, at=at)


def note_migration(connection: Connection, name: str, *, at: int) -> None:
    """Notes that a migration was run."""
    connection.execute("INSERT INTO migration (name, applied_at) VALUES (?, ?)", (name, at))


def restore_indexes(connection: Connection, expected: Mapping[str, str | None]) -> None:
    """Rebuilds indexes that are missing or defined otherwise, by name and statement, and drops those without a statement."""
    found = dict(connection.execute(INDEXES).fetchall())
    for name, statement in expected.items():
        if found.get(name) != statement:
            connection.execute(f"DROP INDEX IF EXISTS {name}")
            if statement:
                connection.execute(statement)
