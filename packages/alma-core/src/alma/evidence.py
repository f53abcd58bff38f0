"""Arithmetic behind every rule: success counts, rates and their intervals.

A rate is judged by its Beta posterior under Jeffreys' prior, Beta(1/2, 1/2). Its quantiles also serve as confidence bounds; their
coverage is near the nominal one even for few trials (Brown, Cai and DasGupta 2001, "Interval estimation for a binomial proportion"). Old
counts should not decide today: *operative* counts are discounted with every new observation and with time, *lifetime* counts are not.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

DISCOUNT = 0.9
"""Factor by which a new observation reduces the weight of each older one: the last ten observations carry most of the weight."""

HALF_LIFE_DAYS = 90.0
"""After this many days without an observation, an observation weighs half."""

PRIOR = 0.5
"""Successes and failures that Jeffreys' prior adds."""

PRIOR_SUCCESSES, PRIOR_TRIALS = 2, 4
"""Added to the counts of the other strategies before a comparison: two successes in four (Agresti and Coull 1998)."""

_DAY = 86_400_000_000  # microseconds
_TINY = 1e-300
_PRECISION = 1e-12
_CLOSE = 1e-4


@dataclass(frozen=True, slots=True)
class Interval:
    """Interval of a number at some confidence. `lower <= upper`."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Tally:
    """Successes among trials. Both may be fractions, since older trials weigh less. `0 <= successes <= trials`."""

    successes: float = 0.0
    trials: float = 0.0

    @property
    def failures(self) -> float:
        """Trials without success."""
        return self.trials - self.successes

    @property
    def rate(self) -> float:
        """Share of successes; a half without trials."""
        return self.successes / self.trials if self.trials else 0.5

    def plus(self, success: float, *, weight: float = 1.0) -> "Tally":
        """Returns the tally with one more trial, whose success is from 0 to 1."""
        return Tally(self.successes + weight * success, self.trials + weight)

    def faded(self, factor: float) -> "Tally":
        """Returns the tally with the weight of every trial multiplied by `factor`."""
        return Tally(self.successes * factor, self.trials * factor)

    def lower(self, confidence: float) -> float:
        """Returns the one-sided lower bound of the rate at that confidence. 0 without a success."""
        return _quantile(1 - confidence, self) if self.successes > 0 else 0.0

    def upper(self, confidence: float) -> float:
        """Returns the one-sided upper bound of the rate at that confidence. 1 without a failure."""
        return _quantile(confidence, self) if self.failures > _PRECISION else 1.0

    def interval(self, confidence: float = 0.95) -> Interval:
        """Returns the two-sided interval of the rate at that confidence, with equal tails."""
        one_sided = (1 + confidence) / 2
        return Interval(self.lower(one_sided), self.upper(one_sided))


def observed(operative: Tally, success: float, *, elapsed: float) -> Tally:
    """Returns operative counts with one more observation, `elapsed` microseconds after the last one.

    An observation older than the last (a negative `elapsed`) does not discount the others, and weighs less itself.
    """
    if elapsed < 0:
        return operative.plus(success, weight=fading(-elapsed))
    return operative.faded(DISCOUNT * fading(elapsed)).plus(success)


def fading(elapsed: float) -> float:
    """Returns the share of an observation's weight that is left after `elapsed` microseconds."""
    return float(0.5 ** (max(elapsed, 0.0) / _DAY / HALF_LIFE_DAYS))


def rest(successes: float, trials: float) -> float:
    """Returns the rate that a strategy is compared with: that of the others of its class, shrunk towards a half where there are few."""
    return (successes + PRIOR_SUCCESSES) / (trials + PRIOR_TRIALS)


def lift(of: Tally, others: Tally, confidence: float = 0.95) -> tuple[float, Interval]:
    """Returns the difference of the one's rate to that of the others, and its interval.

    The interval is made from those of the two rates (Newcombe 1998, "Interval estimation for the difference between independent
    proportions", method 10, here with Jeffreys' limits).
    """
    mine, theirs = of.interval(confidence), others.interval(confidence)
    difference = of.rate - others.rate
    down = math.hypot(of.rate - mine.lower, theirs.upper - others.rate)
    up = math.hypot(mine.upper - of.rate, others.rate - theirs.lower)
    return difference, Interval(max(difference - down, -1.0), min(difference + up, 1.0))


def wilson(counts: Tally, z: float = 1.96) -> Interval:
    """Returns Wilson's interval (Wilson 1927); (0, 1) without trials."""
    if not counts.trials:
        return Interval(0.0, 1.0)
    square = z * z / counts.trials
    centre = (counts.rate + square / 2) / (1 + square)
    width = z / (1 + square) * math.sqrt(counts.rate * (1 - counts.rate) / counts.trials + square / 4 / counts.trials)
    return Interval(max(centre - width, 0.0), min(centre + width, 1.0))


@lru_cache(maxsize=4096)
def beta_cdf(x: float, a: float, b: float) -> float:
    """Returns the probability that a Beta(a, b) variable is at most `x`: the regularised incomplete beta function (DLMF 8.17)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    return math.exp(_log_density(x, a, b)) * x * (1 - x) / a * _fraction(x, a, b)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Returns the `x` whose `beta_cdf` is that probability, to ten digits: Halley's steps, with bisection where they would leave the
    bracket."""
    low, high = 0.0, 1.0
    x = _first_guess(probability, a, b)
    for _ in range(100):
        error = beta_cdf(x, a, b) - probability
        low, high = (low, x) if error > 0 else (x, high)
        step = error / max(math.exp(_log_density(x, a, b)), _TINY)
        bend = step * ((a - 1) / x - (b - 1) / (1 - x)) / 2
        guess = x - step / max(1 - min(bend, 0.5), 0.5)
        is_halved = not low <= guess <= high
        if is_halved:
            guess = (low + high) / 2
        near = _PRECISION if is_halved else _CLOSE  # each of Halley's steps triples the digits
        if abs(guess - x) < near * min(guess, 1 - guess):
            return guess
        x = guess
    return x


def _first_guess(probability: float, a: float, b: float) -> float:
    """Returns a start near the quantile: the normal quantile on the scale of log odds, whose mean and deviation are about those of the
    Beta."""
    z = _normal_quantile(probability)
    spread = math.sqrt(1 / a + 1 / b)
    odds = math.log(a / b) + z * spread
    return min(max(1 / (1 + math.exp(-odds)), 1e-9), 1 - 1e-9)


@lru_cache(maxsize=64)
def _normal_quantile(probability: float) -> float:
    return NormalDist().inv_cdf(probability)


@lru_cache(maxsize=4096)
def _quantile(probability: float, counts: Tally) -> float:
    return beta_quantile(probability, counts.successes + PRIOR, counts.failures + PRIOR)


def _log_density(x: float, a: float, b: float) -> float:
    return math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)


def _fraction(x: float, a: float, b: float) -> float:
    """Evaluates the continued fraction of DLMF 8.17.22 by Lentz's method."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 500):
        place = a + 2 * m
        even = m * (b - m) * x / ((place - 1) * place)
        odd = -(a + m) * (a + b + m) * x / (place * (place + 1))
        for numerator in (even, odd):  # `_away_from_zero` written out: this is what judging a rule spends most on
            d, c = 1 + numerator * d, 1 + numerator / c
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
