"""The one estimate of a rate of success: its mean, its interval, and how sure it is on which side of a half."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alma_learning.trials import Floats, Trial

PRIOR = 2.0
"""Trials at the base rate that every way begins with. Development worlds, seeds 1 to 3: 1 is worse, 4 is no better."""

HALF_LIFE = 8.0
"""Later trials of a way that halve the weight of a trial. Development worlds: 4 is worse, none is no better and follows no change."""

OTHERS = 0.5
"""Weight of a trial of another agent than the reader."""

ALIKE = 0.75
"""Likeness of the runs of one task, or of one session: their intraclass correlation. Coverage of the intervals in 4,000 drawn ways of 3 to 39 trials
each (28 November 2026, `tests/learning/test_estimate.py` draws some): plain .957, retries of likeness .4 .982, every trial recorded up to four times
.943, a rate that changed by .2 at half of the trials .915. With .6 .952, .979, .922, .914."""

TAIL, _SPREAD, _POINTS = 0.025, 6.0, 97


@dataclass(frozen=True, slots=True)
class Weighed:
    """Weighted successes and trials of one way, and of how many independent trials they are worth."""

    successes: float
    trials: float
    effective: float
    recent: float

    def expect(self, base: float) -> float:
        """Returns the expected rate."""
        return (self.successes + PRIOR * base) / (self.trials + PRIOR)


def weigh(trials: Sequence[Trial], reader: str | None) -> Weighed:
    """Weighs the judged trials of a way, oldest first.

    Of n weights w the effective number is (Σw)² / ΣΣ wᵢwⱼρᵢⱼ (Kish 1965, "Survey sampling"), with ρ = `ALIKE` in one task or one session.
    """
    count = len(trials)
    if not count:
        return Weighed(0.0, 0.0, 0.0, 0.5)
    worth = [trial.worth or 0.0 for trial in trials]
    recency = _RECENCY[-count:] if count <= len(_RECENCY) else [0.0] * (count - len(_RECENCY)) + _RECENCY
    weights = (
        recency if reader is None else [w if t.agent == reader else w * OTHERS for w, t in zip(recency, trials, strict=True)]
    )
    whole, of_task, of_session, of_both, squares = (
        0.0,
        dict[str, float](),
        dict[str, float](),
        dict[tuple[str, str], float](),
        0.0,
    )
    for trial, weight in zip(trials, weights, strict=True):
        whole += weight
        squares += weight * weight
        of_task[trial.task] = of_task.get(trial.task, 0.0) + weight
        if trial.session is not None:
            of_session[trial.session] = of_session.get(trial.session, 0.0) + weight
            both = (trial.task, trial.session)
            of_both[both] = of_both.get(both, 0.0) + weight
    together = (
        sum(w * w for w in of_task.values()) + sum(w * w for w in of_session.values()) - sum(w * w for w in of_both.values())
    )
    spread = ALIKE * max(together, squares) + (1 - ALIKE) * squares
    successes = sum(w * x for w, x in zip(weights, worth, strict=True))
    recent = sum(w * x for w, x in zip(recency, worth, strict=True)) / sum(recency)
    return Weighed(successes, whole, whole * whole / spread if spread else 0.0, recent)


def bound(successes: Floats, trials: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns the bounds at 95 % of rates, and the probabilities that they are above a half, by Jeffreys' prior.

    Counts may be fractions. The lower bound is 0 without a success, the upper 1 without a failure (Brown, Cai and DasGupta 2001, "Interval estimation
    for a binomial proportion"). Over the angle t with rate = sin² t the density of Beta(s + ½, f + ½) is proportional to sin(t)^2s cos(t)^2f, so
    that a grid around its peak gives the quantiles within .002.
    """
    failures = np.maximum(trials - successes, 0.0)
    peak = np.where(trials > 0, np.arctan2(np.sqrt(successes), np.sqrt(failures)), math.pi / 4)
    reach = _SPREAD / (2 * np.sqrt(trials + 1))
    low, high = np.maximum(peak - reach, 0.0), np.minimum(peak + reach, math.pi / 2)
    angles = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _POINTS)
    sine, cosine = np.maximum(np.sin(angles), 1e-12), np.maximum(np.cos(angles), 1e-12)
    logs = 2 * (successes[:, None] * np.log(sine) + failures[:, None] * np.log(cosine))
    density = np.exp(logs - logs.max(axis=1, keepdims=True))
    below = np.zeros_like(density)
    np.cumsum(density[:, 1:] + density[:, :-1], axis=1, out=below[:, 1:])
    below /= below[:, -1:]
    lower, upper = (np.sin(_cross(angles, below, tail)) ** 2 for tail in (TAIL, 1 - TAIL))
    place = np.clip((math.pi / 4 - low) / np.maximum(high - low, 1e-12), 0, 1) * (_POINTS - 1)
    floor = np.minimum(place.astype(np.intp), _POINTS - 2)
    rows, part = np.arange(len(below)), place - floor
    above: Floats = 1 - (below[rows, floor] * (1 - part) + below[rows, floor + 1] * part)
    return np.where(successes > 0, lower, 0.0), np.where(failures > 0, upper, 1.0), above


def interval(successes: float, trials: float) -> tuple[float, float]:
    """Returns the bounds at 95 % of one rate; see `bound`."""
    lower, upper, _ = bound(np.array([float(successes)]), np.array([float(trials)]))
    return float(lower[0]), float(upper[0])


def _cross(points: Floats, rising: Floats, level: float) -> Floats:
    """Returns where each row of `rising` reaches the level, between two points linearly."""
    after = np.clip((rising < level).sum(axis=1), 1, rising.shape[1] - 1)
    rows = np.arange(len(rising))
    left, right = rising[rows, after - 1], rising[rows, after]
    part = (level - left) / np.maximum(right - left, 1e-300)
    start, end = points[rows, after - 1], points[rows, after]
    crossing: Floats = start + part * (end - start)
    return crossing


_RECENCY = [0.5 ** (age / HALF_LIFE) for age in range(511, -1, -1)]
