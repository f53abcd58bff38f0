"""How attempts are recorded: the settings that a memory, a listener and every run share, and what went wrong on the way."""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from alma import ALMA, Episode, EpisodeRecord, MemorySlice, ValidationError, Verdict
from alma.memory.arguments import checked_count
from alma.text import one_line, shortened
from alma.types import Step
from alma_crewai import told

if TYPE_CHECKING:
    from alma_crewai.run import Run

_LOG = logging.getLogger("alma")

MOST_ERRORS = 100

Judged = Verdict | str | bool | None
Evaluator = Callable[[str, str], "Judged | tuple[Judged, str]"]
"""Judges a task by the answer to it: "success", "failure", "partial", `True`, `False`, or `None` to leave it open; with a reason, a pair of both."""
TellStrategy = Callable[[str, Sequence[Step]], "str | None"]
"""Says from the answer and the steps which way was taken."""


TellAction = Callable[[str, object], str]
"""Says a call of a tool in words, from its name and arguments."""


class Settings(TypedDict, total=False):
    """How attempts are recorded, as keyword arguments; `Practice` says what each means and its default."""

    agent: str | None
    user_id: str | Callable[[], str | None] | None
    task_type: str | None
    top_k: int
    evaluator: Evaluator | None
    strategy: TellStrategy
    action: TellAction


def check_names(settings: Mapping[str, object], owner: str) -> None:
    """`TypeError` for a setting that there is not, in the name of what the user called."""
    if unknown := sorted(settings.keys() - Settings.__annotations__.keys()):
        raise TypeError(f"{owner} has no argument {unknown[0]!r}; there are {', '.join(Settings.__annotations__)}")


def check_count(value: object, name: str) -> None:
    """`ValidationError` for anything but a whole number of 1 or more."""
    _check(isinstance(value, int) and not isinstance(value, bool) and value > 0, name, value, "a whole number, 1 or more")


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _check(is_right: bool, name: str, value: object, wanted: str) -> None:
    if not is_right:
        raise ValidationError(f"{name} must be {wanted}, not {shortened(repr(value), 60)}")


@dataclass(slots=True)
class Practice:
    """How attempts are recorded.

    - `agent`: one name to file all under, instead of each acting agent's role.
    - `user_id`: whose preferences are shown; a name, or a function that gives one, called when a task begins.
    - `task_type`: the class of task that all is learned under, if there is one.
    - `top_k`: at most so many memories of each kind are shown.
    - `evaluator`: judges a task by its answer, where a guardrail does not.
    - `strategy`, `action`: the way that was taken, and a call of a tool, in words. By default values of arguments are told, since they are often
      what made the difference.

    `errors` has what went wrong in ALMA or in the user's own functions: a crew never fails by its memory.
    """

    alma: ALMA
    agent: str | None = None
    user_id: str | Callable[[], str | None] | None = None
    task_type: str | None = None
    top_k: int = 5
    evaluator: Evaluator | None = None
    strategy: TellStrategy = told.strategy
    action: TellAction = told.call
    errors: deque[Exception] = field(default_factory=lambda: deque(maxlen=MOST_ERRORS))
    last_run: EpisodeRecord | None = None
    open_runs: "set[Run]" = field(default_factory=set)

    def __post_init__(self) -> None:
        """`ValidationError` for what could only fail in the middle of a crew's work."""
        _check(isinstance(self.alma, ALMA), "alma", self.alma, "an ALMA")
        _check(self.agent is None or _is_name(self.agent), "agent", self.agent, "a name")
        _check(
            self.user_id is None or callable(self.user_id) or _is_name(self.user_id),
            "user_id",
            self.user_id,
            "a name or a function",
        )
        _check(self.task_type is None or _is_name(self.task_type), "task_type", self.task_type, "a name")
        checked_count(self.top_k, "top_k")
        _check(self.evaluator is None or callable(self.evaluator), "evaluator", self.evaluator, "a function")
        _check(callable(self.strategy), "strategy", self.strategy, "a function")
        _check(callable(self.action), "action", self.action, "a function")

    def user(self) -> str | None:
        """The user whose preferences count now."""
        return self.user_id() if callable(self.user_id) else self.user_id

    def retrieve(self, query: str, agent: str, *, user_id: str | None, top_k: int | None = None) -> MemorySlice:
        """What matters for a query."""
        return self.alma.retrieve(task=query, agent=agent, top_k=top_k or self.top_k, user_id=user_id)

    def begin(self, task: str, agent: str, *, user_id: str | None, memories: MemorySlice) -> Episode:
        """An episode on a task for which this was shown."""
        return self.alma.episode(
            agent=agent, task=task, user_id=user_id, task_type=self.task_type, memories=memories, deferred=True
        )

    def judged(self, task: str, answer: str) -> tuple[Verdict | None, str | None]:
        """What the evaluator says, and why; `None` without one, or if it leaves it open."""
        judged = self.evaluator(task, answer) if self.evaluator else None
        said, reason = judged if isinstance(judged, tuple) else (judged, None)
        if said is None:
            return None, reason
        if isinstance(said, bool):
            return Verdict.SUCCESS if said else Verdict.FAILURE, reason
        return Verdict(str(said).strip().lower()), reason

    def report(self, problem: Exception) -> None:
        """Keeps what went wrong."""
        self.errors.append(problem)
        _LOG.warning("a crew goes on without its memory: %s: %s", type(problem).__name__, problem)

    def ended(self, record: EpisodeRecord | None) -> None:
        """Tells of an attempt that was recorded, in one line."""
        if record is None:
            return
        self.last_run = record
        used = sum(exposure.used is True for exposure in record.shown)
        _LOG.info(
            "%s: %s by %r; %d steps, %d of %d memories used",
            record.outcome,
            shortened(one_line(record.task), 80),
            record.agent,
            len(record.steps),
            used,
            len(record.shown),
        )
