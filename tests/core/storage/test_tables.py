"""The declared tables, the migrations and the compiled statements say the same."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Integer, Table, Text, UniqueConstraint
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import sqlite as dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from alma.errors import ConfigurationError, StorageError
from alma.storage import relational
from alma.storage.relational import tables
from alma.storage.relational.copying import COPIED
from alma.storage.relational.session import OpenSeal, Seal
from alma.storage.relational.statements import STATEMENTS as ALL
from alma.storage.relational.tables import text_metadata
from alma.storage.sqlite import compiling, migrations
from alma.storage.sqlite.compiling import compile_statements, compiled_statements
from alma.storage.sqlite.connections import STATEMENTS, Connection
from alma.storage.sqlite.migrations import LAYOUT, MIGRATIONS, migrate
from alma.storage.sqlite.store import SQLStorage
from stores import NOW, execute, new_storage, rows

DECLARED = sorted(tables.metadata.tables)
SQL_TYPES = {"TEXT": "TEXT", "FLOAT": "REAL", "INTEGER": "INTEGER", "BLOB": "BLOB"}
MIGRATED_AT = 1_772_600_767_890_123


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None, factory=Connection)) as made:
        migrate(made, OpenSeal(), at=1)
        yield made


def test_the_migrations_make_the_declared_tables_and_no_others(connection: Connection) -> None:
    made = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")

    assert [name for (name,) in made] == DECLARED


@pytest.mark.parametrize("name", DECLARED)
def test_columns_have_the_declared_order_type_nullability_and_key(connection: Connection, name: str) -> None:
    made = [
        (column, kind, bool(required) or bool(key), bool(key))
        for _, column, kind, required, _, key in connection.execute(f"PRAGMA table_info({name})")
    ]

    assert made == [
        (column.name, SQL_TYPES[str(column.type.compile(dialect.dialect()))], not column.nullable, column.primary_key)
        for column in tables.metadata.tables[name].columns
    ]


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_declared_unique_is(connection: Connection, name: str) -> None:
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
def test_indexes_are_the_declared_ones(connection: Connection, name: str) -> None:
    made = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?", (name,))
    declared = [str(CreateIndex(index).compile(dialect=dialect.dialect())) for index in tables.metadata.tables[name].indexes]

    assert sorted(plain(sql) for (sql,) in made) == sorted(map(plain, declared))


def plain(sql: str) -> str:
    return re.sub(r"\s+", " ", sql.replace('"', "")).strip()


@pytest.mark.parametrize("name", DECLARED)
def test_every_table_is_strict(connection: Connection, name: str) -> None:
    assert connection.execute("SELECT strict FROM pragma_table_list WHERE name = ?", (name,)).fetchone() == (1,)


def test_the_compiled_statements_are_up_to_date() -> None:
    assert Path(compiling.__file__).with_name("compiled.json").read_text(encoding="utf-8") == compile_statements()


@pytest.mark.parametrize("name", sorted(name for name in compiled_statements() if not name.startswith("word")))
def test_every_compiled_statement_runs_on_the_migrated_tables(connection: Connection, name: str) -> None:
    assert connection.execute("EXPLAIN " + compiled_statements()[name], AnyValue()).fetchall()


class AnyValue(dict[str, Any]):
    def __missing__(self, name: str) -> None:
        return None


ONLY_SQLITE = ("json_each", "OR IGNORE", "total(", "unhex", "GLOB", "PRAGMA")


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_statement_compiles_for_postgresql(name: str) -> None:
    text = str(ALL[name].compile(dialect=postgresql.dialect(paramstyle="named")))  # type: ignore[no-untyped-call] # as SQLAlchemy has it

    assert [word for word in ONLY_SQLITE if word in text] == []


def test_every_table_compiles_for_postgresql_with_whole_numbers_of_64_bits_and_texts_by_their_bytes() -> None:
    made = [*tables.metadata.sorted_tables, *text_metadata.sorted_tables]
    text = "\n".join(str(CreateTable(table).compile(dialect=postgresql.dialect())) for table in made)  # type: ignore[no-untyped-call]
    columns = [column for table in made for column in table.columns]

    assert text.count("BIGSERIAL") == sum(column.name == "row" for column in columns)
    assert text.count("BIGINT") + text.count("BIGSERIAL") + text.count("\town INTEGER") + text.count("\tother INTEGER") == sum(
        isinstance(column.type, Integer) for column in columns
    )
    assert text.count('TEXT COLLATE "C"') == sum(isinstance(column.type, Text) for column in columns) == 14


def test_the_tables_of_the_metadata_hold_what_the_migrations_make(connection: Connection) -> None:
    """Those of the migrations are `STRICT` besides, and two have no row numbers of their own."""
    with closing(sqlite3.connect(":memory:")) as other:
        for table in tables.metadata.sorted_tables:
            other.execute(str(CreateTable(table).compile(dialect=dialect.dialect())))
            for index in table.indexes:
                other.execute(str(CreateIndex(index).compile(dialect=dialect.dialect())))
        assert [layout(other, name) for name in DECLARED] == [layout(connection, name) for name in DECLARED]


def layout(connection: sqlite3.Connection, table: str) -> tuple[object, ...]:
    """Columns, unique constraints and indexes of a table, as SQLite reads them."""
    columns = [
        (name, {"BIGINT": "INTEGER", "FLOAT": "REAL"}.get(kind, kind), bool(required) or bool(key), key)
        for _, name, kind, required, _, key in connection.execute(f"PRAGMA table_info({table})")
    ]
    indexes = {
        (bool(is_unique), bool(is_partial), tuple(row[2] for row in connection.execute(f"PRAGMA index_info({index})")))
        for _, index, is_unique, origin, is_partial in connection.execute(f"PRAGMA index_list({table})")
        if origin != "pk"
    }
    return table, columns, indexes


def test_every_statement_is_run_somewhere_and_every_one_that_is_run_exists() -> None:
    room = Path(relational.__file__).parents[1]
    code = [file.read_text(encoding="utf-8") for file in room.rglob("*.py") if "statements" not in file.parts]
    run = re.compile(r'\.(?:all|each|many|run|insert|run_many|one|_look)\(\s*"(\w+)"')
    named = {name for text in code for name in run.findall(text)}

    assert named <= set(ALL)
    of_each_table = {f"{way}_{table}" for way in ("copy", "copied", "copied_count") for table in COPIED}
    assert [name for name in ALL.keys() - of_each_table if not any(f'"{name}"' in text for text in code)] == []


def test_migrations_are_numbered_and_recorded_by_name_with_their_time(tmp_path: Path) -> None:
    new_storage(tmp_path).close()
    names = [LAYOUT, *(migration.__name__ for migration in MIGRATIONS)]

    assert rows(tmp_path / "alma.db", "SELECT name, applied_at FROM migration ORDER BY name") == [(n, MIGRATED_AT) for n in names]
    assert [name[:5] for name in names] == [f"m{number:03}_" for number in range(8, len(names) + 8)]


def test_a_database_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    new_storage(tmp_path).close()
    path = tmp_path / "alma.db"
    execute(path, "INSERT INTO migration VALUES ('m999_from_the_future', 1)")
    before = path.read_bytes()

    with pytest.raises(ConfigurationError, match=r"newer ALMA.*m999_from_the_future.*upgrade alma-core"):
        SQLStorage(path, at=NOW)
    assert path.read_bytes() == before


def add_table(connection: Connection, seal: Seal) -> None:
    connection.execute("CREATE TABLE later (x INTEGER) STRICT")


def add_table_and_fail(connection: Connection, seal: Seal) -> None:
    add_table(connection, seal)
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


def test_small_records_under_a_key_are_found_by_the_key(connection: Connection) -> None:
    plan = connection.execute(f"EXPLAIN QUERY PLAN {STATEMENTS['records_under']}", AnyValue()).fetchall()
    assert [("SEARCH record" in step[3], "key>? AND key<?" in step[3]) for step in plan] == [(True, True)]


def test_a_copy_takes_every_table_along() -> None:
    assert set(COPIED) == {table.name for table in tables.metadata.sorted_tables} - {"store", "migration"}
