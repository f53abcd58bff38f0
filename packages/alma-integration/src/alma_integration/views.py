"""A run as evaluators see it, and the report of what was learned from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from alma.types.episodes import EpisodeRecord
from alma.types.slice import MemorySlice
from alma_integration.credit import ToolStep
from alma_integration.credit import tools_succeeded as _tools_succeeded


@dataclass(frozen=True, slots=True)
class RunView:
    """One finished run, as evaluators, `usage` and `strategy` functions see it.

    - `task`: what the model was asked; `answer`: its last answer.
    - `steps`: the tool calls of all agents in order.
    - `memories`: what was shown to the first agent; `cited`: the tags that were cited.
    - `result`: the framework's own object; `messages`, `outputs`: what it returned, where it has such.
    - `error`: the exception that ended the run.
    - `run_id`, `thread_id`: the framework's ids; `episode_id`: the argument of `settle`.
    """

    agent: str
    task: str
    answer: str = ""
    steps: tuple[ToolStep, ...] = ()
    memories: MemorySlice = field(default_factory=MemorySlice)
    cited: tuple[str, ...] = ()
    result: Any = None
    messages: tuple[Any, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)
    error: BaseException | None = None
    episode_id: str | None = None
    run_id: str | None = None
    thread_id: str | None = None

    @property
    def output(self) -> str:
        """The answer, under its other usual name."""
        return self.answer


def tools_succeeded(run: RunView) -> bool | None:
    """Evaluates a run by its tools only: True when the last call of each tool succeeded. `None` if no call was judged.

    It does not detect that a limit of calls cut the run short; where there are limits, write an evaluator that does.
    """
    return _tools_succeeded(run.steps)


@dataclass(frozen=True, slots=True)
class RunReport:
    """Report of one run. `str()` of it is the line in the log.

    `episodes` has a record for each agent that took part, first the one that began. `outcome` is its verdict, or "abandoned".
    """

    agent: str
    task: str
    episodes: tuple[EpisodeRecord, ...]
    run_id: str | None = None
    thread_id: str | None = None

    @property
    def episode_id(self) -> str:
        """Id of the first agent's episode."""
        return self.episodes[0].id

    @property
    def outcome(self) -> str:
        """Verdict: "success", "failure", "partial", "unverified" or "abandoned"."""
        return _outcome(self.episodes[0])

    @property
    def retrieved(self) -> int:
        """Number of memories that were shown."""
        return sum(len(record.shown) for record in self.episodes)

    @property
    def cited(self) -> tuple[str, ...]:
        """Tags that were cited."""
        return tuple(exposure.tag for record in self.episodes for exposure in record.shown if exposure.used)

    @property
    def steps(self) -> int:
        """Number of recorded steps."""
        return sum(len(record.steps) for record in self.episodes)

    @property
    def failures(self) -> int:
        """Number of failed steps that became memories."""
        return self._learned().count(False)

    @property
    def successes(self) -> int:
        """Number of repairing steps that became memories."""
        return self._learned().count(True)

    @property
    def summary(self) -> str:
        """Summary in one line: `retrieved 4, cited H1, learned 1 failure, 2 steps, success`."""
        if len(self.episodes) == 1:
            return self.episodes[0].summary
        return "; then ".join(f"{record.agent}: {record.summary}" for record in self.episodes)

    def _learned(self) -> list[bool | None]:
        return [step.ok for record in self.episodes for step in record.steps if step.memory_id]

    def __str__(self) -> str:
        return self.summary


def _outcome(record: EpisodeRecord) -> str:
    return record.outcome.value if record.outcome else "abandoned"
