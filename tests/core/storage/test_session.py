"""A connection runs statements by their names, one statement for many rows."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from alma.storage.relational.session import NotUniqueError
from alma.storage.sqlite import connections
from alma.storage.sqlite.connections import MOST_ROWS, Connection

STATEMENTS = {
    "insert": "INSERT INTO fruit (name, weight, place) VALUES (:name, :weight, (SELECT max(1, (2)) FROM (SELECT 1)))",
    "put": "INSERT INTO fruit (name, weight) VALUES (:name, :weight) ON CONFLICT (name) DO UPDATE SET weight = max(excluded.weight, 0)",
    "find": "WITH given(name) AS (VALUES (:name)) SELECT fruit.name, fruit.weight FROM fruit JOIN given ON fruit.name = given.name",
    "drop": "DELETE FROM fruit WHERE name = :name",
    "broken": "INSERT INTO fruit (name) VALUES (:name",
    "all": "SELECT name, weight, place FROM fruit ORDER BY weight",
}
SIZES = (0, 1, 2, MOST_ROWS, MOST_ROWS + 1, 3 * MOST_ROWS + 5)


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.setattr(connections, "STATEMENTS", STATEMENTS)
    with closing(sqlite3.connect(":memory:", isolation_level=None, factory=Connection)) as made:
        made.execute("CREATE TABLE fruit (name TEXT UNIQUE, weight REAL, place INTEGER)")
        yield made


def fruit(count: int) -> list[dict[str, object]]:
    return [{"weight": number / 8, "name": f"fruit {number}", "beside": "it"} for number in range(count)]


@pytest.mark.parametrize("count", SIZES)
def test_each_row_is_written_once_with_its_own_values(connection: Connection, count: int) -> None:
    assert connection.run_many("insert", fruit(count)) == count
    assert list(connection.all("all")) == [(row["name"], row["weight"], 2) for row in fruit(count)]


@pytest.mark.parametrize("count", SIZES)
def test_what_follows_the_rows_holds_for_all_of_them(connection: Connection, count: int) -> None:
    connection.run_many("insert", fruit(5))
    connection.run_many("put", [{"name": f"fruit {number}", "weight": 9 - number} for number in range(count)])
    stored = {row["name"]: row["weight"] for row in connection.each("all")}
    assert stored == {f"fruit {n}": max(9 - n, 0 if n < 5 else 9 - n) if n < count else n / 8 for n in range(max(count, 5))}


@pytest.mark.parametrize("count", SIZES)
def test_what_is_found_for_any_of_the_rows_is_given(connection: Connection, count: int) -> None:
    connection.run_many("insert", fruit(2 * count))
    asked = [{"name": name} for row in fruit(count) for name in (row["name"], "no fruit")]
    found = [tuple(row.values()) for row in connection.many("find", asked)]
    assert sorted(found) == sorted((row["name"], row["weight"]) for row in fruit(count))


@pytest.mark.parametrize("count", SIZES)
def test_a_statement_without_rows_of_values_is_run_for_each_row(connection: Connection, count: int) -> None:
    connection.run_many("insert", fruit(count + 1))
    assert connection.run_many("drop", fruit(count)) == count
    assert [name for name, *_ in connection.all("all")] == [f"fruit {count}"]


def test_a_row_that_cannot_be_written_leaves_those_beside_it_unwritten(connection: Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        connection.run_many("insert", [*fruit(3), *fruit(1)])
    assert list(connection.all("all")) == []


def test_a_key_that_is_taken_is_an_error_of_its_own_and_the_transaction_goes_on(connection: Connection) -> None:
    connection.execute("BEGIN")
    assert connection.insert("insert", fruit(1)[0]) == 1
    with pytest.raises(NotUniqueError):
        connection.insert("insert", fruit(1)[0])
    assert connection.insert("insert", fruit(2)[1]) == 2
    connection.execute("COMMIT")
    assert len(list(connection.all("all"))) == 2


def test_a_statement_whose_bracket_is_not_closed_is_refused(connection: Connection) -> None:
    with pytest.raises(ValueError, match="no bracket"):
        connection.run_many("broken", fruit(1))
