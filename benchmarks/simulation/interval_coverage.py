"""How often 95 % intervals hold the truth where outcomes are not independent trials of one rate.

- *retries*: each task is tried five times, and tasks differ so much that the correlation within a task is .5; asked is a new task of the type;
- *told twice*: each outcome is learned twice;
- *drift*: the rate moves, in a line or at random; asked is the rate of now;
- *told difficulty*: the better strategy is mostly used on hard tasks, of which the type says so; asked is its lift.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.simulation.estimate_policy import Advise, Ledger, Sameness
from benchmarks.simulation.policies import Embed
from benchmarks.simulation.public_policies import Opened
from benchmarks.simulation.told import Vocabulary

if TYPE_CHECKING:
    from alma.learning.experience import Advice
    from alma.types.strategies import StrategyRecord

STRATEGIES = ("amber", "cobalt")
RATES = (0.3, 0.5, 0.8)
RETRIES, RETRIED_TASKS, TOLD_TASKS, DRIFTING = 5, 12, 30, 80
DRIFT_FROM, DRIFT_TO, DRIFT_STEP = 0.8, 0.4, 0.15
EASY, HARD, BETTER_BY, MOSTLY = 0.65, 0.35, 0.15, 0.8
DIFFICULT_TASKS, NEAR_WORDINGS = 240, 3
TYPE = "job"

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Event:
    """One outcome."""

    task: str
    task_type: str
    strategy: str
    succeeded: bool


@dataclass(frozen=True, slots=True)
class Case:
    """Events, the task that is asked about afterwards, and of each strategy the truth: of its rate, its rate of now or its lift."""

    what: str
    events: Sequence[Event]
    task: str
    task_type: str | None
    truth: dict[str, float]


@dataclass(frozen=True, slots=True)
class Covered:
    """The share of strategies whose interval holds the truth, and the mean width of the intervals: 1.0 says little where they are wide."""

    share: float
    width: float


def cases(vocabulary: Vocabulary, seed: int, number: int) -> list[Case]:
    """One case of each sort."""
    chance = np.random.default_rng([seed, 7, number])
    rates = dict(zip(STRATEGIES, chance.choice(RATES, 2).tolist(), strict=True))
    return [
        _retries(chance, rates),
        _told_twice(chance, rates),
        _drift(chance, is_line=number % 2 == 0),
        _difficulty(chance, vocabulary),
    ]


def by_estimate(case: Case, advise: Advise, embed: Embed, same: Sameness) -> list[Bounds]:
    """The interval of each strategy by the estimate."""
    from alma.learning.experience import Question

    ledger = Ledger(embed, same)
    for event in case.events:
        ledger.learn(event.task, event.task_type, event.strategy, float(event.succeeded))
    advice = advise(ledger.experience(), Question(case.task, embed([case.task])[0], case.task_type))
    return [_of_advice(advice, case.what, ledger.place_of(name)) for name in case.truth]


def by_public_calls(case: Case, memory: Opened, agent: str) -> list[Bounds]:
    """The same of the table that an agent of its own is shown; for a strategy without a row an interval that holds nothing."""
    memory.learn_all(agent, [(event.task, event.task_type, event.strategy, event.succeeded) for event in case.events])
    rows = memory.table(case.task, task_type=case.task_type, agent=agent).rows
    found = {row.strategy: row for row in reversed(rows)}
    return [_of_row(found[name], case.what) if name in found else (nan, nan) for name in case.truth]


def coverage(cases: Iterable[Case], bounds: Callable[[Case], Sequence[Bounds]]) -> dict[str, list[Covered]]:
    """How well the intervals of each case cover the truth, by sort of case."""
    result: dict[str, list[Covered]] = {}
    for case in cases:
        found = bounds(case)
        held = [lower <= truth <= upper for (lower, upper), truth in zip(found, case.truth.values(), strict=True)]
        width = float(np.mean([upper - lower for lower, upper in found]))
        result.setdefault(case.what, []).append(Covered(float(np.mean(held)), width))
    return result


def _retries(chance: np.random.Generator, rates: dict[str, float]) -> Case:
    events = []
    for number in range(RETRIED_TASKS * len(STRATEGIES)):
        strategy = STRATEGIES[number % 2]
        own = chance.beta(rates[strategy], 1 - rates[strategy])  # the correlation within a task is 1 / (1 + 1)
        events += [Event(f"Job {number}", TYPE, strategy, bool(won)) for won in chance.random(RETRIES) < own]
    return Case("retries", events, "One more job", TYPE, rates)


def _told_twice(chance: np.random.Generator, rates: dict[str, float]) -> Case:
    events = []
    for number in range(TOLD_TASKS * len(STRATEGIES)):
        strategy = STRATEGIES[number % 2]
        events += [Event(f"Job {number}", TYPE, strategy, bool(chance.random() < rates[strategy]))] * 2
    return Case("told twice", events, "One more job", TYPE, rates)


def _drift(chance: np.random.Generator, *, is_line: bool) -> Case:
    if is_line:
        rates = np.linspace(DRIFT_FROM, DRIFT_TO, DRIFTING)[:: int(chance.choice((-1, 1)))]
    else:
        rates = 1 / (1 + np.exp(-np.cumsum(chance.normal(0, DRIFT_STEP, DRIFTING))))
    name = STRATEGIES[0]
    events = [Event(f"Job {number}", TYPE, name, bool(chance.random() < rate)) for number, rate in enumerate(rates)]
    return Case("drift", events, "One more job", TYPE, {name: float(rates[-1])})


def _difficulty(chance: np.random.Generator, vocabulary: Vocabulary) -> Case:
    events = []
    for _ in range(DIFFICULT_TASKS):
        is_hard = bool(chance.random() < 0.5)
        is_better = bool(chance.random() < (MOSTLY if is_hard else 1 - MOSTLY))
        rate = (HARD if is_hard else EASY) + BETTER_BY * is_better
        task, strategy = _any_task(chance, vocabulary), STRATEGIES[0 if is_better else 1]
        events.append(Event(task, "hard job" if is_hard else "easy job", strategy, bool(chance.random() < rate)))
    truth = dict(zip(STRATEGIES, (BETTER_BY, -BETTER_BY), strict=True))
    return Case("told difficulty", events, _any_task(chance, vocabulary), None, truth)


def _any_task(chance: np.random.Generator, vocabulary: Vocabulary) -> str:
    """A task of one of the first two intents, in one of the first few wordings: near to many others, so that there is something to compare."""
    tasks = vocabulary.tasks(int(chance.integers(2)), int(chance.integers(NEAR_WORDINGS)))
    return tasks[int(chance.integers(len(tasks)))]


def _of_advice(advice: "Advice", what: str, place: int) -> Bounds:
    names = {"drift": ("recent_lower", "recent_upper"), "told difficulty": ("lift_lower", "lift_upper")}
    lower, upper = (getattr(advice, name) for name in names.get(what, ("lower", "upper")))
    return float(lower[place]), float(upper[place])


def _of_row(row: "StrategyRecord", what: str) -> Bounds:
    """The interval of a row; of the rate of now the recent one, if the table has it."""
    names = {"drift": "recent_interval", "told difficulty": "lift_interval"}
    interval: Any = getattr(row, names.get(what, "interval"), row.interval)
    return interval.lower, interval.upper
