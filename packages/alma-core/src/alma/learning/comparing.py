"""By how much a strategy does better than what else was tried, among like tasks only."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alma.learning.experience import Floats, Indices
from alma.learning.intervals import normal_cdf
from alma.learning.sameness import BY_VECTORS
from alma.learning.sums import summed

DEVIATIONS = 2.1
"""The half-width of an interval at 95 % in standard errors, a little more than 1.96: strata are small."""

TRIED = 1e-3
"""From this evidence on a strategy counts as tried on a task."""

Counts = tuple[Floats, Floats]
"""Successes and trials, weighted as evidence: k strategies × t tasks."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Of k strategies: the difference to the others, its standard error, its bounds at 95 %, the probability that it is above 0, and the trials
    of the others with their rate."""

    lift: Floats
    error: Floats
    lower: Floats
    upper: Floats
    better: Floats
    others: Floats
    others_rate: Floats


def compared(mine: Counts, separate: Counts, same: Floats, *, strata: Indices) -> Comparison:
    """The Mantel–Haenszel difference of rates (Greenland and Robins 1985, "Estimation of a common effect parameter from sparse follow-up data").

    Each task on which a strategy and others were tried is a stratum; of the other tasks, those with the same code in `strata` are one.
    `mine` is summed over strategies that are the `same`, `separate` is not. A lift of 0 between −1 and 1 where nothing can be compared.
    """
    is_other = np.where(same >= BY_VECTORS, 0.0, 1 - same)  # else one way in two wordings had a lift over itself
    if not is_other.any():
        return _alone(len(same))
    others = tuple(summed(is_other, counts) for counts in separate)
    successes, trials, other_successes, other_trials = _strata((*mine, *others), strata)
    both = np.maximum(trials + other_trials, 1e-12)
    weight = (trials * other_trials / both).sum(axis=1)
    difference = ((successes * other_trials - other_successes * trials) / both).sum(axis=1)
    variance = (
        trials
        * other_trials
        / both**2
        * (other_trials * _variance(successes, trials) + trials * _variance(other_successes, other_trials))
    )
    is_compared = weight > TRIED
    lift = np.divide(difference, weight, out=np.zeros(len(weight)), where=is_compared)
    error = np.divide(np.sqrt(variance.sum(axis=1)), weight, out=np.ones(len(weight)), where=is_compared)
    compared_with = np.where(trials > 0, other_trials, 0.0).sum(axis=1)
    return Comparison(
        lift=lift,
        error=error,
        lower=np.maximum(lift - DEVIATIONS * error, -1.0),
        upper=np.minimum(lift + DEVIATIONS * error, 1.0),
        better=np.array([normal_cdf(z) for z in np.divide(lift, error, out=np.zeros(len(lift)), where=error > 0).tolist()]),
        others=compared_with,
        others_rate=np.divide(
            np.where(trials > 0, other_successes, 0.0).sum(axis=1),
            compared_with,
            out=np.full(len(weight), 0.5),
            where=compared_with > 0,
        ),
    )


def _alone(count: int) -> Comparison:
    """The comparison where nothing else was tried."""
    none = np.zeros(count)
    return Comparison(
        lift=none, error=none + 1, lower=none - 1, upper=none + 1, better=none + 0.5, others=none, others_rate=none + 0.5
    )


def _variance(successes: Floats, trials: Floats) -> Floats:
    rate = (successes + 1) / (trials + 2)
    variance: Floats = rate * (1 - rate)
    return variance


def _strata(counts: tuple[Floats, ...], codes: Indices) -> list[Floats]:
    """Counts of k strategies × strata: one for each task with both, and one for each code with the rest of its tasks."""
    is_both = (counts[1] > TRIED) & (counts[3] > TRIED)
    rest = summed_by_code([np.where(is_both, 0.0, count) for count in counts], codes)
    return [np.concatenate([np.where(is_both, count, 0.0), sums], axis=1) for count, sums in zip(counts, rest, strict=True)]


def summed_by_code(counts: Sequence[Floats], codes: Indices) -> list[Floats]:
    """Counts of k strategies × t tasks, summed over the tasks of each code."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=codes.min(initial=0) - 1))
    return [np.add.reduceat(count[:, order], starts, axis=1) if len(starts) else count for count in counts]
