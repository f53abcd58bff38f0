"""What is said of strategies and tasks when somebody asks."""

import pytest

from alma import ALMA
from alma.learning.ledger import MOST_CLASSES, MOST_STRATEGIES
from facade import OpenStore

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


def test_a_strategy_that_was_tried_in_these_words_is_known_however_many_others_were(alma: ALMA) -> None:
    alma.learn("dev", TASK, "success", "canary")
    learn_many(alma, MOST_STRATEGIES + 20, same=TASK)

    found = alma.assess("Canary!", TASK, "dev")

    assert (found.successes, found.trials, found.verdict) == (1, 1, "undecided")


def test_the_verdict_is_that_of_the_class_which_weighs_most(alma: ALMA) -> None:
    alma.learn("dev", f"{TASK} now", "unverified", "canary", task_type="now")
    alma.learn_many([{"agent": "dev", "task": TASK, "outcome": "success", "strategy_used": "canary", "task_type": "ship"}] * 5)

    found = alma.assess("canary", f"{TASK} now", "dev")

    assert found.trials > 2
    assert found.verdict == "works"


def test_an_agents_own_record_counts_for_more_than_that_of_others(open_store: OpenStore) -> None:
    team = open_store(agents={"senior": {"share_with": ["junior"]}, "junior": {"inherit_from": ["senior"]}})
    for _ in range(5):
        team.learn("senior", TASK, "failure", "canary")
    told = team.assess("canary", TASK, "junior")
    for _ in range(9):
        team.learn("junior", TASK, "success", "canary")
    known = team.assess("canary", TASK, "junior")

    assert (told.successes, told.trials, told.verdict) == (0, 2.5, "fails")
    assert (known.successes, known.trials, known.verdict) == (9, 9, "works")


@pytest.mark.parametrize("task_type", [None, "ship"])
def test_what_was_learned_is_known_when_its_outcomes_are_forgotten(alma: ALMA, task_type: str | None) -> None:
    made = [alma.learn("dev", TASK, "success", "canary", task_type=task_type) for _ in range(6)]
    alma.forget(memory_ids=[outcome.id for outcome in made])

    found = alma.assess(context=TASK, agent="dev")

    assert found.trials == pytest.approx(6, rel=0.01)
    assert found.confidence_score > 0.8


def test_a_single_outcome_is_known_when_it_is_forgotten(alma: ALMA) -> None:
    alma.forget(memory_ids=[alma.learn("dev", TASK, "failure", "canary").id])

    assert alma.assess(context=TASK, agent="dev").trials == 1


def test_a_task_that_always_failed_seems_to_fail(alma: ALMA) -> None:
    learn_many(alma, 50, same=TASK)
    alma.learn_many([{"agent": "dev", "task": "Feed the cat", "outcome": "success"}] * 50)
    alma.learn("dev", "Paint a house", "success")

    assert alma.assess(context=TASK, agent="dev").verdict == "seems to fail"
    assert alma.assess(context="Feed the cat", agent="dev").recommendation == "such tasks succeed more often than not"
    assert alma.assess(context="Paint a house", agent="dev").verdict == "undecided"


def test_what_is_only_better_than_bad_others_is_said_to_fail_more_often_than_not(alma: ALMA) -> None:
    learn_many(alma, 60, same=TASK)
    alma.learn_many(
        [{"agent": "dev", "task": TASK, "outcome": how, "strategy_used": "canary"} for how in ["failure"] * 15 + ["success"] * 5]
    )

    found = alma.assess("canary", TASK, "dev")

    assert (found.successes, found.trials, found.verdict) == (5, 20, "works")
    assert found.recommendation == "better than the others, but it fails more often than not"
    assert found.recommendation in str(found)


def test_what_is_only_worse_than_good_others_is_said_to_succeed_more_often_than_not(alma: ALMA) -> None:
    alma.learn_many([{"agent": "dev", "task": TASK, "outcome": "success", "strategy_used": "blue-green"}] * 60)
    alma.learn_many(
        [{"agent": "dev", "task": TASK, "outcome": how, "strategy_used": "canary"} for how in ["success"] * 15 + ["failure"] * 5]
    )

    assert alma.assess("canary", TASK, "dev").recommendation == "worse than the others, but it succeeds more often than not"


def test_who_names_the_type_is_told_what_is_known_of_it_however_unlike_the_task(alma: ALMA) -> None:
    for _ in range(4):
        alma.learn("dev", "Ship the shop", "success", "blue-green", task_type="deploy")

    unnamed = alma.assess("blue-green", context="Zebra crossing", agent="dev")
    named = alma.assess("blue-green", context="Zebra crossing", agent="dev", task_type="Deploy")

    assert (unnamed.is_known, named.trials, named.verdict) == (False, 4, "works")
