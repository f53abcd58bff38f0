"""From a rule to the outcomes that it was learned from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA, MemoryNotFoundError


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as alma:
        yield alma


def test_a_heuristic_names_the_outcomes_it_was_learned_from_and_no_others(shop: ALMA) -> None:
    made = [
        shop.learn(agent="dev", task=f"Deploy service {number}", task_type="deploy", outcome="success", strategy_used=strategy)
        for number, strategy in enumerate(["Blue-green", "blue green", "Canary", "Blue-green!"])
    ]
    (rule,) = shop.list_memories(kind="heuristic")
    shop.forget(memory_ids=[made[0].id])

    assert [outcome.id for outcome in shop.outcomes_behind(rule.id)] == [made[3].id, made[1].id, made[0].id]
    assert [outcome.id for outcome in shop.outcomes_behind(rule.id, limit=1)] == [made[3].id]


def test_a_rule_that_somebody_stated_was_learned_from_nothing(shop: ALMA) -> None:
    stated = shop.add_heuristic("dev", "deploying", "Blue-green")

    assert shop.outcomes_behind(stated.id) == []


def test_a_rule_that_is_not_there_has_no_outcomes(shop: ALMA) -> None:
    with pytest.raises(MemoryNotFoundError, match="nothing"):
        shop.outcomes_behind("nothing")
