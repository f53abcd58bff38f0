"""The stored form of an episode: one attempt at one task."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from alma.types.identity import UtcDatetime, Value
from alma.types.kinds import Verdict, VerdictSource

EPISODE = "episode"
STEP = "episode_step"
END = "episode_end"
LEASE = "episode_lease"
RUN = "episode_run"
"""Kinds of the small records of an episode: its beginning, one per step, its ending, its lease, and its run."""

LEASE_DURATION = timedelta(minutes=10)
"""An episode that is silent for longer is marked abandoned, until a later step or verdict reopens it."""

SILENT = "it was silent for ten minutes"
"""Reason of such an episode."""


class EpisodeStatus(StrEnum):
    """State of an episode. `abandoned`: left without a verdict by cancellation or by `abandon()`, or silent since its lease expired."""

    OPEN = "open"
    ENDED = "ended"
    ABANDONED = "abandoned"


class Exposure(Value):
    """Records that a memory was shown: at which rank (1 is first) with which score, by which policy and with which probability.

    `used` is `None` as long as it is unknown: nothing was cited and no list of used memories was given.
    """

    memory_id: str
    tag: str
    rank: Annotated[int, Field(ge=1)]
    score: float
    policy: str = "rank"
    probability: float = 1.0
    used: bool | None = None


class Step(Value):
    """One action of an attempt. `tool` names what performed it, so that steps which try the same can be recognised.

    `ok` is `None` for an unjudged step; `feedback` is a remark on it, for its memory; `used` has the ids that were cited or named since the
    step before; `memory_id` names the memory that was made of it, if any.
    """

    number: Annotated[int, Field(ge=1)]
    action: str
    tool: str
    ok: bool | None = None
    error: str | None = None
    output: str | None = None
    duration_ms: int | None = None
    feedback: str | None = None
    used: tuple[str, ...] | None = None
    at: UtcDatetime
    memory_id: str | None = None


class Ending(Value):
    """The end of an episode; without an outcome it was abandoned.

    `source` says who judged. `used` has the ids that were cited or named, `None` if neither happened.
    """

    outcome: Verdict | None
    strategy: str | None = None
    error: str | None = None
    feedback: str | None = None
    source: VerdictSource | None = None
    used: tuple[str, ...] | None = None
    at: UtcDatetime


class Forecast(Value):
    """Probability that an attempt is judged a success, forecast from its steps: the `rate`, and its 95 % interval.

    `judged` is the number of the agent's judged episodes behind it. A forecast is no verdict: nothing is learned from it.
    """

    rate: Annotated[float, Field(ge=0, le=1)]
    lower: Annotated[float, Field(ge=0, le=1)]
    upper: Annotated[float, Field(ge=0, le=1)]
    judged: Annotated[int, Field(ge=0)]


class EpisodeRecord(Value):
    """A stored episode.

    `run_id` and `thread_id` are the caller's own: a run may have several episodes, say one per agent. Both are `None` where none was
    given. `verdict_source` says who judged. It is `None` where this was not given, and in records from before ALMA had this field; the
    memory then has "caller". `reason` is the argument of `settle` or `abandon`. `used` has all ids that were cited or named, `None` if
    neither happened; `credited` has those of them whose use was counted, and to these the outcome is credited. `outcome_id` names the
    memory of the outcome. `forecast` is computed when an ended, unjudged episode is read, and never stored; it is `None` for any other
    episode, and where too few of the agent's episodes were judged.
    """

    id: str
    project_id: str
    agent: str
    task: str
    task_type: str | None = None
    user_id: str | None = None
    run_id: str | None = None
    thread_id: str | None = None
    status: EpisodeStatus = EpisodeStatus.OPEN
    outcome: Verdict | None = None
    verdict_source: VerdictSource | None = None
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
        """Duration in milliseconds; `None` while the episode is open."""
        return None if self.ended_at is None else milliseconds(self.started_at, self.ended_at)

    @property
    def summary(self) -> str:
        """Summary of what was retrieved, cited and learned, in one line: `retrieved 4, cited H1, learned 1 failure, 2 steps, success`."""
        cited = ", ".join(exposure.tag for exposure in self.shown if exposure.used) or "none"
        kept = [step.ok for step in self.steps if step.memory_id]
        counts = (_counted(kept.count(False), "failure", "failures"), _counted(kept.count(True), "success", "successes"))
        learned = " and ".join(count for count in counts if not count.startswith("0 ")) or "no step"
        ended = self.outcome.value if self.outcome else self.status.value
        return f"retrieved {len(self.shown)}, cited {cited}, learned {learned}, {_counted(len(self.steps), 'step', 'steps')}, {ended}"


def with_use(shown: Sequence[Exposure], used: Sequence[str] | None) -> tuple[Exposure, ...]:
    """Returns the exposures, marked by usage; unmarked if it is unknown."""
    return tuple(one.model_copy(update={"used": None if used is None else one.memory_id in used}) for one in shown)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def milliseconds(start: datetime, end: datetime) -> int:
    """Returns the whole milliseconds from `start` to `end`, never negative."""
    return max(round((end - start).total_seconds() * 1000), 0)
