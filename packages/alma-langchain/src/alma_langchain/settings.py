"""What a user may set, the same for every class of this package."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict

from langchain_core.runnables.config import ensure_config

from alma import Verdict
from alma_langchain.choices import ToolUse, tool_with_short_values
from alma_langchain.options import check_options
from alma_langchain.reading import last_human_text, tool_verdict
from alma_langchain.run import FinishedRun, tool_sequence

Judgement: TypeAlias = "Verdict | str | bool | tuple[Verdict | str | bool, str] | None"
"""A verdict, a verdict with its reason, or `None` where nothing can be said."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """Where a run comes from: the runtime's `context`, and what its configuration says under `configurable` and `metadata`."""

    context: Any = None
    configurable: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> Any:
        """What the run calls by this name; the runtime's context goes first. `None` if it calls nothing so."""
        for place in (self.context, self.configurable, self.metadata):
            found = place.get(name) if isinstance(place, Mapping) else getattr(place, name, None)
            if found is not None:
                return found
        return None


def run_context(context: Any = None, *, metadata: Mapping[str, Any] | None = None) -> RunContext:
    """Where the run that is going on here comes from. What is told of its `metadata` goes before what is found."""
    config = ensure_config()
    found = {**(config.get("metadata") or {}), **(metadata or {})}
    return RunContext(_context_here() if context is None else context, config.get("configurable") or {}, found)


def _context_here() -> Any:
    """The runtime's context of the graph that runs here, for what is not given it; `None` outside of graphs."""
    langgraph = sys.modules.get("langgraph.runtime")  # without it no graph can be running
    try:
        return None if langgraph is None else langgraph.get_runtime().context
    except (AttributeError, KeyError, RuntimeError):
        return None


Identity: TypeAlias = str | int | Callable[[RunContext], str | int | None] | None


def identified(given: Identity, name: str, context: RunContext) -> str | None:
    """Who a run is for: the name that was set, what the function says, or what the run itself calls `name`. A number is a name as well."""
    found: Any = given(context) if callable(given) else given if given is not None else context.find(name)
    named: str | None = str(found) if isinstance(found, int) and not isinstance(found, bool) else found
    return named


OnError: TypeAlias = Literal["log", "raise"]


class Options(TypedDict, total=False):
    """The keyword arguments that all classes take. `Settings` says what each means and its default."""

    top_k: int
    max_tokens: int
    min_score: float | None
    user_id: Identity
    tenant_id: Identity
    task_type: str | None
    task_from: Callable[[Any], str | None]
    outcome_from: Callable[[FinishedRun], Any] | None
    usage_from: Callable[[FinishedRun], Iterable[str] | None] | None
    strategy_from: Callable[[FinishedRun], str | None]
    action_from: Callable[[ToolUse], str]
    tool_outcome_from: Callable[[str, Any], bool | None]
    redact: Callable[[str], str] | None
    on_error: OnError


@dataclass(frozen=True, slots=True)
class Settings:
    """How runs are read and told to ALMA.

    - `top_k`, `max_tokens`: at most so many memories of each kind, and so many tokens of them in the prompt; `min_score`: none below it.
    - `user_id`, `tenant_id`: a name, or a function of the `RunContext`. By default what the run calls `user_id` and `tenant_id`. Preferences of
      that user are shown; a tenant has a project of its own.
    - `task_type`: the class of task that runs are learned under, if they all belong to one.
    - `task_from`: the task in what an agent is given; without one a run is not followed.
    - `outcome_from`: judges a finished run; a coroutine function is awaited where the agent is. Without one, runs are `unverified`.
    - `usage_from`: the ids of the memories that were used, besides those cited by tag.
    - `strategy_from`, `action_from`: a run and a tool call in words. By default a call is told with its short values, since the way that was
      chosen often lies in them; `***` stands for what is named like a secret. `tool_with_choices` tells less, `tool_with_arguments` more.
    - `tool_outcome_from`: whether a tool did well, by its name and what it returned; `None` where nobody can say.
    - `redact`: applied to every text that is stored.
    - `on_error`: whether an error of ALMA itself is logged, or raised into the agent.
    """

    top_k: int = 5
    max_tokens: int = 2000
    min_score: float | None = None
    user_id: Identity = None
    tenant_id: Identity = None
    task_type: str | None = None
    task_from: Callable[[Any], str | None] = last_human_text
    outcome_from: Callable[[FinishedRun], Any] | None = None
    usage_from: Callable[[FinishedRun], Iterable[str] | None] | None = None
    strategy_from: Callable[[FinishedRun], str | None] = tool_sequence
    action_from: Callable[[ToolUse], str] = tool_with_short_values
    tool_outcome_from: Callable[[str, Any], bool | None] = tool_verdict
    redact: Callable[[str], str] | None = None
    on_error: OnError = "log"

    def __post_init__(self) -> None:
        check_options({name: getattr(self, name) for name in self.__dataclass_fields__})

    def told(self, text: str) -> str:
        """A text as it may be stored."""
        return self.redact(text) if self.redact else text
