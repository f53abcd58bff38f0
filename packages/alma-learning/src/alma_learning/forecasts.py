"""Forecasts of unjudged attempts: how likely one is to be judged a success, from its tools and from how attempts with like tools were judged."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from alma_learning.estimate import interval

LEAST_JUDGED = 5
"""With fewer judged attempts there is no forecast."""

SHARPNESS = 3
"""The power to which likeness is raised: with 1, attempts that share only the usual tools outweigh those that are really alike."""

PRIOR_TRIALS = 1.0

PRIOR_SUCCESSES, PRIOR_JUDGED = 2, 4
"""Added to the counts of all judged attempts: two successes in four (Agresti and Coull 1998)."""

Tool = tuple[str, bool | None]
"""A tool, and whether the step went well; `None` where it was not judged."""


@dataclass(frozen=True, slots=True)
class Bag:
    """The tools of one attempt. Each counts `log(1 + n)` for n steps, so that the tenth retry says less than the first."""

    weights: Mapping[Tool, float]
    total: float

    @classmethod
    def of(cls, steps: Iterable[Tool]) -> "Bag":
        """Returns the bag of some steps; empty without any."""
        weights = {tool: math.log1p(count) for tool, count in Counter(steps).items()}
        return cls(weights, math.fsum(weights.values()))


@dataclass(frozen=True, slots=True)
class JudgedBag:
    """The tools of an attempt that was judged, and how much of a success it was, from 0 to 1."""

    bag: Bag
    worth: float


def likeness(one: Bag, other: Bag) -> float:
    """Returns the weighted Jaccard index of two bags, from 0 (nothing in common) to 1 (equal): the sum of the smaller weights by that of the larger
    ones (Ruzicka 1958). Two empty bags are alike."""
    few, many = (one, other) if len(one.weights) <= len(other.weights) else (other, one)
    common = math.fsum(min(weight, many.weights.get(tool, 0.0)) for tool, weight in few.weights.items())
    either = one.total + other.total - common
    return common / either if either > 0 else 1.0


class Foreseen(NamedTuple):
    """A rate of success that is forecast, its bounds at 95 %, and the number of judged attempts behind it."""

    rate: float
    lower: float
    upper: float
    judged: int


def forecast(bag: Bag, judged: Sequence[JudgedBag]) -> Foreseen | None:
    """Returns the rate of success forecast for attempts with such tools; `None` with fewer than `LEAST_JUDGED` judged ones.

    A kernel estimate (Nadaraya 1964, Watson 1964): each judged attempt counts as the cube of its `likeness`, and the rate of all counts as one
    more, so that what is like nothing is forecast at that rate. The bounds at 95 % are those of Jeffreys' posterior of the counts; they are
    wide where little is alike.
    """
    if len(judged) < LEAST_JUDGED:
        return None
    weights = [likeness(bag, one.bag) ** SHARPNESS for one in judged]
    trials = math.fsum(weights)
    successes = min(math.fsum(weight * one.worth for weight, one in zip(weights, judged, strict=True)), trials)
    usual = (math.fsum(one.worth for one in judged) + PRIOR_SUCCESSES) / (len(judged) + PRIOR_JUDGED)
    rate = (successes + PRIOR_TRIALS * usual) / (trials + PRIOR_TRIALS)
    lower, upper = interval(successes, trials)
    return Foreseen(rate, min(lower, rate), max(upper, rate), len(judged))


def doubt(found: Foreseen | None) -> float:
    """Returns the highest probability, within the interval, that the verdict is other than forecast; 1 without a forecast.

    High both where the rate is near a half and where little is known, so one number orders what is worth judging: it is the upper confidence
    bound of the least-confidence score of uncertainty sampling (Lewis and Gale 1994, "A sequential algorithm for training text classifiers").
    """
    if found is None:
        return 1.0
    return 1.0 - found.lower if found.rate >= 0.5 else found.upper


def surprise(found: Foreseen | None, worth: float) -> float:
    """Returns how far a verdict is from the forecast, from 0 to 1; 0 unless the whole interval lies on the other side of a half."""
    if found is None:
        return 0.0
    is_other = found.upper < 0.5 < worth or worth < 0.5 < found.lower
    return abs(worth - found.rate) if is_other else 0.0
