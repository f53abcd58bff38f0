"""Intervals hold what they promise, and nothing is proven where nothing differs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma_learning.estimate import bound, weigh
from alma_learning.linkage import NEVER, link_groups
from alma_learning.proof import log_e, prove
from learning_worlds import make_trial


def draw_way(chance, kind):
    """Trials of one way, and its rate now."""
    rate, count, trials, task = chance.uniform(0.05, 0.95), int(chance.integers(3, 40)), [], 0
    before = np.clip(rate + (0.2 if rate < 0.5 else -0.2), 0, 1)
    while len(trials) < count:
        task += 1
        of_task = chance.beta(1.5 * rate, 1.5 * (1 - rate)) if kind == "retries" else rate
        told = chance.random() < rate
        for _ in range(int(chance.integers(1, 5)) if kind in ("retries", "told again") else 1):
            now = before if kind == "drift" and 2 * len(trials) < count else of_task
            is_success = told if kind == "told again" else chance.random() < now
            trials.append(make_trial(len(trials), f"task {task}", worth=float(is_success)))
    return trials, rate


@pytest.mark.parametrize("kind", ["plain", "retries", "told again", "drift"])
def test_an_interval_covers_the_rate_in_nine_of_ten_ways(kind):
    chance = np.random.default_rng(5)
    ways = [draw_way(chance, kind) for _ in range(600)]
    weighed = [weigh(trials, None) for trials, _ in ways]
    effective = np.array([each.effective for each in weighed])
    lower, upper, _ = bound(np.array([each.successes / each.trials for each in weighed]) * effective, effective)
    rates = np.array([rate for _, rate in ways])
    assert np.mean((lower <= rates) & (rates <= upper)) >= 0.89


@pytest.mark.parametrize(
    ("successes", "trials", "lower", "upper"),
    [
        (0, 0, 0, 1),
        (0, 1, 0, 0.8533),
        (3, 5, 0.2094, 0.9056),
        (7, 10, 0.3942, 0.9073),
        (0, 20, 0, 0.1166),
        (50, 100, 0.4032, 0.5968),
    ],
)
def test_bounds_are_the_quantiles_of_the_posterior(successes, trials, lower, upper):
    found = bound(np.array([successes, trials - successes], dtype=float), np.array([trials, trials], dtype=float))
    assert found[0] == pytest.approx([lower, 1 - upper], abs=0.002)
    assert found[1] == pytest.approx([upper, 1 - lower], abs=0.002)


def test_runs_of_one_task_or_session_are_worth_less_than_as_many_tasks():
    tasks = weigh([make_trial(n, f"task {n}") for n in range(6)], None).effective
    retries = weigh([make_trial(n, "task") for n in range(6)], None).effective
    session = weigh([make_trial(n, f"task {n}", session="s") for n in range(6)], None).effective
    assert retries == pytest.approx(session)
    assert 1 < retries < tasks / 3


def test_newer_trials_weigh_more():
    fell = weigh([make_trial(n, f"task {n}", worth=float(n < 8)) for n in range(16)], None)
    assert fell.successes / fell.trials == pytest.approx(1 / 3)


def test_an_e_value_is_at_most_one_on_average_where_nothing_differs():
    chance = np.random.default_rng(2)
    drawn = []
    for _ in range(4_000):
        trials, rate = chance.integers(3, 30, 3).astype(float), chance.uniform(0.1, 0.9)
        successes = chance.binomial(trials.astype(int), rate).astype(float)
        drawn.append(np.exp(log_e(successes, trials - successes)))
    assert np.mean(drawn) <= 1


def test_looking_after_every_vote_seldom_proves_what_is_not_so():
    chance, false = np.random.default_rng(3), 0
    for _ in range(200):
        rate, votes = chance.uniform(0.1, 0.9), [[], [], []]
        for _ in range(60):
            votes[chance.integers(3)].append(float(chance.random() < rate))
            if any(map(any, prove(votes, 1))):
                false += 1
                break
    assert false <= 2


def test_what_differs_clearly_is_proven_on_three_tasks_at_least():
    assert prove([[1.0] * 20, [0.0] * 20], 2) == ([True, False], [False, True])
    assert prove([[1.0] * 2, [0.0] * 60], 1)[0] == [False, False]
    assert prove([[1.0] * 60], 1) == ([False], [False])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 9), st.booleans())
def test_linkage_joins_as_a_search_of_all_pairs_does(seed, count, is_complete):
    chance = np.random.default_rng(seed)
    alike = chance.normal(size=(count, count))
    alike = np.round(alike + alike.T, 3)
    alike[(pair := chance.random((count, count)) < 0.1) | pair.T] = NEVER
    groups = [[place] for place in range(count)]

    def of(one, other):
        block = alike[np.ix_(one, other)]
        return NEVER if (block == NEVER).any() else block.min() if is_complete else block.mean()

    while len(groups) > 1:
        score, a, b = max((of(groups[i], groups[j]), -i, -j) for i in range(len(groups)) for j in range(i + 1, len(groups)))
        if score < 0.2:
            break
        groups[-a] += groups.pop(-b)
    found = link_groups(alike, 0.2, sizes=None if is_complete else [1.0] * count)
    assert sorted(map(sorted, found)) == sorted(map(sorted, groups))
