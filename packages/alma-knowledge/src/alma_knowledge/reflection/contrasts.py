"""Differences between successful and failed runs of one kind of task: actions that go with success, or with failure, more than chance explains."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05
"""Probability that a reflection finds any difference where none is."""

MOST_LESSONS = 3
"""Differences of one kind of task."""

LEAST_RUNS = 4
"""Runs with an action, and runs without it, below which nothing is said of it."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Run:
    """One judged attempt: the id of its outcome, its task, its actions in order, and whether it succeeded.

    `task` is equal for retries of one task. `said` is the run in words, as a language model reads it. An `is_doubtful` run is suspicious: it is
    counted, and never quoted.
    """

    id: str
    task: str
    text: str
    actions: tuple[str, ...]
    keys: frozenset[str]
    is_success: bool
    said: str = ""
    is_doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """An action that goes with success (`is_good`) or with failure. `with_it` and `without_it` are successes and runs; `p` is two-sided."""

    key: str
    is_good: bool
    with_it: tuple[int, int]
    without_it: tuple[int, int]
    p: float


def find_differences(kinds: Sequence[Sequence[Run]]) -> list[list[Difference]]:
    """Returns the differences within each kind of task, the clearest first, at most `MOST_LESSONS` of each.

    An action is tested by `compute_p`, at a level divided by the number of tests of all kinds that could reach it (Tarone 1990, "A modified
    Bonferroni method for discrete data", Biometrics 46). Once a difference is found the others are tested among runs that are alike in it, so
    that what only accompanies it is not found, too.
    """
    having = [_find_actions(runs) for runs in kinds]
    least = [_test(runs, ids, ())[1] for runs, actions in zip(kinds, having, strict=True) for ids in actions.values()]
    level = LEVEL / _count_reachable(least)
    return [_find(runs, actions, level) for runs, actions in zip(kinds, having, strict=True)]


def compute_p(strata: Iterable[tuple[int, int, int, int]]) -> tuple[float, float]:
    """Returns the two-sided p-value that success is independent of an action within strata, and the least that it could be.

    A stratum is successes and runs with the action, successes and runs without. Given its margins the number of successes with the action is
    hypergeometric (Fisher 1935, "The logic of inductive inference"), and the sum over strata the exact conditional test of Gart 1970, "Point and
    interval estimation of the common odds ratio", Biometrika 57. Twice the smaller tail.
    """
    mass, seen = np.ones(1), 0
    for won, runs, others_won, others in strata:
        lowest, part = _hypergeometric(runs, others, won + others_won)
        mass, seen = np.convolve(mass, part), seen + won - lowest
    below, above = float(mass[: seen + 1].sum()), float(mass[seen:].sum())
    return min(1.0, 2 * min(below, above)), min(1.0, 2 * float(min(mass[0], mass[-1])))


def _hypergeometric(runs: int, others: int, successes: int) -> tuple[int, Floats]:
    """Returns the least number of successes with the action, and the probabilities of it and of each greater one."""
    lowest, highest = max(0, successes - others), min(runs, successes)
    whole = _log_choose(runs + others, successes)
    logs = [_log_choose(runs, k) + _log_choose(others, successes - k) - whole for k in range(lowest, highest + 1)]
    return lowest, np.exp(np.array(logs))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _find_actions(runs: Sequence[Run]) -> dict[str, frozenset[str]]:
    """Returns the ids of the runs with each action, one action for each set of runs."""
    found = defaultdict[str, set[str]](set)
    for run in runs:
        for key in run.keys:
            found[key].add(run.id)
    first: dict[frozenset[str], str] = {}
    for key in sorted(found, key=lambda key: (-len(key), key)):
        if LEAST_RUNS <= len(found[key]) <= len(runs) - LEAST_RUNS:
            first.setdefault(frozenset(found[key]), key)
    return {key: ids for ids, key in first.items()}


def _find(runs: Sequence[Run], actions: Mapping[str, frozenset[str]], level: float) -> list[Difference]:
    found: list[Difference] = []
    while len(found) < MOST_LESSONS:
        known = [actions[each.key] for each in found]
        tested = {key: _test(runs, ids, known)[0] for key, ids in actions.items() if ids not in known}
        best = min(tested, key=lambda key: (tested[key], key), default=None)
        if best is None or tested[best] > level:
            break
        found.append(_describe(runs, best, actions[best], tested[best]))
    return found


def _test(runs: Sequence[Run], ids: frozenset[str], known: Sequence[frozenset[str]]) -> tuple[float, float]:
    """Tests an action among runs that are alike in what is known, retries of a task among themselves."""
    retried = Counter(run.task for run in runs)
    counts: dict[Hashable, list[int]] = {}
    for run in runs:
        stratum = (run.task if retried[run.task] > 1 else None, *(run.id in each for each in known))
        count = counts.setdefault(stratum, [0, 0, 0, 0])
        place = 0 if run.id in ids else 2
        count[place] += run.is_success
        count[place + 1] += 1
    return compute_p((each[0], each[1], each[2], each[3]) for each in counts.values())


def _describe(runs: Sequence[Run], key: str, ids: frozenset[str], p: float) -> Difference:
    own = [run.is_success for run in runs if run.id in ids]
    others = [run.is_success for run in runs if run.id not in ids]
    is_good = sum(own) * len(others) > sum(others) * len(own)
    return Difference(key, is_good, (sum(own), len(own)), (sum(others), len(others)), p)


def _count_reachable(least: Sequence[float]) -> int:
    """Returns Tarone's k: the smallest for which at most k tests can reach `LEVEL` / k."""
    return next((k for k in range(1, len(least) + 1) if sum(each <= LEVEL / k for each in least) <= k), max(len(least), 1))
