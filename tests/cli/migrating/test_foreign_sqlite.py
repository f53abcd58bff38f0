"""Reading a database of another program: as it is at this moment, without a trace beside it."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from alma.errors import StorageError
from alma_cli.migrating.foreign_sqlite import foreign_database


def made(path: Path, *, journal: str = "delete", rows: int = 3) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(f"PRAGMA journal_mode = {journal}")
    database.execute("CREATE TABLE song (title TEXT, year INTEGER)")
    database.execute("BEGIN")
    database.executemany("INSERT INTO song VALUES (?, ?)", ((f"song {row}", 2000 - row) for row in range(rows)))
    database.execute("COMMIT")
    return database


def titles(path: Path) -> list[object]:
    with foreign_database(path) as database:
        return [row["title"] for row in database.rows("song")]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_closed_database_is_read_and_nothing_appears_beside_it(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "songs.db"
    made(path, journal=journal).close()

    assert titles(path) == ["song 0", "song 1", "song 2"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_in_use_is_read_with_what_was_committed(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "songs.db"
    with closing(made(path, journal=journal)) as writer:
        writer.execute("BEGIN")
        writer.execute("INSERT INTO song VALUES ('not yet', 2026)")

        assert titles(path) == ["song 0", "song 1", "song 2"]


def test_its_program_may_write_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "songs.db"
    with closing(made(path)) as writer, foreign_database(path) as database:
        rows = database.rows("song")
        next(rows)
        writer.execute("PRAGMA busy_timeout = 0")
        writer.execute("INSERT INTO song VALUES ('new', 2026)")

        assert len(list(rows)) == 2


def test_a_log_that_was_left_by_a_crash_is_read_too(tmp_path: Path) -> None:
    path, crashed = tmp_path / "songs.db", tmp_path / "crashed"
    crashed.mkdir()
    with closing(made(path, journal="wal")):
        for ending in ("", "-wal"):
            (crashed / f"songs.db{ending}").write_bytes(Path(f"{path}{ending}").read_bytes())
    before = {file.name: file.read_bytes() for file in crashed.iterdir()}

    assert titles(crashed / "songs.db") == ["song 0", "song 1", "song 2"]
    assert {file.name: file.read_bytes() for file in crashed.iterdir()} == before


KILLED = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA cache_size = 1")
database.execute("BEGIN")
database.execute("UPDATE song SET title = 'half ' || title || hex(randomblob(500))")
os._exit(1)
"""


@pytest.mark.slow
def test_what_a_killed_program_left_half_written_is_rolled_back_in_the_copy(tmp_path: Path) -> None:
    path = tmp_path / "songs.db"
    made(path, rows=500).close()
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert set(before) == {"songs.db", "songs.db-journal"}

    assert titles(path) == [f"song {row}" for row in range(500)]
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_rows_come_in_the_order_and_from_the_place_that_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "songs.db"
    made(path).close()

    with foreign_database(path) as database:
        assert [row["year"] for row in database.rows("song", order="year")] == [1998, 1999, 2000]
        assert [row["year"] for row in database.rows("song", order="year", newest_first=True)] == [2000, 1999, 1998]
        assert [row["title"] for row in database.rows("song", where=("year", 1999))] == ["song 1"]
        assert (database.count("song"), database.counts_by("song", "year")) == (3, {2000: 1, 1999: 1, 1998: 1})


def test_names_of_tables_and_columns_are_never_sql(tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute('CREATE TABLE "a""; DROP TABLE b; --" ("x"" y" TEXT)')
        database.execute("CREATE TABLE b (z)")

    with foreign_database(path) as odd:
        assert odd.tables() == {'a"; DROP TABLE b; --': ('x" y',), "b": ("z",)}
        assert [odd.count(name) for name in odd.tables()] == [0, 0]


def test_a_truncated_database_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "songs.db"
    made(path, rows=5000).close()
    path.write_bytes(path.read_bytes()[:20_000])

    with pytest.raises(StorageError, match=r"songs\.db.*damaged"):
        titles(path)
