"""Migrations, run in order, recorded by name. A new store gets today's tables at once, and all names."""

from collections.abc import Callable, Sequence

from psycopg import Connection, sql

from alma.errors import ConfigurationError
from alma_postgres.compiling import layout

Migration = Callable[[Connection, str], None]


def p001_first_layout(connection: Connection, schema: str) -> None:
    """The tables as `alma.storage.relational.tables` declares them."""
    for statement in layout(schema):
        connection.execute(statement)


MIGRATIONS: Sequence[Migration] = (p001_first_layout,)


TABLE_IN_SCHEMA = (
    "SELECT 1 FROM pg_catalog.pg_class AS held JOIN pg_catalog.pg_namespace AS schema ON schema.oid = held.relnamespace "
    "WHERE schema.nspname = %s AND held.relname = %s"
)


def applied_migrations(connection: Connection, schema: str) -> set[str]:
    """The names of those that were run; empty for a schema without our tables.

    Catalogs are read as tables: `to_regclass` answers from a cache of the session, which in the middle of a transaction may not know of a schema
    that another session made while this one waited for its lock.
    """
    if connection.execute(TABLE_IN_SCHEMA, (schema, "migration")).fetchone() is None:
        return set()
    query = sql.SQL("SELECT name FROM {}.migration").format(sql.Identifier(schema))
    return {str(name) for (name,) in connection.execute(query)}


def missing_migrations(applied: set[str]) -> list[Migration]:
    """Those still to run. `ConfigurationError` for a database that a newer ALMA made."""
    unknown = applied - {migration.__name__ for migration in MIGRATIONS}
    if unknown:
        raise ConfigurationError(f"the database was made by a newer ALMA (it knows {sorted(unknown)[0]}); upgrade alma-postgres")
    return [migration for migration in MIGRATIONS if migration.__name__ not in applied]


def migrate(connection: Connection, schema: str, *, at: int) -> None:
    """Runs what is missing, inside the caller's transaction. `at` is in microseconds since 1970."""
    applied = applied_migrations(connection, schema)
    for migration in missing_migrations(applied):
        migration(connection, schema)
        noted = sql.SQL("INSERT INTO {}.migration (name, applied_at) VALUES (%s, %s)").format(sql.Identifier(schema))
        connection.execute(noted, (migration.__name__, at))
