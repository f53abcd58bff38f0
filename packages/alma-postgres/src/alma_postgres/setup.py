"""The SQL that an administrator runs once, so that ALMA itself needs few rights: its tables, a role for it, and, if wanted, walls around projects."""

import re
from collections.abc import Iterator, Sequence

from alma.errors import ConfigurationError
from alma_postgres.address import DEFAULT_SCHEMA, checked_schema
from alma_postgres.compiling import layout, table_names, tables_of_projects
from alma_postgres.migrations import LAYOUT, MIGRATIONS
from alma_postgres.nearest import MOST_NUMBERS, UPTO, table_name, vector_tables
from alma_postgres.vector_index import index_statement

DEFAULT_ROLE = "alma_app"
_ROLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def setup_sql(
    schema: str = DEFAULT_SCHEMA, role: str = DEFAULT_ROLE, projects: Sequence[str] = (), *, dimension: int | None = None
) -> str:
    """A script for `psql`. With `projects`, row-level security leaves the role these projects alone. With a `dimension`, pgvector searches vectors
    of that length."""
    if not _ROLE.fullmatch(role) or role.startswith("pg_"):
        raise ConfigurationError(f"role {role[:80]!r} must be 1 to 63 small letters, digits and underscores")
    if dimension is not None and not 1 <= dimension <= MOST_NUMBERS:
        raise ConfigurationError(f"dimension {dimension} must be 1 to {MOST_NUMBERS}: pgvector indexes no longer vectors")
    return "\n".join(_lines(checked_schema(schema), role, projects, dimension)) + "\n"


def _lines(schema: str, role: str, projects: Sequence[str], dimension: int | None) -> Iterator[str]:
    yield "-- Run this as the owner of the database. Then give the role a password: \\password " + role
    yield "BEGIN;"
    yield f"CREATE SCHEMA {schema};"
    yield from (f"{statement};" for statement in layout(schema))
    made = (LAYOUT, *(migration.__name__ for migration in MIGRATIONS))
    names = ", ".join(f"('{name}', (extract(epoch FROM now()) * 1000000)::bigint)" for name in made)
    yield f"INSERT INTO {schema}.migration (name, applied_at) VALUES {names};"
    yield f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
    yield f"GRANT USAGE ON SCHEMA {schema} TO {role};"
    written = ", ".join(f"{schema}.{name}" for name in table_names() if name != "migration")
    yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON {written} TO {role};"
    yield f"GRANT SELECT ON {schema}.migration TO {role};"
    yield f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};"
    if dimension is not None:
        yield from _vectors(schema, role, dimension)
    if projects:
        yield from _walls(schema, role, projects)
        for table in () if dimension is None else (table_name(dimension), UPTO):
            yield from _wall(schema, table, role, f'project IN (SELECT "row" FROM {schema}.project)')
    yield "COMMIT;"


def _vectors(schema: str, role: str, dimension: int) -> Iterator[str]:
    """The extension in the schema `public`, and the tables that it searches."""
    yield "CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;"
    yield from (f"{statement};" for statement in vector_tables(schema, dimension, "public"))
    yield f"{index_statement(f'{schema}.{table_name(dimension)}', 'public')};"
    yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.{table_name(dimension)}, {schema}.{UPTO} TO {role};"


def _walls(schema: str, role: str, projects: Sequence[str]) -> Iterator[str]:
    named = ", ".join(_quoted(name) for name in projects)
    yield from _wall(schema, "project", role, f"name IN ({named})")
    for table in tables_of_projects():
        yield from _wall(schema, table, role, f'project IN (SELECT "row" FROM {schema}.project)')
    yield from _wall(schema, "usage", role, f'memory IN (SELECT "row" FROM {schema}.memory)')


def _wall(schema: str, table: str, role: str, condition: str) -> Iterator[str]:
    yield f"ALTER TABLE {schema}.{table} ENABLE ROW LEVEL SECURITY;"
    yield f"CREATE POLICY {role} ON {schema}.{table} TO {role} USING ({condition});"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
