"""In a prompt one outcome stands for those that differ from it in the numbers of their task alone."""

from typing import Any

import pytest

from alma.types import MemorySlice, Outcome
from memory_strategies import slice_of


def _outcome(task: str = "Deploy build 41 to staging", **given: Any) -> Outcome:
    about = {"agent": "dev", "outcome": "success", "strategy_used": "drain the queue first"}
    return Outcome(task_description=task, **{**about, **given})


def _tags(found: MemorySlice) -> list[str]:
    return [item.tag for item in found.fitting().recalled]


def test_the_best_stands_for_all_and_says_for_how_many() -> None:
    found = slice_of(_outcome(), _outcome("Deploy build 42 to staging"), _outcome("Deploy build 1043 to staging"))

    assert _tags(found) == ["O1"]
    assert "Deploy build 41 to staging | Way: drain the queue first (and 2 more like it)\n" in found.to_prompt()
    assert len(found.ids) == 3
    assert found.fitting().to_prompt() == found.to_prompt()


@pytest.mark.parametrize(
    "other",
    [
        _outcome("Deploy build 42 to production"),
        _outcome("Deploy build 42 to staging", outcome="failure"),
        _outcome("Deploy build 42 to staging", strategy_used="drain queue 2 first"),
        _outcome("Deploy build 42 to staging", error_message="port 80 is taken"),
        _outcome("Deploy build 42 to staging", user_feedback="too slow"),
        _outcome("Deploy build 42 to staging", agent="ops"),
        _outcome("Deploy build 42 to staging", user_id="ann"),
        _outcome("Deploy build 42 to staging", metadata={"flagged": "reads like an instruction"}),
        _outcome("Deploy build 42 to staging", metadata={"shared_from": "ops"}),
        _outcome("Deploy build 42 to staging", metadata={"of_same_attempt": {"failed": ["restart it"]}}),
    ],
    ids=("task", "verdict", "way", "error", "feedback", "agent", "user", "doubt", "origin", "attempt"),
)
def test_what_says_anything_else_is_listed(other: Outcome) -> None:
    found = slice_of(_outcome(), other)

    assert _tags(found) == ["O1", "O2"]
    assert "more like it" not in found.to_prompt()


def test_different_errors_are_listed_each_once() -> None:
    failed = [_outcome(f"Deploy build {number}", outcome="failure", error_message=f"port {number % 2}") for number in range(6)]

    found = slice_of(*failed)

    assert _tags(found) == ["O1", "O2"]
    assert found.to_prompt().count("(and 2 more like it)") == 2
