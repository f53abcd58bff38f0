"""From a rule to the outcomes that it was learned from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA, MemoryNotFoundError
from facade import OpenStore, StoredIn


@pytest.fixture
def shop(tmp_path: Path, stored_in: StoredIn) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", **stored_in(tmp_path / "store")) as alma:
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


def test_a_rule_is_shown_where_its_evidence_is_near_and_says_why_not_elsewhere(open_store: OpenStore) -> None:
    alma = open_store(embedding_provider="minilm")
    for task in ("Deploy auth service", "Deploy the billing API", "Deploy the search service"):
        alma.learn("dev", task, "success", "blue-green deployment")
    (rule,) = alma.retrieve("Deploy the cart service", "dev").heuristics
    assert (rule.success_count, rule.occurrence_count, rule.metadata["tasks"]) == (3, 3, 3)
    nothing = alma.retrieve("Water the plants", "dev")
    assert nothing.heuristics == []
    assert nothing.to_prompt(says_if_empty=True) == "ALMA memory: nothing is known for such tasks."
    assert "the outcomes behind it are on other tasks" in str(alma.explain_retrieval("Water the plants", rule.id, "dev"))


def test_a_purge_leaves_nothing_of_what_rules_were_told(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    given = {"agent": "dev", "task_type": "job"}
    for task in ("one", "two"):
        alma.learn(task=task, outcome="failure", strategy_used="rolling update", **given)
    told = alma.learn(
        task="three", outcome="failure", strategy_used="rolling update", error_message="zebrafish in quarantine", **given
    )
    better = [alma.learn(task=f"b{n}", outcome="success", strategy_used="walrus method", **given) for n in range(8)]
    for number in range(4):
        alma.learn(task=f"c{number}", outcome="failure", strategy_used="rolling update", **given)
    (warning,) = alma.retrieve("two", "dev", task_type="job").anti_patterns
    assert (warning.why_bad, warning.better_alternative) == ("zebrafish in quarantine", "walrus method")
    alma.forget(memory_ids=[told.id, *(one.id for one in better)], purge=True)
    alma.compact()
    assert alma.verify().ok
    alma.close()
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"zebrafish" not in left
    assert b"walrus" not in left
