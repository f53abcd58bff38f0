"""The declared tables, the migrations and the compiled statements say the same."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, UniqueConstraint
from sqlalchemy.dialects import sqlite as dialect
from sqlalchemy.schema import CreateIndex

from alma.errors import ConfigurationError, StorageError
from alma.storage import compiled, migrations, sources, tables
from alma.storage.migrations import MIGRATIONS, migrate
from alma.storage.store import SQLStorage
from stores import NOW, execute, new_storage, rows

DECLARED = sorted(tables.metadata.tables)
SQL_TYPES = {"VARCHAR": "TEXT", "FLOAT": "REAL", "INTEGER": "INTEGER", "BLOB": "BLOB"}
MIGRATED_AT = 1_772_600_767_890_123


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        migrate(made, at=1)
        yield made


def test_the_migrations_make_the_declared_tables_and_no_others(connection: sqlite3.Connection) -> None:
    made = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")

    assert [name for (name,) in made] == DECLARED


@pytest.mark.parametrize("name", DECLARED)
def test_columns_have_the_declared_order_type_nullability_and_key(connection: sqlite3.Connection, name: str) -> None:
    made = [
        (column, kind, bool(required) or bool(key), bool(key))
        for _, column, kind, required, _, key in connection.execute(f"PRAGMA table_info({name})")
    ]

    assert made == [
        (column.name, SQL_TYPES[str(column.type.compile(dialect.dialect()))], not column.nullable, column.primary_key)
        for column in tables.metadata.tables[name].columns
    ]


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_declared_unique_is(connection: sqlite3.Connection, name: str) -> None:
    made = {
        tuple(column for _, _, column in connection.execute(f"PRAGMA index_info({index})"))
        for _, index, is_unique, origin, _ in connection.execute(f"PRAGMA index_list({name})")
        if is_unique and origin == "u"
    }

    assert made == declared_unique(tables.metadata.tables[name])


def declared_unique(table: Table) -> set[tuple[str, ...]]:
    together = {tuple(column.name for column in c.columns) for c in table.constraints if isinstance(c, UniqueConstraint)}
    return together | {(column.name,) for column in table.columns if column.unique}


@pytest.mark.parametrize("name", DECLARED)
def test_indexes_are_the_declared_ones(connection: sqlite3.Connection, name: str) -> None:
    made = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?", (name,))
    declared = [str(CreateIndex(index).compile(dialect=dialect.dialect())) for index in tables.metadata.tables[name].indexes]

    assert sorted(plain(sql) for (sql,) in made) == sorted(map(plain, declared))


def plain(sql: str) -> str:
    return re.sub(r"\s+", " ", sql.replace('"', "")).strip()


@pytest.mark.parametrize("name", DECLARED)
def test_every_table_is_strict(connection: sqlite3.Connection, name: str) -> None:
    assert connection.execute("SELECT strict FROM pragma_table_list WHERE name = ?", (name,)).fetchone() == (1,)


def test_the_compiled_statements_are_what_the_sources_say() -> None:
    assert Path(compiled.__file__).read_text(encoding="utf-8") == sources.compile_sources()


@pytest.mark.parametrize("name", sorted(sources.sources()))
def test_every_compiled_statement_runs_on_the_migrated_tables(connection: sqlite3.Connection, name: str) -> None:
    connection.execute("EXPLAIN " + getattr(compiled, name), AnyValue())


class AnyValue(dict[str, Any]):
    def __missing__(self, name: str) -> None:
        return None


def test_migrations_are_numbered_and_recorded_by_name_with_their_time(tmp_path: Path) -> None:
    new_storage(tmp_path).close()
    names = [migration.__name__ for migration in MIGRATIONS]

    assert rows(tmp_path / "alma.db", "SELECT name, applied_at FROM migration ORDER BY name") == [(n, MIGRATED_AT) for n in names]
    assert [name[:5] for name in names] == [f"m{number:03}_" for number in range(1, len(names) + 1)]


def test_a_database_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    new_storage(tmp_path).close()
    path = tmp_path / "alma.db"
    execute(path, "INSERT INTO migration VALUES ('m999_from_the_future', 1)")
    before = path.read_bytes()

    with pytest.raises(ConfigurationError, match=r"newer ALMA.*m999_from_the_future.*upgrade alma-core"):
        SQLStorage(path, at=NOW)
    assert path.read_bytes() == before


def add_table(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE later (x INTEGER) STRICT")


def add_table_and_fail(connection: sqlite3.Connection) -> None:
    add_table(connection)
    raise sqlite3.OperationalError("disk I/O error")


def test_a_missing_migration_is_run_when_an_older_database_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_storage(tmp_path).close()
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, add_table))

    SQLStorage(tmp_path / "alma.db", at=NOW).close()
    assert rows(tmp_path / "alma.db", "SELECT name FROM migration WHERE name LIKE 'add%'") == [("add_table",)]
    assert rows(tmp_path / "alma.db", "SELECT * FROM later") == []


def test_a_migration_that_fails_leaves_the_database_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_storage(tmp_path).close()
    everything = "SELECT * FROM sqlite_master"
    before = rows(tmp_path / "alma.db", everything), rows(tmp_path / "alma.db", "SELECT * FROM migration")
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, add_table_and_fail))

    with pytest.raises(StorageError, match="disk I/O error"):
        SQLStorage(tmp_path / "alma.db", at=NOW)
    assert (rows(tmp_path / "alma.db", everything), rows(tmp_path / "alma.db", "SELECT * FROM migration")) == before
