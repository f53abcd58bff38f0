"""A memory whose body is not what was written."""

import sqlite3
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


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_damaged_memory_is_told_as_one(tmp_path: Path, body: bytes) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        memory = alma.learn("a", "Deploy the service", "success")
        connection = sqlite3.connect(tmp_path / "alma.db")
        connection.execute("UPDATE memory SET body = ?", (body,))
        connection.commit()
        connection.close()
        with pytest.raises(CorruptStoreError, match=f"memory {memory.id} is damaged"):
            alma.retrieve("Deploy the service", "a")
