"""`alma verify` passes on a sound store, and fails naming the culprit on one that was tampered with."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

DATABASE = Path(".alma", "alma.db")


@pytest.fixture
def ids(project) -> list[str]:
    """The ids of three memories, in the order of the journal."""
    tasks = ("Deploy the shop", "Test the login form", "Write the invoice")
    return [project("learn", "-a", "helena", "-t", task, "-o", "success", "-s", "by hand", "--json").json["id"] for task in tasks]


def tamper(*statements: str) -> None:
    with closing(sqlite3.connect(DATABASE, isolation_level=None)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0, statement


def test_a_sound_store_passes(project, ids: list[str]) -> None:
    found = project("verify", "--json").json

    assert (found["ok"], found["problems"], found["records"], found["memories"]) == (True, [], 3, 3)
    assert project("verify").out == "no problem in 3 journal records and 3 memories\n"


@pytest.mark.parametrize(
    ("statements", "culprit"),
    [
        (
            ["UPDATE memory SET body = CAST(replace(CAST(body AS TEXT), 'login', 'logim') AS BLOB) WHERE seq = 2"],
            lambda ids: ids[1],
        ),
        (["DELETE FROM journal WHERE seq = 2"], lambda ids: "2"),
        (
            [
                "UPDATE journal SET seq = 99 WHERE seq = 2",
                "UPDATE journal SET seq = 2 WHERE seq = 3",
                "UPDATE journal SET seq = 3 WHERE seq = 99",
            ],
            lambda ids: "2",
        ),
        (
            [
                "UPDATE vector SET vector = zeroblob(length(vector)) WHERE text_hash = (SELECT text_hash FROM passage WHERE row = 2)"
            ],
            lambda ids: ids[1],
        ),
    ],
    ids=["a flipped byte", "a deleted record", "two swapped records", "a changed vector"],
)
def test_a_tampered_store_fails_and_names_the_culprit(
    project, ids: list[str], statements: list[str], culprit: Callable[[list[str]], str]
) -> None:
    tamper(*statements)

    found = project("verify", "--json", code=1).json
    told = " ".join(f"{problem['place']} {problem['what']}" for problem in found["problems"])
    assert found["ok"] is False
    assert culprit(ids) in told
    assert ids[0] not in told
    assert "PROBLEM shop: " in project("verify", code=1).out


def test_a_database_cut_short_is_a_storage_error(project, ids: list[str]) -> None:
    data = DATABASE.read_bytes()
    DATABASE.write_bytes(data[: len(data) // 2])
    for leftover in DATABASE.parent.glob("alma.db-*"):
        leftover.unlink()

    assert "alma.db" in project("verify", code=3).err


def test_a_rebuild_says_what_it_mended_and_what_it_could_not(project, ids: list[str]) -> None:
    tamper("UPDATE memory SET confidence = 0.123 WHERE seq = 2")
    found = project("verify", "--rebuild", "--json").json
    assert (found["ok"], found["problems"]) == (True, [])
    assert [problem["place"] for problem in found["rebuilt"]] == [f"memory {ids[1]}"]
    assert project("verify").out == "no problem in 4 journal records and 3 memories\n"

    tamper("UPDATE memory SET confidence = 0.123 WHERE seq = 2", "UPDATE journal SET actor = 'mallory' WHERE seq = 2")
    told = project("verify", "--rebuild", code=1).out
    assert "PROBLEM shop: journal record 2: record 2 does not follow" in told
    assert f"PROBLEM shop: memory {ids[1]}: differs from the journal in confidence" in told
    assert "REBUILT" not in told


def test_a_rebuild_of_a_sound_store_changes_nothing(project, ids: list[str]) -> None:
    before = rows()
    assert project("verify", "--rebuild").out == "no problem in 3 journal records and 3 memories\n"
    assert rows() == before


def rows() -> list[object]:
    with closing(sqlite3.connect(DATABASE)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
        return [(name, connection.execute(f'SELECT * FROM "{name}"').fetchall()) for (name,) in names.fetchall()]
