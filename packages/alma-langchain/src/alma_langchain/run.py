"""A run that has finished, and what ALMA took from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from alma import MemorySlice
from alma.types import Step


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """One run of an agent, as an evaluator sees it: its task, what it was shown, what it did, what it said last, and what came out.

    `messages` are those of this run, not of the whole thread; `outputs` is the state or the dictionary that the agent returned.
    """

    agent: str
    task: str
    answer: str = ""
    messages: tuple[BaseMessage, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    memories: MemorySlice = field(default_factory=MemorySlice)


@dataclass(frozen=True, slots=True)
class RunReport:
    """What ALMA took from one run; `str()` of it is the line in the log."""

    episode_id: str
    agent: str
    task: str
    outcome: str
    retrieved: int
    cited: tuple[str, ...]
    failures: int
    successes: int
    steps: int
    summary: str

    def __str__(self) -> str:
        return self.summary


def tool_sequence(run: FinishedRun) -> str | None:
    """The strategy of a run by its tool calls, in order; the same call again and again is told once. `None` if it called none."""
    actions = [step.action for step in run.steps]
    distinct = [action for place, action in enumerate(actions) if place == 0 or action != actions[place - 1]]
    return ", then ".join(distinct) or None


def tools_succeeded(run: FinishedRun) -> bool | None:
    """A verdict by the tools alone: whether the last call of each tool did well. `None` if no tool was judged.

    It does not see that a limit of calls cut the run short: where there are limits, an evaluator of your own does.
    """
    last = {step.tool: step.ok for step in run.steps if step.ok is not None}
    return all(last.values()) if last else None
