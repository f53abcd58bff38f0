"""A memory whose body is not what was written."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from alma import ALMA, CorruptStoreError

BODIES = {
    "nothing": b"",
    "half an object": b'{"task_description": "Deploy',
    "no object": b"[]",
    "not UTF-8": b'{"task_description": "\xff"}',
    "a field of another type": b'{"task_description": 5}',
    "a field too few": b"{}",
    "a field too many": b'{"task_description": "Deploy", "colour": "red"}',
    "very deep": b"[" * 100_000,
}


def damage(folder: Path, body: bytes) -> None:
    with closing(sqlite3.connect(folder / "alma.db")) as connection, connection:
        connection.execute("UPDATE memory SET body = ?", (body,))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_damaged_memory_is_told_as_one(tmp_path: Path, body: bytes) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        memory = alma.learn("a", "Deploy the service", "success")
        damage(tmp_path, body)
        with pytest.raises(CorruptStoreError, match=f"memory {memory.id} is damaged"):
            alma.retrieve("Deploy the service", "a")
        assert [problem.place for problem in alma.verify().problems][:1] == [f"memory {memory.id}"]


@pytest.mark.parametrize("body", [BODIES["half an object"], BODIES["very deep"]])
def test_a_purge_that_cannot_read_what_it_shall_erase_says_so_and_erases_nothing(tmp_path: Path, body: bytes) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        memory = alma.learn("a", "Deploy the service", "success")
        damage(tmp_path, body)
        before = alma.verify()
        with pytest.raises(CorruptStoreError, match="damaged"):
            alma.purge([memory.id])
        assert alma.verify() == before
