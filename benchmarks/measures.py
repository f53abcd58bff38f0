"""Retrieval measures over ranked lists, in their textbook form, and bootstrap intervals.

A ranking is a list of items, best first; `gold` are the items that should be found, at least one. All measures are in [0, 1].
"""

import math
import random
from collections.abc import Collection, Sequence
from typing import TypeVar

Item = TypeVar("Item")

RESAMPLES = 2_000


def any_at(ranking: Sequence[Item], gold: Collection[Item], k: int) -> float:
    """1 if at least one gold item is among the first `k`."""
    return float(any(item in gold for item in ranking[:k]))


def all_at(ranking: Sequence[Item], gold: Collection[Item], k: int) -> float:
    """1 if every gold item is among the first `k`."""
    return float(set(gold) <= set(ranking[:k]))


def ndcg_at(ranking: Sequence[Item], gold: Collection[Item], k: int) -> float:
    """Normalised discounted cumulative gain with binary gains (Järvelin and Kekäläinen 2002).

    The ideal ranking holds all gold items first, whether they were retrieved or not.
    """
    gain = sum(_discount(rank) for rank, item in enumerate(ranking[:k], start=1) if item in gold)
    return gain / sum(_discount(rank) for rank in range(1, min(k, len(gold)) + 1))


def reciprocal_rank(ranking: Sequence[Item], gold: Collection[Item]) -> float:
    """One over the rank of the first gold item, 0 if there is none."""
    return next((1.0 / rank for rank, item in enumerate(ranking, start=1) if item in gold), 0.0)


def mean(values: Sequence[float]) -> float:
    """The mean; not a number where there are no values."""
    return sum(values) / len(values) if values else math.nan


def interval(values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The 95 % percentile-bootstrap interval of the mean (Efron 1979); the same for the same values and seed."""
    if not values:
        return math.nan, math.nan
    chance = random.Random(seed)
    means = sorted(mean(chance.choices(values, k=len(values))) for _ in range(resamples))
    return means[round(0.025 * (resamples - 1))], means[round(0.975 * (resamples - 1))]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie, nearest rank; not a number where there are no values."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else math.nan


def _discount(rank: int) -> float:
    return 1.0 / math.log2(rank + 1)
