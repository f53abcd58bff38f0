"""One statement reads or writes many rows."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import chain

import pytest

from alma.storage.batches import MOST_ROWS, query_many, run_many

INSERT = "INSERT INTO fruit (name, weight, place) VALUES (:name, :weight, (SELECT max(1, (2)) FROM (SELECT 1)))"
PUT = f"{INSERT} ON CONFLICT (name) DO UPDATE SET weight = max(excluded.weight, 0)"
FIND = "WITH given(name) AS (VALUES (:name)) SELECT fruit.name, fruit.weight FROM fruit JOIN given ON fruit.name = given.name"
SIZES = (0, 1, 2, MOST_ROWS, MOST_ROWS + 1, 3 * MOST_ROWS + 5)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        made.execute("CREATE TABLE fruit (name TEXT PRIMARY KEY, weight REAL, place INTEGER)")
        yield made


def fruit(count: int) -> list[dict[str, object]]:
    return [{"weight": number / 8, "name": f"fruit {number}", "beside": "it"} for number in range(count)]


@pytest.mark.parametrize("count", SIZES)
def test_each_row_is_written_once_with_its_own_values(connection: sqlite3.Connection, count: int) -> None:
    run_many(connection, INSERT, fruit(count))
    stored = connection.execute("SELECT name, weight, place FROM fruit ORDER BY weight").fetchall()
    assert stored == [(row["name"], row["weight"], 2) for row in fruit(count)]


@pytest.mark.parametrize("count", SIZES)
def test_what_follows_the_rows_holds_for_all_of_them(connection: sqlite3.Connection, count: int) -> None:
    run_many(connection, INSERT, fruit(5))
    run_many(connection, PUT, [{"name": f"fruit {number}", "weight": 9 - number} for number in range(count)])
    stored = dict(connection.execute("SELECT name, weight FROM fruit"))
    assert stored == {f"fruit {n}": max(9 - n, 0 if n < 5 else 9 - n) if n < count else n / 8 for n in range(max(count, 5))}


@pytest.mark.parametrize("count", SIZES)
def test_what_is_found_for_any_of_the_rows_is_given(connection: sqlite3.Connection, count: int) -> None:
    run_many(connection, INSERT, fruit(2 * count))
    asked = [{"name": name} for row in fruit(count) for name in (row["name"], "no fruit")]
    found = chain.from_iterable(query_many(connection, FIND, asked))
    assert sorted(found) == sorted((row["name"], row["weight"]) for row in fruit(count))


def test_a_row_that_cannot_be_written_leaves_those_beside_it_unwritten(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        run_many(connection, INSERT, [*fruit(3), *fruit(1)])
    assert connection.execute("SELECT count(*) FROM fruit").fetchone() == (0,)


def test_a_statement_whose_bracket_is_not_closed_is_refused(connection: sqlite3.Connection) -> None:
    with pytest.raises(ValueError, match="no bracket"):
        run_many(connection, "INSERT INTO fruit (name) VALUES (:name", fruit(1))
