"""What is said of strategies and tasks when somebody asks."""

import pytest

from alma import ALMA
from alma.learning.ledger import MOST_CLASSES

TASK = "Deploy the auth service"


def learn_many(alma: ALMA, count: int, *, same: str = "") -> None:
    """As many failures, each of a way of its own, for tasks of their own or for the same."""
    alma.learn_many(
        [
            {"agent": "dev", "task": same or f"{_word(number)} it", "outcome": "failure", "strategy_used": _word(number)}
            for number in range(count)
        ]
    )


def _word(number: int) -> str:
    return "".join(chr(97 + int(digit)) * 4 for digit in f"{number:03}")


def test_classes_with_rules_and_such_as_a_type_names_are_told_however_many_came_after(alma: ALMA) -> None:
    for _ in range(3):
        alma.learn("dev", "Ship the shop", "success", "blue-green", task_type="deploy")
        alma.learn("dev", TASK, "success", "canary")
        alma.learn("dev", "Paint the house", "unverified", "oil")
    alma.learn("dev", "Sell the shop", "success", "auction", task_type="sale")
    learn_many(alma, MOST_CLASSES + 20)

    told = {row.strategy for row in alma.strategies(agent="dev", limit=1_000)}
    assert {"blue-green", "canary"} <= told
    assert [row.strategy for row in alma.strategies(agent="dev", task_type="Sale")] == ["auction"]


def test_what_little_is_known_of_is_drawn_to_all_that_the_agent_did(alma: ALMA) -> None:
    alma.learn_many([{"agent": "dev", "task": TASK, "outcome": "success", "strategy_used": "canary"}] * MOST_CLASSES)
    learn_many(alma, MOST_CLASSES)

    assert alma.assess(context="Feed a cat", agent="dev").confidence_score == pytest.approx(0.5)
