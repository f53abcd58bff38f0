"""Proof that a way does better, or worse, than the others of its kind of task: evidence that is valid at every look.

Only whole votes count, one for each task and way: its first, judged by more than an agent's own or an imported word.
"""

import math

import numpy as np

from alma_learning.trials import OWN_WORD, Floats, Trial

LEVEL = 0.05
"""The share of false proofs among proofs, and the probability of any where nothing differs."""

LEAST_TASKS = 3
"""Fewer tasks than this prove nothing, however clear they are."""


def first_votes(trials: list[Trial]) -> list[float]:
    """Returns the worth of the first vote on each task, of trials from the oldest on."""
    votes: dict[str, float] = {}
    for trial in trials:
        if trial.worth is not None and trial.source not in OWN_WORD:
            votes.setdefault(trial.task, trial.worth)
    return list(votes.values())


def prove(votes: list[list[float]], kinds: int) -> tuple[list[bool], list[bool]]:
    """Returns which of the ways of a kind are proven to do better than its others together, and which worse.

    e-BH (Wang and Ramdas 2022, "False discovery rate control with e-values", JRSS B 84), valid whatever the dependence, each of the `kinds` with the
    same share of the weight: the k largest e-values that are at least hypotheses × kinds / (`LEVEL` k).
    """
    successes, trials = np.array([sum(each) for each in votes]), np.array([float(len(each)) for each in votes])
    if not 0 < trials.max(initial=0) < trials.sum():  # a proof compares
        return [False] * len(votes), [False] * len(votes)
    entries = np.where(trials >= LEAST_TASKS, log_e(successes, trials - successes), -np.inf)
    bar = math.log(entries.size * max(kinds, 1) / LEVEL)
    ranked = np.sort(entries, axis=None)[::-1]
    holds = np.flatnonzero(ranked + np.log(np.arange(1, ranked.size + 1)) >= bar)
    found = entries >= (ranked[holds[-1]] if len(holds) else np.inf)
    return found[0].tolist(), found[1].tolist()


def log_e(successes: Floats, failures: Floats) -> Floats:
    """Returns the logarithms of the e-values of "better than the others together" and of "worse", stacked.

    Universal inference (Wasserman, Ramdas and Balakrishnan 2020, "Universal inference", PNAS 117): the likelihood of both rates averaged over
    Jeffreys' prior, a product of predictions made before each vote, over the largest likelihood under "not better". With s, f of the way, S, F of
    the others, B = ln Beta and l(a, b) = a ln(a/(a+b)) + b ln(b/(a+b)):

        ln e = B(s+½, f+½) + B(S+½, F+½) - 2 B(½, ½) - (own rate > theirs ? l(s+S, f+F) : l(s, f) + l(S, F))

    Its expectation is at most 1 at every stopping time and under any way of choosing. Half votes keep that, by convexity.
    """
    other_s, other_f = successes.sum() - successes, failures.sum() - failures
    averaged = _log_average(successes, failures) + _log_average(other_s, other_f)
    apart = _log_best(successes, failures) + _log_best(other_s, other_f)
    pooled = _log_best(successes + other_s, failures + other_f)
    ahead = successes * other_f - other_s * failures
    return np.stack([averaged - np.where(ahead > 0, pooled, apart), averaged - np.where(ahead < 0, pooled, apart)])


def _log_average(won: Floats, lost: Floats) -> Floats:
    rows = zip(won.tolist(), lost.tolist(), strict=True)
    return np.array([math.lgamma(s + 0.5) + math.lgamma(f + 0.5) - math.lgamma(s + f + 1) - math.log(math.pi) for s, f in rows])


def _log_best(won: Floats, lost: Floats) -> Floats:
    tried = np.maximum(won + lost, 1e-12)
    best: Floats = won * np.log(np.maximum(won / tried, 1e-12)) + lost * np.log(np.maximum(lost / tried, 1e-12))
    return best
