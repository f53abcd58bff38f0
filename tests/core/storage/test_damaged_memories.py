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
        records = alma.get_stats().journal_records
        with pytest.raises(CorruptStoreError, match="what is to be purged is damaged"):
            alma.purge([memory.id])
        assert alma.get_stats().journal_records == records


def test_a_damaged_warning_stops_no_learning_of_other_tasks(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        for agent in ("dev", "ops"):
            for day in ("Monday", "Tuesday"):
                alma.learn(agent, f"Build on {day}", "failure", "rm -rf build", task_type="build")
        warnings = alma.list_memories(kind="anti_pattern")
        assert len(warnings) == 2
        with closing(sqlite3.connect(tmp_path / "alma.db")) as connection, connection:
            connection.executemany("UPDATE memory SET body = x'5b5d' WHERE id = ?", [(warning.id,) for warning in warnings])
        other = {"task": "Paint the wall", "outcome": "success", "strategy_used": "A brush", "task_type": "paint"}

        learned = alma.learn_many({"agent": agent, **other} for agent in ("dev", "ops"))

        assert [outcome.agent for outcome in learned] == ["dev", "ops"]


def test_a_damaged_warning_keeps_nothing_that_is_purged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        ids = [alma.learn("dev", f"Build {day}", "success", "make", task_type="build").id for day in range(5)]
        for day in range(5):
            alma.learn("dev", f"Build anew {day}", "failure", "rm -rf build", task_type="build")
        (warning,), (rule,) = alma.list_memories(kind="anti_pattern"), alma.list_memories(kind="heuristic")
        with closing(sqlite3.connect(tmp_path / "alma.db")) as connection, connection:
            connection.execute("UPDATE memory SET body = x'5b5d' WHERE id = ?", (warning.id,))
        named = [memory_id for memory_id in ids if alma.get(memory_id).task_description in rule.text]

        assert alma.purge(named).memory_ids == tuple(named)

        assert "rules that rested on what was purged were not judged again" in caplog.text
        assert alma.list_memories(kind="heuristic") == []


def test_damaged_evidence_of_a_warning_keeps_nothing_that_is_purged(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        better = [alma.learn("dev", f"Build {day}", "success", "make", task_type="build").id for day in range(5)]
        for day in range(5):
            alma.learn("dev", f"Build anew {day}", "failure", "rm -rf build", task_type="build")
        (warning,) = alma.list_memories(kind="anti_pattern")
        with closing(sqlite3.connect(tmp_path / "alma.db")) as connection, connection:
            of_warning = "id IN (SELECT evidence FROM memory WHERE id = ?)"
            connection.execute(f"UPDATE evidence SET recent = '[[]]' WHERE {of_warning}", (warning.id,))

        assert alma.purge(better).memory_ids == tuple(better)

        assert len(alma.list_memories()) == 5
        assert alma.list_memories(kind="anti_pattern") == []
