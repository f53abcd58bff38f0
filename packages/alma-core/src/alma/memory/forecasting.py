"""How likely a finished attempt is to be judged a success, from its tools and from how attempts with like tools were judged."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from alma.evidence import bound_rate
from alma.types.episodes import Forecast

LEAST_JUDGED = 5
"""With fewer judged attempts there is no forecast."""

SHARPNESS = 3
"""The power to which likeness is raised: with 1, attempts that share only the usual tools outweigh those that are really alike."""

PRIOR_TRIALS = 1.0
USUAL_SUCCESSES, USUAL_TRIALS = 2, 4
"""Added to the counts of all attempts (Agresti and Coull 1998)."""

Tool = tuple[str, bool | None]
"""A tool, and whether the step went well; `None` where it was not judged."""


@dataclass(frozen=True, slots=True)
class Bag:
    """The tools of one attempt. Each counts `log(1 + n)` for n steps, so that the tenth retry says less than the first."""

    weights: Mapping[Tool, float]
    total: float

    @classmethod
    def of(cls, steps: Iterable[Tool]) -> "Bag":
        """The bag of some steps; empty without any."""
        weights = {tool: math.log1p(count) for tool, count in Counter(steps).items()}
        return cls(weights, math.fsum(weights.values()))


@dataclass(frozen=True, slots=True)
class JudgedBag:
    """The tools of an attempt that was judged, and how much of a success it was, from 0 to 1."""

    bag: Bag
    worth: float


def likeness(one: Bag, other: Bag) -> float:
    """The weighted Jaccard index of two bags, from 0 (nothing in common) to 1 (equal): the sum of the smaller weights by that of the larger ones
    (Ruzicka 1958). Two empty bags are alike."""
    few, many = (one, other) if len(one.weights) <= len(other.weights) else (other, one)
    common = math.fsum(min(weight, many.weights.get(tool, 0.0)) for tool, weight in few.weights.items())
    either = one.total + other.total - common
    return common / either if either > 0 else 1.0


def forecast(bag: Bag, judged: Sequence[JudgedBag]) -> Forecast | None:
    """The rate of success forecast for attempts with such tools; `None` with fewer than `LEAST_JUDGED` judged ones. Rests on nothing but these.

    A kernel estimate (Nadaraya 1964, Watson 1964): each judged attempt counts as the cube of its `likeness`, and the rate of all counts as one
    more, so that what is like nothing is forecast at that rate. The bounds at 95 % are those of Jeffreys' posterior of the counts; they are
    wide where little is alike.
    """
    if len(judged) < LEAST_JUDGED:
        return None
    weights = [likeness(bag, one.bag) ** SHARPNESS for one in judged]
    trials = math.fsum(weights)
    successes = min(math.fsum(weight * one.worth for weight, one in zip(weights, judged, strict=True)), trials)
    usual = (math.fsum(one.worth for one in judged) + USUAL_SUCCESSES) / (len(judged) + USUAL_TRIALS)
    rate = (successes + PRIOR_TRIALS * usual) / (trials + PRIOR_TRIALS)
    lower, upper = bound_rate(successes, trials)
    return Forecast(rate=rate, lower=min(lower, rate), upper=max(upper, rate), judged=len(judged))


def doubt(found: Forecast | None) -> float:
    """The highest probability, within the interval, that the verdict is other than forecast; 1 without a forecast.

    High both where the rate is near a half and where little is known, so one number orders what is worth judging: it is the upper confidence
    bound of the least-confidence score of uncertainty sampling (Lewis and Gale 1994, "A sequential algorithm for training text classifiers").
    """
    if found is None:
        return 1.0
    return 1.0 - found.lower if found.rate >= 0.5 else found.upper


def surprise(found: Forecast | None, worth: float) -> float:
    """Returns how far a verdict is from the forecast, from 0 to 1; 0 unless the whole interval lies on the other side of a half."""
    if found is None:
        return 0.0
    is_other = found.upper < 0.5 < worth or worth < 0.5 < found.lower
    return abs(worth - found.rate) if is_other else 0.0
