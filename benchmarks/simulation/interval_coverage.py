"""How often 95 % intervals hold the truth, where outcomes are independent trials of one rate and where they are not.

- *independent*: each outcome is of another task, and succeeds with the rate of its strategy;
- *retries*: each task is tried five times, and tasks differ so much that the correlation within a task is .5; asked is a new task of the type;
- *told twice*: each outcome is learned twice;
- *drift*: the rate moves, in a line or at random; asked is the rate of now.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from alma_learning import Question
from benchmarks.simulation.policies import Embed
from benchmarks.trials import fold, make_trial

STRATEGIES = ("amber", "cobalt")
RATES = (0.3, 0.5, 0.8)
RETRIES, RETRIED_TASKS, TOLD_TASKS, DRIFTING = 5, 12, 30, 80
DRIFT_FROM, DRIFT_TO, DRIFT_STEP = 0.8, 0.4, 0.15
TRIALS = (5, 10, 20, 50, 100)
TYPE = "job"

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Event:
    """One outcome."""

    task: str
    strategy: str
    succeeded: bool


@dataclass(frozen=True, slots=True)
class Case:
    """Events, all of one type, and the true rate of each strategy: that of now where it moves."""

    what: str
    events: Sequence[Event]
    truth: dict[str, float]


@dataclass(frozen=True, slots=True)
class Covered:
    """The share of strategies whose interval holds the truth, and the mean width of the intervals: 1.0 says little where they are wide."""

    share: float
    width: float


def cases(seed: int, number: int) -> list[Case]:
    """One case of each sort."""
    chance = np.random.default_rng([seed, 7, number])
    rates = dict(zip(STRATEGIES, chance.choice(RATES, 2).tolist(), strict=True))
    return [
        _independent(chance, rates, TRIALS[number % len(TRIALS)]),
        _retries(chance, rates),
        _told_twice(chance, rates),
        _drift(chance, is_line=number % 2 == 0),
    ]


def bounds(case: Case, embed: Embed) -> list[Bounds]:
    """The interval of each strategy in the table for a new task of the type; one that holds nothing for a strategy without a row."""
    trials = (make_trial(n, one.task, one.strategy, float(one.succeeded), task_type=TYPE) for n, one in enumerate(case.events))
    table = fold(embed, trials).table(Question("One more job", task_type=TYPE))
    rows = [table.find(name) for name in case.truth]
    return [(nan, nan) if row is None else (row.lower, row.upper) for row in rows]


def coverage(cases: Iterable[Case], embed: Embed) -> dict[str, list[Covered]]:
    """How well the intervals of each case cover the truth, by sort of case."""
    result: dict[str, list[Covered]] = {}
    for case in cases:
        found = bounds(case, embed)
        held = [lower <= truth <= upper for (lower, upper), truth in zip(found, case.truth.values(), strict=True)]
        width = float(np.mean([upper - lower for lower, upper in found]))
        result.setdefault(case.what, []).append(Covered(float(np.mean(held)), width))
    return result


def _independent(chance: np.random.Generator, rates: dict[str, float], trials: int) -> Case:
    events = [
        Event(f"Job {n} of {name}", name, bool(chance.random() < rate)) for n in range(trials) for name, rate in rates.items()
    ]
    return Case("independent", events, rates)


def _retries(chance: np.random.Generator, rates: dict[str, float]) -> Case:
    events = []
    for number in range(RETRIED_TASKS * len(STRATEGIES)):
        strategy = STRATEGIES[number % 2]
        own = chance.beta(rates[strategy], 1 - rates[strategy])  # the correlation within a task is 1 / (1 + 1)
        events += [Event(f"Job {number}", strategy, bool(won)) for won in chance.random(RETRIES) < own]
    return Case("retries", events, rates)


def _told_twice(chance: np.random.Generator, rates: dict[str, float]) -> Case:
    events = []
    for number in range(TOLD_TASKS * len(STRATEGIES)):
        strategy = STRATEGIES[number % 2]
        events += [Event(f"Job {number}", strategy, bool(chance.random() < rates[strategy]))] * 2
    return Case("told twice", events, rates)


def _drift(chance: np.random.Generator, *, is_line: bool) -> Case:
    if is_line:
        rates = np.linspace(DRIFT_FROM, DRIFT_TO, DRIFTING)[:: int(chance.choice((-1, 1)))]
    else:
        rates = 1 / (1 + np.exp(-np.cumsum(chance.normal(0, DRIFT_STEP, DRIFTING))))
    name = STRATEGIES[0]
    events = [Event(f"Job {number}", name, bool(chance.random() < rate)) for number, rate in enumerate(rates)]
    return Case("drift", events, {name: float(rates[-1])})
