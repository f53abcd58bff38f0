import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks.simulation import interval_coverage, one_strategy, policies, regrets, relevance
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.estimate_policy import EstimatePolicy, Ledger, by_cosine
from benchmarks.simulation.prototype import prototype_advice
from benchmarks.simulation.public_policies import opened
from benchmarks.simulation.told import DEVELOPMENT, FRAMES, JUDGING, unrelated, vocabulary
from benchmarks.simulation.wording_worlds import Gap, Kind, World, world

SHORT = Kind(tasks=40)


@pytest.fixture
def embedder(tmp_path: Path) -> CachedEmbedder:
    return CachedEmbedder("hash", tmp_path)


@pytest.mark.parametrize("name", [*DEVELOPMENT, *JUDGING])
def test_a_vocabulary_has_as_many_wordings_as_it_says_and_none_twice(name: str) -> None:
    words = vocabulary(name)
    told = [wording.lower() for wordings in words.wordings for wording in wordings]

    assert [len(wordings) for wordings in words.wordings] == [12 if name in FRAMES else 30] * 8
    assert all("{name}" in wording for wordings in words.wordings for wording in wordings) is (name in FRAMES)
    assert [len(wordings) for wordings in words.strategies] == [5] * 6
    assert len(set(told)) == len(told)
    assert len(words.tasks(0, 0)) in (1, len(words.names)) == (1, 12)


def test_unrelated_tasks_are_of_no_kindred_vocabulary() -> None:
    found = unrelated("operations")

    assert len(found) >= 40
    assert not set(found) & {task for i in range(8) for j in range(30) for task in vocabulary("debugging").tasks(i, j)}


def test_a_world_is_the_same_for_its_seed_and_keeps_back_a_third_of_the_wordings() -> None:
    words = vocabulary("airline")
    one, again = (world(words, Kind(unseen=1 / 3, tasks=100), 3) for _ in range(2))
    unseen = {task for intent, places in enumerate(one.unseen) for place in places for task in words.tasks(intent, place)}

    assert one == again
    assert [len(places) for places in one.unseen] == [10] * 8
    assert not unseen & {asked.task for asked in one.asked}


def test_a_world_of_fewer_wordings_draws_from_those_alone() -> None:
    words = vocabulary("airline")
    where = world(words, Kind(wordings=2, tasks=200), 0)
    allowed = {task for intent, places in enumerate(where.known) for place in places for task in words.tasks(intent, place)}

    assert [len(places) for places in where.known] == [2] * 8
    assert {asked.task for asked in where.asked} <= allowed


def test_each_intent_has_its_own_best_strategy_by_the_gap() -> None:
    for gap, best, others in ((Gap.WIDE, 0.8, 0.5), (Gap.NARROW, 0.7, 0.55), (Gap.HIGH, 0.95, 0.85)):
        asked = world(vocabulary("office"), Kind(gap, tasks=200), 0).asked
        ranked = [sorted(one.rates) for one in asked]
        assert {rates[-1] for rates in ranked} == {best}
        assert max(rates[-2] for rates in ranked) <= others
        assert {int(np.argmax(one.rates)) for one in asked} == set(range(6))


def test_hard_tasks_are_a_class_of_their_own_at_lower_rates() -> None:
    asked = world(vocabulary("office"), Kind(difficult=True, tasks=200), 0).asked

    assert {max(one.rates) for one in asked if one.told_class < 8} == {0.8}
    assert {round(max(one.rates), 2) for one in asked if one.told_class >= 8} == {0.48}


def test_paraphrased_strategies_are_offered_in_all_their_wordings_each_in_its_place() -> None:
    words = vocabulary("office")
    asked = world(words, Kind(paraphrased=True, tasks=100), 0).asked

    assert all({one.offered[place] for one in asked} == set(words.strategies[place]) for place in range(6))


def test_knowing_the_classes_beats_not_knowing_them_and_that_beats_chance(embedder: CachedEmbedder) -> None:
    makers = regrets.baselines(embedder)
    names = (regrets.THOMPSON, "Thompson, classes unknown", "most recent success", "random")
    worlds = [world(vocabulary("office"), Kind(tasks=300), seed) for seed in range(3)]

    found = regrets.measured(worlds, {name: makers[name] for name in names}, 0)

    known, unknown, recent, chance = (sum(found[name]) for name in names)
    assert known < unknown < min(recent, chance)


def test_one_who_always_takes_the_best_has_no_regret() -> None:
    where = world(vocabulary("office"), SHORT, 0)

    assert policies.regret(_Oracle(where), where) == 0


class _Oracle(policies.Random):
    def __init__(self, where: World) -> None:
        self._best = {asked.told_class: int(np.argmax(asked.rates)) for asked in where.asked}

    def choose(self, task: str, intent: int, offered: object) -> str:
        assert isinstance(offered, tuple)
        return str(offered[self._best[intent]])


def test_the_ratio_of_a_policy_to_itself_is_one_and_of_half_the_regret_a_half() -> None:
    assert regrets.ratio([4.0, 6.0], [4.0, 6.0], 0) == (1, 1, 1)
    assert regrets.ratio([2.0, 3.0], [4.0, 6.0], 0) == (0.5, 0.5, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("typed", [True, False])
def test_an_estimate_that_is_followed_beats_chance(embedder: CachedEmbedder, typed: bool) -> None:
    makers = {"random": regrets.baselines(embedder)["random"]}
    makers["estimate"] = regrets.by_estimate(lambda: prototype_advice, embedder, by_cosine, typed=typed)

    found = regrets.measured([world(vocabulary("office"), Kind(tasks=200), seed) for seed in range(2)], makers, 0)

    assert sum(found["estimate"]) < sum(found["random"])


def test_the_ledger_has_a_cell_for_each_pair_and_discounts_what_came_before(embedder: CachedEmbedder) -> None:
    ledger = Ledger(embedder.embed, by_cosine)
    for task, strategy, worth in (("a", "x", 1), ("a", "y", 0), ("a", "x", 0), ("b", "x", 1)):
        ledger.learn(task, None, strategy, worth)

    found = ledger.experience()

    assert (found.cell_task.tolist(), found.cell_strategy.tolist()) == ([0, 0, 1], [0, 1, 0])
    assert (found.successes.tolist(), found.trials.tolist(), found.vote.tolist()) == ([1, 0, 1], [2, 1, 1], [1, 0, 1])
    assert found.recent_trials.tolist() == pytest.approx([1.93, 1, 1])


def test_an_estimate_policy_takes_a_strategy_for_what_it_is_in_other_words(embedder: CachedEmbedder) -> None:
    policy = EstimatePolicy(prototype_advice, embedder.embed, by_cosine, np.random.default_rng(0), typed=True)
    for number in range(6):
        policy.record(f"task {number}", 0, "restart the whole service now", True)
        policy.record(f"task {number}", 0, "call the customer", False)

    assert policy.choose("another", 0, ("call the customer", "now restart the whole service")) == "now restart the whole service"


@pytest.mark.parametrize("maker", [{"typed": True}, {"typed": False}, {"prompt": True}])
def test_the_public_calls_are_followed_through_a_world(embedder: CachedEmbedder, maker: dict[str, bool]) -> None:
    where = world(vocabulary("office"), Kind(tasks=15), 0)

    found = regrets.measured([where], {"public": regrets.by_public_calls(embedder, **maker)}, 0)

    assert 0 < found["public"][0] < 15


@pytest.mark.slow
def test_relevance_counts_what_is_shown_and_what_of_it_is_of_the_intent(embedder: CachedEmbedder) -> None:
    found = relevance.measured(vocabulary("office"), Gap.WIDE, 0, embedder, tasks=40)

    assert found.queries == 80
    assert found.known_same <= found.known_shown
    assert 0 <= found.same <= found.shown
    assert len(found.foreign) == len(unrelated("office"))


@pytest.mark.slow
def test_cases_of_coverage_are_what_they_say() -> None:
    drawn = [interval_coverage.cases(vocabulary("operations"), 0, number) for number in range(120)]
    retries, twice, drift, difficult = zip(*drawn, strict=True)

    assert _correlation_within(retries, 5) == pytest.approx(0.5, abs=0.06)
    assert _correlation_within(twice, 2) == pytest.approx(1)
    assert all(0 < case.truth["amber"] < 1 and len({event.task for event in case.events}) == len(case.events) for case in drift)
    hard = [event.strategy == "amber" for case in difficult for event in case.events if event.task_type == "hard job"]
    assert np.mean(hard) == pytest.approx(interval_coverage.MOSTLY, abs=0.02)


def _correlation_within(cases: Sequence[interval_coverage.Case], runs: int) -> float:
    """The mean product of two runs of a task about the true rate, as a share of the mean square."""
    centred = np.array([event.succeeded - case.truth[event.strategy] for case in cases for event in case.events]).reshape(
        -1, runs
    )
    squares = (centred**2).sum()
    return float(((centred.sum(axis=1) ** 2).sum() - squares) / (runs - 1) / squares)


def test_an_interval_that_holds_the_truth_counts_and_a_missing_row_does_not(embedder: CachedEmbedder) -> None:
    events = [interval_coverage.Event(f"Job {number}", "job", "amber", number % 2 == 0) for number in range(40)]
    truth = {"amber": 0.5, "cobalt": 0.5}

    case = interval_coverage.Case("retries", events, "Job", "job", truth)

    with opened(embedder) as memory:
        found = interval_coverage.coverage([case], lambda one: interval_coverage.by_public_calls(one, memory, "one"))
        lower, upper = interval_coverage.by_public_calls(case, memory, "another")[0]

    assert lower < 0.5 < upper
    assert [one.share for one in found["retries"]] == [0.5]


def test_one_strategy_in_one_wording_is_one_row_and_a_heuristic(embedder: CachedEmbedder) -> None:
    words = vocabulary("office")
    with opened(embedder) as memory:
        same = one_strategy.merged(memory, "same", words.strategies[0][:1], one_strategy.tasks_of(words))
        different = one_strategy.merged(memory, "different", [wordings[0] for wordings in words.strategies], ["Job"])

    assert (same.is_one, different.is_one, different.rows) == (True, False, 6)


def test_texts_are_embedded_once_and_read_from_the_folder_afterwards(tmp_path: Path) -> None:
    first = CachedEmbedder("hash", tmp_path).embed(["one text", "another", "one text"])
    path = next(path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(np.zeros(first.shape[1], np.float32).tobytes())

    again = CachedEmbedder("hash", tmp_path).embed(["one text", "another"])

    assert (again == 0).all(axis=1).sum() == 1


@pytest.mark.slow
def test_a_quick_run_writes_ratios_and_regrets(
    tmp_path: Path, run_benchmark: Callable[..., object], check_verdict: Callable[..., None]
) -> None:
    out = tmp_path / "out.json"
    options = ("--quick", "--pure", "--embedder", "hash", "--vocabulary", "office", "--json", out)

    done = run_benchmark("simulation.wordings", *options)

    check_verdict(done, out)
    body = json.loads(out.read_text())
    assert set(body["regrets"]) == {f"office, {gap}" for gap in Gap}
    assert {gate["what"].split(" (")[0] for gate in body["gates"]} >= {f"{gap}: the estimate" for gap in Gap}
