import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks.simulation import interval_coverage, policies, regrets
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.projection_policy import ProjectionPolicy
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
def test_an_estimate_that_is_followed_beats_chance(typed: bool) -> None:
    embedder = CachedEmbedder("minilm")
    makers = {"random": regrets.baselines(embedder)["random"], "estimate": regrets.by_projection(embedder, typed=typed)}

    found = regrets.measured([world(vocabulary("office"), Kind(tasks=150), seed) for seed in range(2)], makers, 0)

    assert sum(found["estimate"]) < sum(found["random"])


def test_a_strategy_that_worked_on_such_tasks_is_chosen_again_and_one_that_failed_is_not(embedder: CachedEmbedder) -> None:
    policy = ProjectionPolicy(embedder.embed, np.random.default_rng(0), typed=True)
    for number in range(6):
        policy.record(f"task {number}", 0, "restart the whole service now", True)
        policy.record(f"task {number}", 0, "call the customer", False)
        policy.record(f"task {number}", 1, "call the customer", True)

    offered = ("call the customer", "restart the whole service now", "wait")
    assert [policy.choose("another", intent, offered) for intent in (0, 1)] == [offered[1], offered[0]]


@pytest.mark.parametrize("maker", [{"typed": True}, {"typed": False}, {"prompt": True}])
def test_the_public_calls_are_followed_through_a_world(embedder: CachedEmbedder, maker: dict[str, bool]) -> None:
    where = world(vocabulary("office"), Kind(tasks=15), 0)

    found = regrets.measured([where], {"public": regrets.by_public_calls(embedder, **maker)}, 0)

    assert 0 < found["public"][0] < 15


@pytest.mark.slow
def test_cases_of_coverage_are_what_they_say() -> None:
    independent, retries, twice, drift = zip(*(interval_coverage.cases(0, number) for number in range(120)), strict=True)

    assert _correlation_within(retries, 5) == pytest.approx(0.5, abs=0.06)
    assert _correlation_within(twice, 2) == pytest.approx(1)
    for case in (*independent, *drift):
        assert len({event.task for event in case.events}) == len(case.events)
        assert all(0 < rate < 1 for rate in case.truth.values())


def _correlation_within(cases: Sequence[interval_coverage.Case], runs: int) -> float:
    """The mean product of two runs of a task about the true rate, as a share of the mean square."""
    centred = np.array([event.succeeded - case.truth[event.strategy] for case in cases for event in case.events]).reshape(
        -1, runs
    )
    squares = (centred**2).sum()
    return float(((centred.sum(axis=1) ** 2).sum() - squares) / (runs - 1) / squares)


def test_an_interval_that_holds_the_truth_counts_and_a_missing_row_does_not(embedder: CachedEmbedder) -> None:
    events = [interval_coverage.Event(f"Job {number}", "amber", number % 2 == 0) for number in range(40)]
    case = interval_coverage.Case("retries", events, {"amber": 0.5, "cobalt": 0.5})

    (lower, upper), _ = interval_coverage.bounds(case, embedder.embed)
    found = interval_coverage.coverage([case], embedder.embed)

    assert lower < 0.5 < upper
    assert [one.share for one in found["retries"]] == [0.5]


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
