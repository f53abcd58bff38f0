"""What is kept of an episode: one attempt at one task."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from alma.types.identity import UtcDatetime
from alma.types.kinds import Verdict

EPISODE = "episode"
STEP = "episode_step"
END = "episode_end"
LEASE = "episode_lease"
"""The kinds of small records that an episode is kept as: its beginning, one a step, its ending, and who holds it."""


class EpisodeStatus(StrEnum):
    """Where an episode stands. `abandoned`: left without a verdict by cancellation, by `abandon()` or by a crash."""

    OPEN = "open"
    ENDED = "ended"
    ABANDONED = "abandoned"


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Exposure(_Value):
    """That a memory was shown, at which rank (1 is first) with which score, by which policy and with which probability.

    `used` is `None` as long as nobody knows: nothing was cited and no list of what was used was given.
    """

    memory_id: str
    tag: str
    rank: Annotated[int, Field(ge=1)]
    score: float
    policy: str = "rank"
    probability: float = 1.0
    used: bool | None = None


class Step(_Value):
    """One thing that was done; `tool` says what did it, for telling which steps try the same.

    `ok` is `None` where nobody judged it; `memory_id` names the memory that was made of it, if any.
    """

    number: Annotated[int, Field(ge=1)]
    action: str
    tool: str
    ok: bool | None = None
    error: str | None = None
    output: str | None = None
    duration_ms: int | None = None
    at: UtcDatetime
    memory_id: str | None = None


class Ending(_Value):
    """How an episode ended; without an outcome it was abandoned. `used` has the ids that were cited or named, `None` if nobody said any."""

    outcome: Verdict | None
    strategy: str | None = None
    error: str | None = None
    feedback: str | None = None
    used: tuple[str, ...] | None = None
    at: UtcDatetime


class Forecast(_Value):
    """How likely an attempt is to be judged a success, as forecast from its steps: the `rate`, and where it lies at 95 %.

    `judged` is the number of judged episodes of the agent that it rests on. It is no verdict: nothing is learned from it.
    """

    rate: Annotated[float, Field(ge=0, le=1)]
    lower: Annotated[float, Field(ge=0, le=1)]
    upper: Annotated[float, Field(ge=0, le=1)]
    judged: Annotated[int, Field(ge=0)]


class EpisodeRecord(_Value):
    """An episode as it is kept.

    `reason` is what `settle` or `abandon` was given; `used` has all ids that were cited or named, `None` if nobody said any; `credited` has
    those of them whose use was counted: to these the outcome is credited. `outcome_id` names the memory of how it went. `forecast` is computed
    when an ended, unjudged episode is read, and never stored; `None` for any other, and where too few of the agent's episodes were judged.
    """

    id: str
    project_id: str
    agent: str
    task: str
    task_type: str | None = None
    user_id: str | None = None
    status: EpisodeStatus = EpisodeStatus.OPEN
    outcome: Verdict | None = None
    strategy: str | None = None
    error: str | None = None
    feedback: str | None = None
    reason: str | None = None
    started_at: UtcDatetime
    ended_at: UtcDatetime | None = None
    settled_at: UtcDatetime | None = None
    used: tuple[str, ...] | None = None
    credited: tuple[str, ...] = ()
    outcome_id: str | None = None
    shown: tuple[Exposure, ...] = ()
    steps: tuple[Step, ...] = ()
    forecast: Forecast | None = None

    @property
    def duration_ms(self) -> int | None:
        """How long it took; `None` while it is open."""
        return None if self.ended_at is None else milliseconds(self.started_at, self.ended_at)

    @property
    def summary(self) -> str:
        """What was taken from the attempt, in one line: `retrieved 4, cited H1, learned 1 failure, 2 steps, success`."""
        cited = ", ".join(exposure.tag for exposure in self.shown if exposure.used) or "none"
        kept = [step.ok for step in self.steps if step.memory_id]
        counts = (_counted(kept.count(False), "failure", "failures"), _counted(kept.count(True), "success", "successes"))
        learned = " and ".join(count for count in counts if not count.startswith("0 ")) or "no step"
        ended = self.outcome.value if self.outcome else self.status.value
        return f"retrieved {len(self.shown)}, cited {cited}, learned {learned}, {_counted(len(self.steps), 'step', 'steps')}, {ended}"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def milliseconds(start: datetime, end: datetime) -> int:
    """From one moment to a later one, in whole milliseconds, never negative."""
    return max(round((end - start).total_seconds() * 1000), 0)
