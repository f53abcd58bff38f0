"""Proofs: the formula, what they need, and that they come at the right rate where nothing differs."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.learning.proof import (
    LEAST_TASKS,
    LEVEL,
    NO_VOTE,
    Votes,
    counted,
    first_votes,
    log_e,
    proofs,
    proven,
)

halves = st.integers(0, 60).map(lambda count: count / 2)
four = st.tuples(halves, halves, halves, halves)


def votes(successes: object, failures: object) -> Votes:
    return Votes(np.array(successes, float), np.array(failures, float))


def textbook(s: float, f: float, others_s: float, others_f: float, *, is_better: bool) -> float:
    """The formula of `log_e`, letter by letter."""

    def beta(a: float, b: float) -> float:
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)

    def largest(a: float, b: float) -> float:
        return sum(x * math.log(x / (a + b)) for x in (a, b) if x)

    averaged = beta(s + 0.5, f + 0.5) + beta(others_s + 0.5, others_f + 0.5) - 2 * beta(0.5, 0.5)
    ahead = (1 if is_better else -1) * (s * others_f - others_s * f)
    apart = largest(s, f) + largest(others_s, others_f)
    return averaged - (largest(s + others_s, f + others_f) if ahead > 0 else apart)


@given(four, st.booleans())
def test_the_e_value_is_that_of_the_textbook(counts: tuple[float, ...], is_better: bool) -> None:
    s, f, others_s, others_f = counts
    better, worse = log_e(votes(s, f), votes(others_s, others_f))
    assert float(better if is_better else worse) == pytest.approx(
        textbook(s, f, others_s, others_f, is_better=is_better), abs=1e-9
    )


@given(four)
def test_worse_is_better_with_successes_and_failures_exchanged(counts: tuple[float, ...]) -> None:
    s, f, others_s, others_f = counts
    both = log_e(votes(s, f), votes(others_s, others_f))
    mirrored = log_e(votes(f, s), votes(others_f, others_s))
    assert both == pytest.approx(mirrored[::-1], abs=1e-9)


@given(st.lists(four, min_size=1, max_size=5))
def test_evidence_of_strata_adds_up(strata: list[tuple[float, ...]]) -> None:
    own, others = np.array(strata)[:, :2].T, np.array(strata)[:, 2:].T
    together = log_e(votes(*own), votes(*others))[0].sum()
    assert together == pytest.approx(sum(textbook(*counts, is_better=True) for counts in strata), abs=1e-8)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.5, 1.0)])
def test_the_expected_e_value_of_two_equal_strategies_is_at_most_one(rate: float, values: tuple[float, ...]) -> None:
    """Exactly, over all ways in which three votes each can fall: half votes too."""
    chances = {0.0: 1 - rate, 1.0: rate} if len(values) == 2 else {0.0: (1 - rate) ** 2, 0.5: 2 * rate * (1 - rate), 1.0: rate**2}
    expected = 0.0
    for fallen in product(values, repeat=6):
        own, others = sum(fallen[:3]), sum(fallen[3:])
        e = math.exp(float(log_e(votes(own, 3 - own), votes(others, 3 - others))[0]))
        expected += e * math.prod(chances[vote] for vote in fallen)
    assert 0.05 < expected <= 1.0


def test_what_always_works_beside_what_never_does_is_proven_both_ways() -> None:
    found = proofs(votes([[20, 0]], [[0, 20]]))
    assert (found.better.tolist(), found.worse.tolist()) == ([[True, False]], [[False, True]])
    assert found.tasks.tolist() == [[20, 20]]


def test_two_tasks_prove_nothing_however_sure_they_are() -> None:
    certain = np.array([50.0, 50.0])
    assert proven(certain, np.array([LEAST_TASKS - 1, LEAST_TASKS])).tolist() == [False, True]


def test_a_hypothesis_on_too_few_tasks_helps_no_other_to_be_proven() -> None:
    bar = math.log(2 / LEVEL)
    enough = bar - math.log(2) + 0.01
    assert proven(np.array([enough, enough]), np.array([3, 3])).tolist() == [True, True]
    assert proven(np.array([enough, enough]), np.array([3, 2])).tolist() == [False, False]


@given(st.lists(st.floats(-5, 12), min_size=1, max_size=30), st.integers(0, 100))
def test_the_k_largest_that_pass_their_bar_are_proven(evidence: list[float], more: int) -> None:
    number = len(evidence) + more
    ordered = sorted(evidence, reverse=True)
    k = max((k for k, e in enumerate(ordered, start=1) if math.exp(e) * k * LEVEL >= number * (1 - 1e-12)), default=0)
    found = proven(np.array([*evidence, *[-100.0] * more]), np.full(number, 9.0))[: len(evidence)]
    assert sorted(np.array(evidence)[found], reverse=True) == ordered[: int(found.sum())]
    assert int(found.sum()) >= k
    assert all(math.exp(e) * found.sum() * LEVEL >= number * (1 - 1e-9) for e in np.array(evidence)[found])


@given(st.lists(st.floats(-5, 12), min_size=1, max_size=30))
def test_what_no_hypothesis_at_all_can_show_is_not_proven_by_a_mean_below_twenty(evidence: list[float]) -> None:
    values = np.array(evidence)
    if np.exp(values).mean() < 1 / LEVEL * (1 - 1e-9):
        assert not proven(values, np.full(len(values), 9.0)).any()


def test_more_strategies_make_proof_harder() -> None:
    few, many = votes([[18, 4]], [[3, 15]]), votes([[18, 4, *[0] * 200]], [[3, 15, *[0] * 200]])
    assert proofs(few).better[0, 0]
    assert not proofs(many).better[0, 0]


def test_harder_tasks_of_told_difficulty_do_not_make_a_strategy_worse() -> None:
    """It is used on hard tasks mostly, and does as well as the other on both sorts."""
    by_difficulty = votes([[[18, 162], [36, 4]]], [[[2, 18], [144, 16]]])
    assert proofs(votes(by_difficulty.successes.sum(axis=1), by_difficulty.failures.sum(axis=1))).worse[0, 0]
    assert not proofs(by_difficulty).worse[0, 0]


def test_only_the_first_vote_of_a_task_and_strategy_counts() -> None:
    vote = np.array([NO_VOTE, 1.0, 0.0, 0.5, 1.0])
    task, strategy = np.array([0, 0, 0, 1, 0]), np.array([0, 0, 0, 0, 1])
    kept = first_votes(vote, task, strategy)
    found = counted(kept, np.zeros(5, int), strategy, strata=1, strategies=2)
    assert found.successes.tolist() == [[1.5, 1.0]]
    assert found.failures.tolist() == [[0.5, 0.0]]


def test_nothing_tried_proves_nothing() -> None:
    empty = proofs(votes(np.zeros((0, 0)), np.zeros((0, 0))))
    assert not empty.better.any()
    assert not proofs(votes(np.zeros((2, 3)), np.zeros((2, 3)))).better.any()


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
def test_where_nothing_differs_hardly_any_world_ever_has_a_proof(rate: float) -> None:
    chance = np.random.default_rng([5, round(100 * rate)])
    worlds, successes, failures = np.arange(400), np.zeros((400, 3)), np.zeros((400, 3))
    ever = np.zeros(400, bool)
    for _ in range(60):
        arm, won = chance.integers(0, 3, 400), chance.random(400) < rate
        successes[worlds, arm] += won
        failures[worlds, arm] += ~won
        evidence = log_e(Votes(successes, failures), Votes(successes, failures).others())
        most = np.where(successes + failures >= LEAST_TASKS, evidence, -np.inf).max(axis=(0, 2))
        hopeful = np.flatnonzero(most >= math.log(1 / LEVEL))
        for world in hopeful:
            found = proofs(Votes(successes[world, None], failures[world, None]))
            ever[world] |= bool(found.better.any() or found.worse.any())
    assert ever.mean() <= LEVEL
