"""The SQL that an administrator runs once, so that ALMA itself needs few rights: its tables, a role for it, and, if wanted, walls around projects."""

import re
from collections.abc import Iterator, Sequence

from alma.errors import ConfigurationError
from alma_postgres.address import DEFAULT_SCHEMA, checked_schema
from alma_postgres.compiling import layout, table_names, tables_of_projects
from alma_postgres.migrations import MIGRATIONS

DEFAULT_ROLE = "alma_app"
_ROLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def setup_sql(schema: str = DEFAULT_SCHEMA, role: str = DEFAULT_ROLE, projects: Sequence[str] = ()) -> str:
    """A script for `psql`. With `projects`, row-level security leaves the role these projects alone."""
    if not _ROLE.fullmatch(role) or role.startswith("pg_"):
        raise ConfigurationError(f"role {role[:80]!r} must be 1 to 63 small letters, digits and underscores")
    return "\n".join(_lines(checked_schema(schema), role, projects)) + "\n"


def _lines(schema: str, role: str, projects: Sequence[str]) -> Iterator[str]:
    yield "-- Run this as the owner of the database. Then give the role a password: \\password " + role
    yield "BEGIN;"
    yield f"CREATE SCHEMA {schema};"
    yield from (f"{statement};" for statement in layout(schema))
    names = ", ".join(f"('{migration.__name__}', (extract(epoch FROM now()) * 1000000)::bigint)" for migration in MIGRATIONS)
    yield f"INSERT INTO {schema}.migration (name, applied_at) VALUES {names};"
    yield f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
    yield f"GRANT USAGE ON SCHEMA {schema} TO {role};"
    written = ", ".join(f"{schema}.{name}" for name in table_names() if name != "migration")
    yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON {written} TO {role};"
    yield f"GRANT SELECT ON {schema}.migration TO {role};"
    yield f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};"
    if projects:
        yield from _walls(schema, role, projects)
    yield "COMMIT;"


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
