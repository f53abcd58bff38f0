"""What is said of strategies and tasks when somebody asks."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from alma import ALMA
from alma.errors import ValidationError
from alma.learning.consulting import MOST_STRATEGIES, Consulted
from alma.learning.ledger import MOST_CELLS
from alma.learning.sameness import BY_VECTORS
from alma.memory.recall.strategies import shown_rows
from facade import OpenStore

TASK = "Deploy the auth service"


def learn_many(alma: ALMA, count: int, *, same: str = "", times: int = 1) -> None:
    """As many failures, each of a way of its own, for tasks of their own or for the same."""
    alma.learn_many(
        [
            {"agent": "dev", "task": same or f"{_word(number)} it", "outcome": "failure", "strategy_used": _word(number)}
            for number in range(count)
            for _ in range(times)
        ]
    )


def _word(number: int) -> str:
    return "".join(chr(97 + int(digit)) * 4 for digit in f"{number:03}")


@pytest.mark.parametrize(("near", "shown"), [((2.0, 0.0), 0), ((2.0, 1.0), 1), ((0.0, 0.0), 1)])
def test_a_row_with_counts_of_near_tasks_has_words_that_were_tried_on_these(near: tuple[float, float], shown: int) -> None:
    """Of two wordings of one way the second is expected to do better, by tasks that are less near."""
    advice = SimpleNamespace(own_trials=np.array(near), trials=np.array([2.5, 2.5]), expected=np.array([0.2, 0.6]))
    counts = SimpleNamespace(rows=np.array([[0.0, 2.0], [0.0, 3.0]]))
    known = SimpleNamespace(
        texts=["one way", "the same in other words"],
        same=np.full((2, 2), BY_VECTORS),
        cells=np.array([0, 1]),
        cell_rows=np.array([0, 1]),
        cell_weights=np.array([1.0, 0.2]),
        side=SimpleNamespace(counts=counts),
        advice=advice,
    )
    assert list(shown_rows(cast("Consulted", known))) == [shown]


def test_a_row_of_what_mostly_works_has_words_that_worked() -> None:
    """The first of three wordings was tried on the nearest task, and failed there."""
    advice = SimpleNamespace(own_trials=np.ones(3), trials=np.full(3, 2.7), expected=np.full(3, 0.65))
    known = SimpleNamespace(
        texts=["read a.csv", "read b.csv", "read c.csv"],
        same=np.full((3, 3), BY_VECTORS),
        cells=np.arange(3),
        cell_rows=np.arange(3),
        cell_weights=np.array([1.0, 0.8, 0.9]),
        side=SimpleNamespace(counts=SimpleNamespace(rows=np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]))),
        advice=advice,
    )
    assert list(shown_rows(cast("Consulted", known))) == [2]


@pytest.mark.slow
def test_what_was_tried_more_than_once_is_told_however_many_single_attempts_came_after(alma: ALMA) -> None:
    for _ in range(3):
        alma.learn("dev", "Ship the shop", "success", "blue-green", task_type="deploy")
        alma.learn("dev", TASK, "success", "canary")
        alma.learn("dev", "Paint the house", "unverified", "oil")
    learn_many(alma, MOST_CELLS + 20)

    assert [row.strategy for row in alma.strategies("Ship the shop", "dev")] == ["blue-green"]
    assert [row.strategy for row in alma.strategies(agent="dev", task_type="Deploy")] == ["blue-green"]
    assert [row.strategy for row in alma.strategies(TASK, "dev")] == ["canary"]
    assert [row.unverified for row in alma.strategies("Paint the house", "dev")] == [3]


def test_what_little_is_known_of_is_drawn_to_all_that_the_agent_did(alma: ALMA) -> None:
    alma.learn_many([{"agent": "dev", "task": TASK, "outcome": "success", "strategy_used": "canary"}] * 128)
    alma.learn_many([{"agent": "dev", "task": "Sell the shop", "outcome": "failure", "strategy_used": "by hand"}] * 128)

    assert alma.assess(context="Feed a cat", agent="dev").confidence_score == pytest.approx(0.5)


@pytest.mark.slow
def test_a_strategy_that_was_tried_in_these_words_is_known_however_many_others_were(alma: ALMA) -> None:
    alma.learn("dev", TASK, "success", "canary")
    learn_many(alma, MOST_STRATEGIES + 20, same=TASK, times=2)

    found = alma.assess("Canary!", TASK, "dev")

    assert (found.successes, found.trials, found.verdict) == (1, 1, "undecided")


def test_a_task_that_was_recorded_with_a_type_is_judged_by_all_of_that_type(alma: ALMA) -> None:
    alma.learn("dev", f"{TASK} now", "unverified", "canary", task_type="ship")
    for number in range(5):
        alma.learn("dev", f"Bring it out {_word(number)}", "success", "canary", task_type="ship")

    named, unnamed = (alma.assess("canary", f"{TASK} now", "dev", task_type=kind) for kind in ("Ship", None))

    assert (named.successes, named.trials) == (unnamed.successes, unnamed.trials) == (5, 5)
    assert named.verdict == unnamed.verdict == "seems to work"


def test_of_another_type_nothing_is_known_however_alike_the_task_is(alma: ALMA) -> None:
    alma.learn_many([{"agent": "dev", "task": TASK, "outcome": "success", "strategy_used": "canary", "task_type": "ship"}] * 5)

    assert alma.assess("canary", f"{TASK} now", "dev", task_type="review").is_known is False
    assert alma.assess("canary", TASK, "dev", task_type="review").is_known is False


def test_an_agents_own_record_counts_for_more_than_that_of_others(open_store: OpenStore) -> None:
    team = open_store(agents={"senior": {"share_with": ["junior"]}, "junior": {"inherit_from": ["senior"]}})
    for _ in range(5):
        team.learn("senior", TASK, "failure", "canary")
    told = team.assess("canary", TASK, "junior")
    for _ in range(9):
        team.learn("junior", TASK, "success", "canary")
    known = team.assess("canary", TASK, "junior")

    assert (told.successes, told.trials, told.verdict) == (0, 5, "seems to fail")
    assert (known.successes, known.trials, known.verdict) == (9, 9, "seems to work")


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

    assert (found.successes, found.trials, found.verdict) == (5, 20, "seems to work")
    assert found.recommendation == "better than the others, but it fails more often than not"
    assert found.recommendation in str(found)


def test_what_is_only_worse_than_good_others_is_said_to_succeed_more_often_than_not(alma: ALMA) -> None:
    alma.learn_many([{"agent": "dev", "task": TASK, "outcome": "success", "strategy_used": "blue-green"}] * 60)
    alma.learn_many(
        [{"agent": "dev", "task": TASK, "outcome": how, "strategy_used": "canary"} for how in ["success"] * 15 + ["failure"] * 5]
    )

    assert alma.assess("canary", TASK, "dev").recommendation == "worse than the others, but it succeeds more often than not"


def test_who_names_the_type_is_told_what_is_known_of_it_however_unlike_the_task(alma: ALMA) -> None:
    for number in range(4):
        alma.learn("dev", f"Ship the shop {_word(number)}", "success", "blue-green", task_type="deploy")

    unnamed = alma.assess("blue-green", context="Zebra crossing", agent="dev")
    named = alma.assess("blue-green", context="Zebra crossing", agent="dev", task_type="Deploy")

    assert (unnamed.is_known, named.trials, named.verdict) == (False, 4, "seems to work")


def test_four_runs_of_one_task_say_less_of_another_than_four_tasks_do(alma: ALMA) -> None:
    for _ in range(4):
        alma.learn("dev", "Ship the shop", "success", "blue-green", task_type="deploy")

    other = alma.assess("blue-green", "Zebra crossing", "dev", task_type="Deploy")
    own = alma.assess("blue-green", "Ship the shop", "dev", task_type="Deploy")

    assert (other.trials, own.trials) == (4, 4)
    assert other.interval.upper - other.interval.lower > own.interval.upper - own.interval.lower + 0.2


def test_an_assessment_has_the_counts_of_the_row_of_its_strategy(alma: ALMA) -> None:
    for task in ("Ship the shop", "Ship the shop", "Ship the blog"):
        alma.learn("dev", task, "success", "blue-green", task_type="deploy")

    (row,) = alma.strategies("Ship the wiki", "dev", task_type="deploy")
    found = alma.assess("blue-green", "Ship the wiki", "dev", task_type="deploy")

    assert (found.successes, found.trials) == (row.successes, row.trials) == (3, 3)
    assert "3 of 3" in str(found)


def test_what_others_tried_is_in_no_count_once_the_reader_tried_it_three_times(open_store: OpenStore) -> None:
    """It has no part in the interval either, so the rate of a row lies within it."""
    team = open_store(agents={"senior": {"share_with": ["junior"]}, "junior": {"inherit_from": ["senior"]}})
    for number in range(6):
        team.learn("senior", f"Ship part {number}", "failure", "canary", task_type="ship")
    for number in range(3):
        team.learn("junior", f"Ship piece {number}", "success", "canary", task_type="ship")

    (row,) = team.strategies(TASK, "junior", task_type="ship")

    assert (row.successes, row.trials, row.tasks) == (3, 3, 3)
    assert row.interval.lower <= row.rate <= row.interval.upper


def test_the_table_says_where_the_best_of_bad_strategies_fails_more_often_than_not(alma: ALMA) -> None:
    for number in range(12):
        alma.learn("dev", f"Ship part {number}", "failure", "by hand", task_type="ship")
        alma.learn("dev", f"Ship part {number}", number % 4 == 0, "canary", task_type="ship")

    first, *_ = alma.strategies("Ship the shop", "dev", task_type="ship")
    prompt = alma.retrieve("Ship the shop", "dev", task_type="ship").to_prompt()

    assert first.summary.endswith("; better than the others, but it fails more often than not")
    assert "candidate; failed more often than not, but less often than the others)" in prompt


def test_a_way_that_works_no_more_is_left_by_who_follows_the_first_row(alma: ALMA) -> None:
    for number in range(60):
        alma.learn("dev", f"Ship part {number}", number % 10 > 0, "canary", task_type="ship")
    for number in range(8):
        alma.learn("dev", f"Ship piece {number}", number % 2 == 0, "blue-green", task_type="ship")
    assert alma.strategies(agent="dev", task_type="ship")[0].strategy == "canary"

    for number in range(12):
        alma.learn("dev", f"Ship crate {number}", "failure", "canary", task_type="ship")

    assert alma.strategies(agent="dev", task_type="ship")[0].strategy == "blue-green"


def test_rows_of_a_table_have_places(alma: ALMA) -> None:
    alma.learn("dev", TASK, "success", "canary")
    assert alma.strategies(TASK, "dev")[0].strategy == "canary"


def test_a_strategy_that_was_used_on_harder_tasks_is_not_called_worse(alma: ALMA) -> None:
    """Both worked 18 of 30 times, but the one mostly on hard tasks."""
    tried = [("strong", "hard", 20, 8), ("weak", "hard", 10, 2), ("strong", "easy", 10, 10), ("weak", "easy", 20, 16)]
    for strategy, difficulty, trials, successes in tried:
        alma.learn_many(
            {
                "agent": "dev",
                "task": f"{difficulty} job {strategy} {number}",
                "outcome": number < successes,
                "strategy_used": strategy,
                "task_type": "job",
                "difficulty": difficulty,
            }
            for number in range(trials)
        )
    rows = {row.strategy: row for row in alma.strategies(agent="dev", task_type="job")}
    assert rows["strong"].rate == rows["weak"].rate == 0.6
    assert rows["strong"].lift == pytest.approx(0.2)
    assert rows["weak"].lift == pytest.approx(-0.2)


def test_a_strategy_that_was_tried_on_less_similar_tasks_alone_is_said_to_be(open_store: OpenStore) -> None:
    """Its counts look clear, but no task is near enough for a verdict: so the sentence says why there is none."""
    alma = open_store(embedding_provider="minilm")
    for number, service in enumerate(["auth", "mail", "billing", "search", "cart", "chat"] * 2):
        alma.learn("dev", f"Deploy the {service} service to {'production' if number < 6 else 'Europe'}", "success", "blue-green")

    (far,) = alma.strategies("Publish the mobile app to the store", "dev")
    (near,) = alma.strategies("Deploy the mail service to production", "dev")

    assert (far.verdict, far.tasks, far.successes == far.trials > 0) == ("undecided", 0, True)
    assert far.summary.startswith(
        f"blue-green: undecided, tried only on less similar tasks: {far.trials:g} of {far.trials:g} by weight ("
    )
    assert near.summary.startswith("blue-green: seems to work, 1")
    assert "too little or too mixed to say" in alma.assess("blue-green", "Publish the mobile app to the store", "dev").summary


def test_with_a_seed_the_first_row_is_the_same_however_many_rows_are_asked_for(alma: ALMA) -> None:
    failed = ["rolling update", "restart the pods", "edit it by hand"]
    for way in failed:
        alma.learn("dev", TASK, "failure", way)
    never = ["blue-green", "canary", "shadow traffic"]

    firsts = []
    for seed in range(300):
        whole, one = (alma.strategies(TASK, "dev", among=[*failed, *never], seed=seed, limit=limit) for limit in (20, 1))
        assert whole.rows[0] == one.rows[0]
        assert one.rows[0].propensity == pytest.approx(1 / 3)
        firsts.append(one.rows[0].strategy)

    assert {*firsts} == {*never}
    assert all(70 <= firsts.count(way) <= 130 for way in never)


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_any_seed_of_64_bits_will_do(alma: ALMA, seed: int) -> None:
    alma.learn("dev", TASK, "success", "blue-green")

    assert alma.strategies(TASK, "dev", seed=seed).rows[0].propensity == 1.0
    for wrong in (-1, 2**64):
        with pytest.raises(ValidationError, match="seed"):
            alma.strategies(TASK, "dev", seed=wrong)


def test_a_row_names_no_rule_that_holds_no_more(alma: ALMA) -> None:
    for _ in range(3):
        alma.learn("dev", TASK, "failure", "blue-green")
    (row,) = alma.strategies(TASK, "dev")
    assert row.anti_pattern_id is not None
    assert alma.get(row.anti_pattern_id).kind == "anti_pattern"

    for _ in range(20):
        alma.learn("dev", TASK, "success", "blue-green")

    (row,) = alma.strategies(TASK, "dev")
    assert row.anti_pattern_id is None
    assert row.heuristic_id is not None
    assert alma.get(row.heuristic_id).kind == "heuristic"
