"""What the evidence on a strategy amounts to: a heuristic, an anti-pattern, or neither; how far it is believed, and in which words."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from alma.evidence import PRIOR, Tally, beta_cdf
from alma.learning.experience import Advice
from alma.learning.intervals import normal_cdf
from alma.learning.standing import Needed
from alma.types.kinds import Standing

EVEN = 0.5
CANDIDATE = 0.8
LIKELY = 0.9
LIKELY_TASKS = 3
SPREAD = 0.3
"""The standard deviation of true differences between strategies that do differ, as expected before anything is seen."""
FALLEN = 0.95
"""Where the rate has fallen, what is left of the older successes must not carry a rule: then it has to hold at 95 %."""

DISCOUNT = 0.93
"""What a new observation leaves of the weight of each older one in `Advice.recent`."""

_FEWEST = 1e-9


class Than(StrEnum):
    """What a strategy is compared with."""

    OTHERS = "the others on such tasks"
    HALF = "a half"


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of one strategy, of `Advice`, with what is proven of it.

    `lifetime` are the plain counts of near tasks, `tasks` their number. `recent` are counts at the discounted rate. `rest` is the rate of what else
    was tried on like tasks, `None` if nothing was; `lift` the difference to it, with its standard error.
    `proven_tasks` are those that a proof rests on.
    """

    lifetime: Tally
    recent: Tally
    tasks: int
    effective_tasks: float
    rest: float | None
    lift: float = 0.0
    lift_error: float = 1.0
    is_proven_better: bool = False
    is_proven_worse: bool = False
    proven_tasks: int = 0

    @classmethod
    def of(
        cls,
        advice: Advice,
        index: int,
        *,
        better: bool = False,
        worse: bool = False,
        proven_tasks: float = 0,
    ) -> "Row":
        """The row of one strategy, and whether it is proven to do better, or worse, and over how many tasks."""
        trials = float(advice.whole_trials[index])
        weight = discounted(trials)
        has_others = float(advice.others[index]) > _FEWEST
        return cls(
            lifetime=Tally(float(advice.whole_successes[index]), trials),
            recent=Tally(_share(float(advice.recent[index])) * weight, weight),
            tasks=round(float(advice.whole_tasks[index])),
            effective_tasks=float(advice.effective_tasks[index]),
            rest=_share(float(advice.others_rate[index])) if has_others else None,
            lift=float(advice.lift[index]),
            lift_error=float(advice.lift_error[index]),
            is_proven_better=better,
            is_proven_worse=worse,
            proven_tasks=round(proven_tasks),
        )

    @property
    def better(self) -> float:
        """Probability of being above the rest, if nothing was expected before: a normal approximation."""
        return normal_cdf(self.lift / self.lift_error)

    def mirrored(self) -> "Row":
        """The same with successes and failures exchanged."""
        return replace(
            self,
            lifetime=_mirrored(self.lifetime),
            recent=_mirrored(self.recent),
            rest=None if self.rest is None else 1 - self.rest,
            lift=-self.lift,
            is_proven_better=self.is_proven_worse,
            is_proven_worse=self.is_proven_better,
        )


@dataclass(frozen=True, slots=True)
class Level:
    """How far a rule is believed.

    `sure` is the probability that the strategy does better (for an anti-pattern: worse) than what it is compared with, `tasks` the number of
    tasks that speak for that.
    """

    standing: Standing
    than: Than
    sure: float
    tasks: int


def heuristic_level(row: Row, needed: Needed) -> Level | None:
    """Returns how far it is believed that a strategy works; `None` if it is not.

    A candidate has enough successes, and at about 80 % it succeeds more often than not or than the rest; it is not likely worse than the rest. It is
    likely if at `LIKELY` it is better than the rest (where nothing else was tried: than a half), on three distinct tasks and as much effective
    evidence. It is proven if whole votes prove that; see `alma.learning.proof`.
    """
    if row.lifetime.successes < needed.successes or not _holds(row):
        return None
    than = Than.HALF if row.rest is None else Than.OTHERS
    sure = _sure_of_half(row) if row.rest is None else _sure_of_lift(row.lift, row.lift_error)
    if row.is_proven_better:
        return Level(Standing.PROVEN, Than.OTHERS, max(sure, LIKELY), row.proven_tasks)
    if row.tasks >= LIKELY_TASKS and row.effective_tasks >= LIKELY_TASKS - 0.5 and sure >= LIKELY:
        return Level(Standing.LIKELY, than, sure, row.tasks)
    return Level(Standing.CANDIDATE, than, sure, row.tasks)


def anti_pattern_level(row: Row, needed: Needed) -> Level | None:
    """Returns how far it is believed that a strategy fails: the mirror of `heuristic_level`. No strategy is both."""
    if row.lifetime.failures < needed.failures:
        return None
    return heuristic_level(row.mirrored(), Needed(successes=needed.failures, failures=needed.successes))


def discounted(trials: float) -> float:
    """The weight of a number of observations together when each new one leaves `DISCOUNT` of the older: at most 1 / (1 - `DISCOUNT`)."""
    return (1 - math.pow(DISCOUNT, trials)) / (1 - DISCOUNT)


def _holds(row: Row) -> bool:
    """Returns True if it works still: above a half or above the rest, and not likely below the rest."""
    if row.rest is not None:
        if row.better >= CANDIDATE and row.recent.rate >= row.rest:
            return True
        is_below = row.better <= 1 - CANDIDATE and row.recent.rate <= row.rest
        if is_below or row.recent.upper(CANDIDATE) < row.rest:
            return False
    return _is_above(EVEN, row.recent, FALLEN if _has_fallen(row) else CANDIDATE)


def _has_fallen(row: Row) -> bool:
    return _is_above(1 - row.lifetime.rate, _mirrored(row.recent), FALLEN)


def _is_above(bar: float, counts: Tally, confidence: float) -> bool:
    """Returns True if the rate is above the bar with that confidence: `counts.lower(confidence) > bar`, without looking for the bound."""
    if counts.rate <= bar or not counts.trials:
        return False
    return beta_cdf(bar, counts.successes + PRIOR, counts.failures + PRIOR) < 1 - confidence


def _sure_of_half(row: Row) -> float:
    """The probability that the rate is above a half now: by Jeffreys' prior, of as many trials as there are independent tasks, at most."""
    trials = min(row.recent.trials, row.effective_tasks)
    successes = row.recent.rate * trials
    return 1 - beta_cdf(EVEN, successes + PRIOR, trials - successes + PRIOR)


def _sure_of_lift(lift: float, error: float) -> float:
    """The probability that a strategy does better than the rest, if half of all strategies do neither better nor worse (Jeffreys 1961, "Theory
    of Probability", ch. 5; by the normal approximation of Berger and Delampady 1987, "Testing precise hypotheses").

    Without that half, what looks best of many, at the best of many looks, would often be called better where nothing differs.
    """
    noise, spread = error**2, SPREAD**2
    both = noise + spread
    log_odds = (math.log(noise / both) + lift**2 * (1 / noise - 1 / both)) / 2
    differs = 1 / (1 + math.exp(-min(log_odds, 700.0)))
    return differs * normal_cdf(lift * math.sqrt(spread / (noise * both)))


def _mirrored(counts: Tally) -> Tally:
    return Tally(counts.failures, counts.trials)


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0) if not math.isnan(value) else EVEN
