"""Advice on strategies, for people and agents: tables, warnings, assessments."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from alma.types.identity import UtcDatetime
from alma.types.memories import AntiPattern
from alma.types.value import Value

Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Difference = Annotated[float, Field(ge=-1.0, le=1.0, allow_inf_nan=False)]


class Range(Value):
    """Interval of a number at 95 %."""

    lower: float
    upper: float


class Judgement(StrEnum):
    """Summary of the record of a strategy, in a word or two."""

    WORKS = "works"
    SEEMS_TO_WORK = "seems to work"
    UNDECIDED = "undecided"
    SEEMS_TO_FAIL = "seems to fail"
    FAILS = "fails"
    UNKNOWN = "unknown"


LABELS = {
    Judgement.WORKS: "strong_yes",
    Judgement.SEEMS_TO_WORK: "yes",
    Judgement.UNDECIDED: "neutral",
    Judgement.UNKNOWN: "neutral",
    Judgement.SEEMS_TO_FAIL: "caution",
    Judgement.FAILS: "avoid",
}
"""The recommendation for each verdict in the words of alma-memory."""


class StrategyRecord(Value):
    """A strategy's record on tasks like the one asked about, of the same type, or on all.

    `successes` of `trials`, on `tasks` tasks, are lifetime counts of near tasks, a partial success half; where no task is near, they are
    weighted by nearness. `unverified` outcomes are not among them. `rate` is of these counts. `expected` is the rate of success on such
    tasks, shrunk towards the agent's rate where little is known; `interval` bounds the rate at 95 % by `effective_tasks`, the evidence in
    independent tasks; `recent_rate` with `recent_interval` is discounted. Of a rate that has clearly changed, `expected` and `interval` are
    those of now. `lift` is the difference to what else was tried on like tasks,
    `others` trials in all. `sure` is the probability of what the verdict claims. `similarity` is the nearness of the nearest task, from
    −1 to 1, `None` if no task was asked about. `propensity` is the probability with which this row came first, for the first row.
    `is_of_steps` is True where it was tried as a step of attempts, not as the strategy of whole ones.
    """

    strategy: str
    task: str
    task_type: str | None
    agent: str
    trials: float
    successes: float
    unverified: int
    tasks: int = 0
    rate: Share
    expected: Share = 0.5
    interval: Range
    recent_rate: Share
    recent_interval: Range
    lift: Difference
    lift_interval: Range
    others: float = 0.0
    effective_tasks: float = 0.0
    sure: Share | None = None
    propensity: Share | None = None
    last_used: UtcDatetime
    verdict: Judgement
    summary: str
    heuristic_id: str | None = None
    anti_pattern_id: str | None = None
    why_bad: str | None = None
    shared_from: str | None = None
    similarity: float | None = None
    is_of_steps: bool = False


class StrategyTable(Value):
    """Strategies that were tried, best first: for tasks like the one asked about, else for all.

    `hint` says what may be wrong where nothing was tried: an agent with a similar name is known, or agent and task look swapped.
    """

    agent: str
    task: str | None
    rows: tuple[StrategyRecord, ...]
    hint: str | None = None

    def __iter__(self) -> Iterator[StrategyRecord]:  # type: ignore[override] # a table is gone through by row
        return iter(self.rows)

    def __getitem__(self, place: int) -> StrategyRecord:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        nothing = "nothing was tried yet" if self.task is None else "nothing was tried yet on such tasks"
        return "\n".join(row.summary for row in self.rows) or _hinted(nothing, self.hint)


class ActionWarning(Value):
    """An anti-pattern that an action matches. `similarity` is the cosine of the two."""

    anti_pattern: AntiPattern
    similarity: float
    summary: str
    shared_from: str | None = None


class ActionCheck(Value):
    """Known reasons why an action would fail. Warnings are ordered nearest first.

    `elsewhere` are what the action matches as well, but what was learned on other tasks than the one asked about: to be known, not a warning.
    `hint` says what may be wrong where there is no warning: an agent with a similar name is known.
    """

    agent: str
    action: str
    warnings: tuple[ActionWarning, ...]
    elsewhere: tuple[ActionWarning, ...] = ()
    hint: str | None = None

    @property
    def is_clear(self) -> bool:
        """True when no known anti-pattern matches that holds for such a task."""
        return not self.warnings

    def __str__(self) -> str:
        if self.warnings:
            return "\n".join(warning.summary for warning in self.warnings)
        if self.elsewhere:
            return "\n".join(
                ["no known warning for such a task", *(f"on other tasks: {each.summary}" for each in self.elsewhere)]
            )
        return _hinted("no known warning matches it", self.hint)


class Assessment(Value):
    """The expected success of a strategy, or of any attempt, at a task, and how sure that is.

    `confidence_score` is the expected rate of success, shrunk towards that of all the agent's tasks where little is known; `interval` is
    its 95 % interval, in which what other agents tried weighs less. `trials` and `successes` of a strategy are those of its row in
    `strategies`; without a strategy they are of like tasks, weighted by similarity. Where nothing at all is known, the `verdict` is
    "unknown" and the score a half; `hint` then says whether an agent with a similar name is known.
    """

    agent: str
    strategy: str | None
    context: str
    confidence_score: Share
    interval: Range
    trials: float
    successes: float
    verdict: Judgement
    recommendation: str
    summary: str
    records: tuple[StrategyRecord, ...] = ()
    hint: str | None = None

    @property
    def is_known(self) -> bool:
        """True when anything is known."""
        return self.verdict is not Judgement.UNKNOWN

    def __str__(self) -> str:
        return _hinted(self.summary, self.hint)


def _hinted(summary: str, hint: str | None) -> str:
    return f"{summary}; {hint}" if hint else summary
