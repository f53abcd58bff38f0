"""Runs: what an agent was asked, did and answered, while it goes on and afterwards."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from alma import ALMA, Episode, EpisodeRecord, MemorySlice, StorageError, Verdict
from alma.text import masked, shortened, storable

Written = TypeVar("Written")
ARGUMENT_CHARS = 200
STRATEGY_CHARS = 600
Redact = Callable[[str], str]
"""Takes out of a text what must not be stored."""
TASK_CHARS = 4_000
"""A user's message may hold a whole document. This much of it is the task."""


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One call of a tool, and what it came to: its answer, or the error if not `ok`.

    `agent` is who called it, by LlamaIndex's name; `action` is the call in words, as it is kept.
    """

    agent: str
    tool: str
    arguments: Mapping[str, Any]
    action: str
    ok: bool
    answer: str
    duration_ms: float | None = None


@dataclass(frozen=True, slots=True)
class AgentRun:
    """A run that has ended: what evaluators are asked about, and what `last_run` holds.

    `agent` and `task` are as ALMA knows them; `result` is LlamaIndex's own object, `None` if there is none because of `error`. `episodes` has one
    record for each agent that took part, once they are written.
    """

    agent: str
    task: str
    output: str
    steps: tuple[ToolStep, ...]
    result: Any = None
    error: BaseException | None = None
    episodes: tuple[EpisodeRecord, ...] = ()

    @property
    def outcome(self) -> Verdict | None:
        """How it ended; `None` if it was abandoned or nothing of it was kept."""
        return self.episodes[0].outcome if self.episodes else None


Judged = Verdict | str | bool | None
Evaluator = Callable[[AgentRun], Any]
"""Says how a run went: "success", "failure", "partial", `True`, `False`, or `None` where it cannot tell; with a reason, a pair of both.

It is called beside the agents, on a thread of ALMA's own, so it may take its time; it may be a coroutine function.
"""
Action = Callable[[str, Mapping[str, Any]], str]
"""Says a call of a tool in words, from its name and its arguments."""
Strategy = Callable[[Sequence[ToolStep]], str | None]
"""Says in words what was tried, from the tool calls of one agent."""


def told_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """The call with its arguments, since the way that was chosen often lies in them: `deploy(way='blue-green')`.

    What is named like a secret (`password`, `token`, `api_key`) is told as `'***'`.
    """
    given = ", ".join(f"{name}={shortened(repr(value), ARGUMENT_CHARS)}" for name, value in masked(arguments).items())
    return f"{tool}({given})" if given else tool


def calls_in_order(steps: Sequence[ToolStep]) -> str | None:
    """The distinct calls in their order: `check, then deploy(way='blue-green')`."""
    return shortened(", then ".join(dict.fromkeys(step.action for step in steps)), STRATEGY_CHARS) or None


@dataclass(slots=True)
class Part:
    """One agent's part in a run, which is one episode."""

    name: str
    agent: str
    task: str
    memories: MemorySlice
    user_id: str | None = None
    evaluator: Evaluator | None = None
    episode: Episode | None = None

    def begin(self, alma: ALMA, redact: Redact) -> None:
        """Opens the episode."""
        memories = self.memories.model_copy(update={"query": redact(self.memories.query)})
        self.episode = alma.episode(
            agent=self.agent, task=redact(self.task), user_id=self.user_id, memories=memories, deferred=True
        )

    def step(self, step: ToolStep, redact: Redact) -> None:
        """Keeps a step durably, if the episode could be opened."""
        if self.episode is not None:
            action, said = redact(step.action), {"output" if step.ok else "error": redact(step.answer)}
            self.write(lambda episode: episode.step(action, ok=step.ok, tool=step.tool, duration_ms=step.duration_ms, **said))

    def write(self, call: Callable[[Episode], Written]) -> Written | None:
        """What comes of a write, if the episode could be opened. The store hears of it by its first write: where that fails, the part is given up."""
        if self.episode is None:
            return None
        try:
            return call(self.episode)
        except StorageError:
            if not self.episode.is_written:
                self.episode = None
            raise

    def observe(self, text: str) -> None:
        """Counts as used what a text of the agent cites."""
        if self.episode is not None:
            self.episode.observe(text)


@dataclass(slots=True)
class Run:
    """A run that is going on. `first` is the agent it began with and `speaking` the one whose turn it is, by LlamaIndex's names.

    Of a workflow of agents it `is_workflow`, and may go from one to another. `shown` has what each agent was shown by each memory block, `unbegun`
    the parts whose episodes are still to be opened. What an evaluator runs to come to its verdict `is_judging`.
    """

    first: str
    task: str
    is_query: bool = False
    is_workflow: bool = False
    is_judging: bool = False
    speaking: str = ""
    context: Any = None
    parts: dict[str, Part] = field(default_factory=dict)
    unbegun: list[Part] = field(default_factory=list)
    shown: dict[tuple[str, object], MemorySlice] = field(default_factory=dict)
    steps: list[ToolStep] = field(default_factory=list)
    speakers: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.heard(self.first)

    def heard(self, name: str) -> None:
        """That it is this agent's turn."""
        self.speaking = name
        self.speakers[name] = None

    def narrow(self, memories: MemorySlice, fewer: MemorySlice) -> None:
        """Says that of some memories only these reached the prompt. What was begun with stands."""
        for part in self.unbegun:
            if part.memories is memories:
                part.memories = fewer

    def steps_of(self, name: str) -> list[ToolStep]:
        """What one agent did so far."""
        return [step for step in self.steps if step.agent == name]

    def ended(self, *, output: str = "", result: object = None, error: BaseException | None = None) -> AgentRun:
        """The run as it is afterwards."""
        parts = list(self.parts.values())
        return AgentRun(
            agent=parts[0].agent if parts else self.first,
            task=parts[0].task if parts else self.task,
            output=output,
            steps=tuple(self.steps),
            result=getattr(result, "result", result),
            error=error,
        )


def as_task(text: str) -> str:
    """A user's message as a task that can be asked for and kept."""
    return storable(text, TASK_CHARS)
