"""A database is made whole or not at all, private to its owner, once."""

import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from alma.errors import StorageError
from alma.storage.sqlite.files import create_database
from alma.storage.sqlite.store import SQLStorage
from processes import finished, start, workers
from stores import FINGERPRINT, NOW, new_storage, open_alma


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_file_and_its_folder_are_private(tmp_path: Path) -> None:
    new_storage(tmp_path / "deep" / "store").close()

    assert mode(tmp_path / "deep" / "store") == 0o700
    assert mode(tmp_path / "deep" / "store" / "alma.db") == 0o600


def test_the_files_beside_an_open_database_are_as_private(tmp_path: Path) -> None:
    with open_alma(tmp_path / "store") as alma:
        alma.learn("a", "Task", "success", "Way")
        assert {path.name: mode(path) for path in (tmp_path / "store").iterdir()} == {
            "alma.db": 0o600,
            "alma.db-wal": 0o600,
            "alma.db-shm": 0o600,
        }


def test_a_new_database_is_one_file_with_nothing_left_over(tmp_path: Path) -> None:
    new_storage(tmp_path).close()

    assert [path.name for path in tmp_path.iterdir()] == ["alma.db"]


def half_filled(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE half (x)")
    raise RuntimeError("stopped half-way")


def test_a_making_that_stops_half_way_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stopped half-way"):
        create_database(tmp_path / "alma.db", half_filled)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        ("database or disk is full", r"alma\.db: database or disk is full$"),
        ("unable to open database file", r"alma\.db: unable to open database file; SQLite has to .* write in its folder"),
        ("attempt to write a readonly database", r"alma\.db: attempt to write a readonly database; SQLite has to .* write it"),
    ],
)
def test_a_disk_that_refuses_is_told_as_an_error_of_alma_and_leaves_nothing(tmp_path: Path, refused: str, told: str) -> None:
    def refuse(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError(refused)

    with pytest.raises(StorageError, match=told):
        create_database(tmp_path / "alma.db", refuse)

    assert list(tmp_path.iterdir()) == []


def test_an_existing_database_is_left_alone(tmp_path: Path) -> None:
    new_storage(tmp_path).close()
    before = (tmp_path / "alma.db").read_bytes()

    SQLStorage.create(tmp_path / "alma.db", FINGERPRINT, at=NOW)
    assert (tmp_path / "alma.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["alma.db"]


def test_where_there_are_no_hard_links_the_database_is_made_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("hard links are not supported")

    monkeypatch.setattr(os, "link", refuse)
    new_storage(tmp_path).close()

    assert [path.name for path in tmp_path.iterdir()] == ["alma.db"]


def test_eight_threads_that_make_it_at_once_get_one_database(tmp_path: Path) -> None:
    barrier = Barrier(8)

    def make(_: int) -> str:
        barrier.wait()
        with open_alma(tmp_path) as alma:
            return alma.storage.id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(make, range(8)))) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["alma.db"]


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 8])
def test_processes_that_make_it_at_once_get_one_database(tmp_path: Path, count: int) -> None:
    with workers(*[("create", tmp_path / "store")] * count) as processes:
        start(*processes)
        ids = {word for process in processes for word in finished(process)}

    assert len(ids) == 1
    left = {path.name for path in (tmp_path / "store").iterdir()}
    assert left - {"alma.db-wal", "alma.db-shm"} == {
        "alma.db"
    }  # two that close at the same moment both leave the log to the other


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("busy_timeout", 30_000),
        ("secure_delete", 1),
        ("trusted_schema", 0),
    ],
)
def test_the_settings_that_durability_needs_are_in_force_in_every_thread(tmp_path: Path, setting: str, value: object) -> None:
    storage = new_storage(tmp_path)

    def read(_: int) -> object:
        with storage.database.reading() as connection:
            return connection.execute(f"PRAGMA {setting}").fetchone()[0]

    with ThreadPoolExecutor(2) as pool:
        assert [read(0), *pool.map(read, range(2))] == [value] * 3
    storage.close()
