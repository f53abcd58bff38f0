"""How good predicted chances of success are, and how sure that is when whole groups of predictions, say those on one task, are drawn again.

`scores` are chances in [0, 1], `outcomes` 1 for a success and 0 for none, both arrays of one length.
"""

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.measures import RESAMPLES

Numbers = NDArray[np.float64]


def auc(scores: Numbers, outcomes: Numbers) -> float:
    """The probability that a success was given a higher chance than a failure, ties half (Mann and Whitney 1947); nan without both."""
    won, lost = scores[outcomes > 0.5], scores[outcomes <= 0.5]
    if not len(won) or not len(lost):
        return math.nan
    above = (won[:, None] > lost).mean() + (won[:, None] == lost).mean() / 2
    return float(above)


def brier(scores: Numbers, outcomes: Numbers) -> float:
    """The mean squared distance of the chances from what happened (Brier 1950): 0 is perfect, and a half said always gives 0.25."""
    return float(((scores - outcomes) ** 2).mean())


def interval(
    groups: Sequence[Hashable], measure: Callable[[NDArray[np.int64]], float], *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """The 95 % percentile-bootstrap interval of a measure, which is told the places of the predictions drawn. Whole groups are drawn."""
    members: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    places = [np.array(of_one) for of_one in members.values()]
    chance = np.random.default_rng(seed)
    values = []
    for _ in range(resamples):
        drawn = chance.integers(len(places), size=len(places))
        values.append(measure(np.concatenate([places[number] for number in drawn])))
    low, high = np.nanquantile(values, [0.025, 0.975])
    return float(low), float(high)
