"""Migrations, run in order, recorded by name. A new store gets today's tables at once, and all names."""

from collections.abc import Callable, Sequence

from psycopg import Connection, sql

from alma.errors import ConfigurationError
from alma.storage.relational.logical import View
from alma.storage.relational.session import Seal
from alma.storage.relational.text_index import TextRows, fill
from alma_postgres.compiling import layout
from alma_postgres.session import PostgresSession

Migration = Callable[[PostgresSession, Seal], None]

LAYOUT, FORMER = "p002_outcomes_alone", "p001_first_layout"
"""Names of the migration that leads to today's layout, which new stores begin with, and of the one that former versions began with."""


def p003_stems_of_our_own(session: PostgresSession, seal: Seal) -> None:
    """Nothing: the full text was made anew here, and `p004_words_of_one_character`, which runs after it, does it once more."""


def p004_words_of_one_character(session: PostgresSession, seal: Seal) -> None:
    """Fills the full text of each project again: with our own stems, single characters of Chinese, Japanese and Korean, and emoji."""
    for project, _ in list(session.all("projects")):
        fill(View(session, project, seal), TextRows())


MIGRATIONS: Sequence[Migration] = (p003_stems_of_our_own, p004_words_of_one_character)

_DROP_RETIRED = (
    "DROP TABLE {}.evidence",
    "DROP INDEX {}.memory_evidence",
    "DROP INDEX {}.memory_partition",
    "ALTER TABLE {}.memory DROP COLUMN evidence",
    "CREATE INDEX memory_partition ON {}.memory (partition)",
)


TABLE_IN_SCHEMA = (
    "SELECT 1 FROM pg_catalog.pg_class AS held JOIN pg_catalog.pg_namespace AS schema ON schema.oid = held.relnamespace "
    "WHERE schema.nspname = %s AND held.relname = %s"
)


def applied_migrations(connection: Connection | PostgresSession, schema: str) -> set[str]:
    """Returns the names of the migrations that were run; none for a schema without our tables.

    Catalogs are read as tables: `to_regclass` answers from a cache of the session, which in the middle of a transaction may not know of a schema
    that another session made while this one waited for its lock.
    """
    if connection.execute(TABLE_IN_SCHEMA, (schema, "migration")).fetchone() is None:
        return set()
    query = sql.SQL("SELECT name FROM {}.migration").format(sql.Identifier(schema))
    return {str(name) for (name,) in connection.execute(query)}


def is_former(applied: set[str]) -> bool:
    """Returns True for a store that a former version made and that was not brought to the layout. `ConfigurationError` if a newer ALMA made it."""
    unknown = applied - {FORMER, LAYOUT, *(migration.__name__ for migration in MIGRATIONS)}
    if unknown:
        raise ConfigurationError(f"the database was made by a newer ALMA (it knows {sorted(unknown)[0]}); upgrade alma-postgres")
    return LAYOUT not in applied


def missing_migrations(applied: set[str]) -> list[Migration]:
    """Returns the migrations still to run on a store of the layout."""
    return [migration for migration in MIGRATIONS if migration.__name__ not in applied]


def migrate(session: PostgresSession, schema: str, seal: Seal, *, at: int) -> None:
    """Makes the tables where there are none, and runs what is missing, inside the caller's transaction. `at` is in microseconds since 1970."""
    connection = session.connection
    applied = applied_migrations(connection, schema)
    if not applied:
        for statement in layout(schema):
            connection.execute(statement)
        _note(connection, schema, LAYOUT, at=at)
    for migration in missing_migrations(applied):
        migration(session, seal)
        _note(connection, schema, migration.__name__, at=at)


def drop_retired(connection: Connection, schema: str, *, at: int) -> None:
    """Brings the tables of a former version to the layout. The caller has turned what is in them into what the layout holds."""
    for statement in _DROP_RETIRED:
        connection.execute(sql.SQL(statement).format(sql.Identifier(schema)))
    _note(connection, schema, LAYOUT, at=at)


def _note(connection: Connection, schema: str, name: str, *, at: int) -> None:
    noted = sql.SQL("INSERT INTO {}.migration (name, applied_at) VALUES (%s, %s)").format(sql.Identifier(schema))
    connection.execute(noted, (name, at))
