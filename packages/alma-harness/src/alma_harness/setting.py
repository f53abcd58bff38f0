"""Values of a harness: the fixed setting, the context of one run, the memory schema, and the result."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pydantic import Field, field_validator

from alma import Episode, MemoryScope, MemorySlice
from alma.text import quoted
from alma_harness.values import Value
from alma_integration import RunReport, checked_name


class Setting(Value):
    """The part that all runs of a harness share.

    `tools` are functions, or names of tools that the agent brings itself. `global_constraints` hold for every task.
    """

    name: str = Field(min_length=1)
    description: str = ""
    tools: tuple[str | Callable[..., Any], ...] = ()
    global_constraints: tuple[str, ...] = ()

    @field_validator("tools")
    @classmethod
    def _have_names(cls, tools: tuple[str | Callable[..., Any], ...]) -> tuple[str | Callable[..., Any], ...]:
        names = [tool_name(tool) for tool in tools]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two tools have the name {quoted(twice)}")
        return tools


class Context(Value):
    """The part that differs from run to run: the task, and for whom.

    `project_id` is the project whose memory it uses, by default that of the `ALMA` of the harness. Preferences of `user_id` are shown.
    `session_id` is kept as the thread of the episode. `run_id` identifies the run; by default it is a new one.
    """

    task: str
    project_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    inputs: dict[str, Any] = Field(default_factory=dict)
    constraints: tuple[str, ...] = ()
    run_id: str = Field(default_factory=lambda: uuid4().hex, min_length=1, max_length=200)

    @field_validator("task")
    @classmethod
    def _is_said(cls, task: str) -> str:
        if not task.strip():
            raise ValueError("a task needs words")
        return task

    @field_validator("project_id", "user_id", "session_id")
    @classmethod
    def _is_a_name(cls, name: str | None) -> str | None:
        return None if name is None else checked_name(name, "a name")


class MemorySchema(Value):
    """Categories that an agent learns, and the agents that it shares with."""

    domain: str = ""
    can_learn: tuple[str, ...] = ()
    cannot_learn: tuple[str, ...] = ()
    share_with: tuple[str, ...] | None = None
    inherit_from: tuple[str, ...] = ()
    min_occurrences_for_heuristic: int = Field(default=3, ge=1)

    def to_scope(self) -> MemoryScope:
        """Returns the rules in the form that `ALMA.open(agents={NAME: scope})` takes."""
        return MemoryScope(**self.model_dump())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """Result of a run.

    `success` is `None` where no evaluator, exception or caller judged it. `output` is what the agent returned, or the prompt where the
    harness has no agent; then `episode` is open. `result` is the framework's own result, with its messages and usage, of an agent of
    PydanticAI or the OpenAI Agents SDK. `reflections` say what was shown, cited and learned.
    """

    success: bool | None = None
    output: Any = None
    result: Any = None
    reflections: tuple[str, ...] = ()
    tools_used: tuple[str, ...] = ()
    duration_ms: float = 0.0
    error: str | None = None
    prompt: str = ""
    memories: MemorySlice = field(default_factory=MemorySlice)
    episode_id: str | None = None
    episode: Episode | None = None
    report: RunReport | None = None


def tool_name(tool: str | Callable[..., Any]) -> str:
    """Returns the name of a tool of a setting."""
    return tool if isinstance(tool, str) else str(getattr(tool, "__name__", type(tool).__name__))
