"""Encrypted values are bound to their rows: one that stands in another row, or comes from another store, is damage that is named."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from alma.errors import ConfigurationError, CorruptStoreError
from alma.storage.relational.rows import vector_checksum
from alma.storage.relational.session import note_checksum
from alma.storage.sqlite.store import SQLStorage
from alma_encryption import keys
from alma_encryption.rows import HIDDEN, SEALED
from encrypted import KEY, open_encrypted
from stores import NOW, rows

COLUMNS = [(table, column) for table, columns in SEALED.items() for column in columns]
FOUND_BY = [(table, column) for table, columns in HIDDEN.items() for column in columns]
FORMER = "AES-256-GCM by row, AES-SIV of names", "AES-256-GCM by row", "AES-256-GCM"
"""How stores were encrypted before."""

TASKS = ("Deploy the shop", "Rotate the keys")
NAMED = {
    "memory": "memory",
    "passage": "passage",
    "vector": "vector",
    "record": "record",
    "journal": "journal",
    "touched": "history",
}


def made(folder: Path) -> Path:
    """A store with two rows or more in every table that holds sealed values."""
    for project, agent in (("farm", "dev"), ("shop", "ops")):
        with open_encrypted(folder, project_id=project) as alma:
            for _ in range(2):
                alma.learn(agent, TASKS[0], "success")
    with open_encrypted(folder) as alma:
        alma.add_domain_knowledge("dev", "shop", "The registry is in Frankfurt")
        for task in TASKS:
            for outcome in ("success", "failure", "success", "failure"):
                alma.learn("dev", task, outcome, f"{task} {outcome}", error_message=f"{task} broke", task_type=task)
            with alma.episode("dev", task) as episode:
                episode.step(task, ok=True)
                episode.succeed(strategy=task)
    return folder / "alma.db"


def _two_rows(connection: sqlite3.Connection, table: str, column: str, key: str) -> list[tuple[Any, Any]]:
    """Keys and values of a column in the first row and in the newest one that holds something else."""
    found = connection.execute(f'SELECT {key}, "{column}" FROM "{table}" WHERE length("{column}") > 0 ORDER BY 1').fetchall()
    return [found[0], next(row for row in reversed(found) if row[1] != found[0][1])]


def _key(table: str) -> str:
    return {"record": "kind || '/' || key", "journal": "place", "touched": "key || '/' || seq"}.get(table, "row")


def exchange(path: Path, table: str, column: str) -> None:
    """Exchanges a column of two rows, and makes the checksums of vectors fit, as one who can write the file could."""
    key = _key(table)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints=ON")
        (one, first), (other, second) = _two_rows(connection, table, column, key)
        put = f'UPDATE OR REPLACE "{table}" SET "{column}" = ? WHERE {key} = ?'
        between = second[:-1] + (b"\0" if isinstance(second, bytes) else "!")
        for value, row in ((between, one), (first, other), (second, one)):
            connection.execute(put, (value, row))
        if table == "vector":
            for row, digest, vector in connection.execute("SELECT row, text_hash, vector FROM vector").fetchall():
                connection.execute("UPDATE vector SET checksum = ? WHERE row = ?", (vector_checksum(digest, vector), row))


@pytest.mark.parametrize(("table", "column"), [*COLUMNS, *FOUND_BY], ids="-".join)
def test_values_exchanged_between_two_rows_are_named_and_never_believed(tmp_path: Path, table: str, column: str) -> None:
    path = made(tmp_path)
    with open_encrypted(tmp_path) as alma:
        content = alma.content_hash()
    exchange(path, table, column)
    with open_encrypted(tmp_path) as alma:
        report = alma.verify()
        assert not report.ok
        assert any(NAMED[table] in problem.place for problem in report.problems), report.problems
        if table != "journal":
            assert alma.verify(rebuild=True).ok
            assert alma.content_hash() == content


@pytest.mark.parametrize("column", ["vector.vector", "memory.body"])
def test_a_retrieval_that_meets_an_exchanged_value_ends_with_a_clear_error(tmp_path: Path, column: str) -> None:
    exchange(made(tmp_path), *column.split("."))
    with open_encrypted(tmp_path) as alma, pytest.raises(CorruptStoreError, match="was changed or belongs elsewhere"):
        alma.retrieve("Deploy the shop and rotate the keys", "dev", top_k=20)


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids="-".join)
def test_a_value_of_another_store_of_the_same_key_is_named(tmp_path: Path, table: str, column: str) -> None:
    path, other = made(tmp_path / "one"), made(tmp_path / "other")
    with closing(sqlite3.connect(other)) as connection:
        (_, foreign), _ = _two_rows(connection, table, column, _key(table))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (row, _), _ = _two_rows(connection, table, column, _key(table))
        connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {_key(table)} = ?', (foreign, row))
    with open_encrypted(tmp_path / "one") as alma:
        assert any(NAMED[table] in problem.place for problem in alma.verify().problems)


def test_an_older_value_of_the_same_row_is_named_by_the_journal(tmp_path: Path) -> None:
    with open_encrypted(tmp_path) as alma, alma.episode("dev", "Deploy the shop") as episode:
        episode.succeed(strategy="Blue-green")
    (before,) = rows(tmp_path / "alma.db", "SELECT body, content_hash, successes, id FROM memory")
    with open_encrypted(tmp_path) as alma:
        alma.settle(episode.id, "failure", "It fell over")
    with closing(sqlite3.connect(tmp_path / "alma.db", isolation_level=None)) as connection:
        connection.execute("UPDATE memory SET body = ?, content_hash = ?, successes = ? WHERE id = ?", before)
    with open_encrypted(tmp_path) as alma:
        assert any(before[-1] in problem.place for problem in alma.verify().problems)


def test_no_hash_of_an_idempotency_key_or_a_run_stands_in_the_file_and_both_are_found(tmp_path: Path) -> None:
    with open_encrypted(tmp_path) as alma:
        first = alma.learn("dev", "Deploy the shop", "success", idempotency_key="order 17")
        with alma.episode("dev", "Deploy the shop", run_id="run 4") as episode:
            episode.succeed(strategy="Blue-green")
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for name in ("order 17", "run 4"):
        assert hashlib.blake2b(name.encode(), digest_size=16).hexdigest().encode() not in content
    with open_encrypted(tmp_path) as alma:
        assert alma.learn("dev", "Deploy the shop", "success", idempotency_key="order 17").id == first.id
        assert [found.id for found in alma.run_episodes("run 4")] == [episode.id]


@pytest.mark.parametrize("cipher", FORMER)
def test_a_store_cannot_be_passed_off_as_one_of_an_earlier_version(tmp_path: Path, cipher: str) -> None:
    path = made(tmp_path)
    with closing(SQLStorage(path, at=NOW, key=KEY)) as storage, storage.database.transaction() as connection:
        told = dict(connection.all("store_values"))[keys.ENCRYPTION]
        former = told.replace(keys._CIPHER, cipher)
        connection.run("store_put", {"key": keys.ENCRYPTION, "value": former})
        note_checksum(connection)
    assert former != told
    with pytest.raises(ConfigurationError, match="another key"):
        open_encrypted(tmp_path)
