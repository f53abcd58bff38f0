"""The options of a user, the same for every framework."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, TypeAlias, TypedDict

from alma.errors import ConfigurationError, ScopeViolationError, ValidationError
from alma.memory.arguments import checked_count
from alma.text import quoted
from alma_integration.answers import ToolVerdict, tool_verdict
from alma_integration.calls import ToolUse, named_call
from alma_integration.context import Identity, check_identity
from alma_integration.credit import strategy_of
from alma_integration.judging import Evaluator
from alma_integration.views import RunReport, RunView

MOST_TOKENS = 1_000_000
LOCK_SECONDS = 2.0
"""An agent waits this long for another writer, unless `lock_timeout` says otherwise."""

OnError: TypeAlias = Literal["log", "raise"]
Inject: TypeAlias = Literal["message", "system", "none"]
ToolOutcome: TypeAlias = Callable[[str, Any], "ToolVerdict | bool | None"]


def default_tool_outcome(name: str, result: Any) -> ToolVerdict:
    """Reads the outcome of a tool call from what it returned: exceptions, error flags, exit codes, HTTP statuses and error-shaped answers."""
    return tool_verdict(result)


def default_strategy(run: RunView) -> str | None:
    """Returns the strategy of a run from its tool calls; see `strategy_of`."""
    return strategy_of(run.steps)


class OptionArguments(TypedDict, total=False):
    """The options as keyword arguments. `Options` documents each and its default."""

    user_id: Identity
    tenant_id: Identity
    task_type: Identity
    top_k: int
    max_tokens: int
    min_score: float | None
    evaluator: Evaluator | None
    usage: Callable[[RunView], Iterable[str] | None] | None
    strategy: Callable[[RunView], str | None]
    action: Callable[[ToolUse], str]
    tool_outcome: ToolOutcome
    redact: Callable[[str], str] | None
    on_run: Callable[[RunReport], Any] | None
    on_error: OnError
    lock_timeout: float
    inject: Inject
    strip_tags: bool


class ToolkitArguments(TypedDict, total=False):
    """Options of a `Toolkit` beside the agent, as keyword arguments."""

    user_id: Identity
    tenant_id: Identity
    top_k: int
    prefix: str
    redact: Callable[[str], str] | None
    on_error: OnError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options for reading and recording runs.

    - `user_id`, `tenant_id`, `task_type`: a name, or a function of the `RunContext`. By default what the run calls `user_id` and `tenant_id`, and
      no task type. Preferences of that user are shown; a tenant has a project of its own.
    - `top_k`, `max_tokens`, `min_score`: limits of the notes: memories of each kind, tokens in all, and the least score.
    - `evaluator`: judges a finished run from its `RunView`; may be a coroutine function. Without one, runs are `unverified`.
    - `usage`: the ids of the memories that were used, besides those that were cited by tag.
    - `strategy`, `action`: a run and a tool call in words. The defaults leave out failed calls, and values that vary from task to task.
    - `tool_outcome`: whether a tool did well, by its name and what it returned; `None` where that is unknown.
    - `redact`: applied to each text before it is stored or searched for.
    - `on_run`: called with the `RunReport` of each run when it is recorded.
    - `on_error`: whether an error of ALMA itself is logged, or raised into the agent.
    - `lock_timeout`: seconds that a write waits for another process. A run waits once, and once more
      at its end if it had begun; then it is not recorded.
    - `inject`: where the notes go: beside the run's own message, into the system prompt, or nowhere.
    - `strip_tags`: removes citations such as `[H1]` from the final answer.
    """

    user_id: Identity = None
    tenant_id: Identity = None
    task_type: Identity = None
    top_k: int = 5
    max_tokens: int = 2000
    min_score: float | None = None
    evaluator: Evaluator | None = None
    usage: Callable[[RunView], Iterable[str] | None] | None = None
    strategy: Callable[[RunView], str | None] = default_strategy
    action: Callable[[ToolUse], str] = named_call
    tool_outcome: ToolOutcome = default_tool_outcome
    redact: Callable[[str], str] | None = None
    on_run: Callable[[RunReport], Any] | None = None
    on_error: OnError = "log"
    lock_timeout: float = LOCK_SECONDS
    inject: Inject = "message"
    strip_tags: bool = False

    def __post_init__(self) -> None:
        """Raises `ConfigurationError` for the first invalid option, so that it is found before the first run."""
        try:
            checked_count(self.top_k, "top_k")
            if self.max_tokens != 0:
                checked_count(self.max_tokens, "max_tokens", largest=MOST_TOKENS)
            for name in ("user_id", "tenant_id", "task_type"):
                check_identity(getattr(self, name), name)
        except (ScopeViolationError, ValidationError) as error:
            raise ConfigurationError(str(error)) from error
        check_score(self.min_score)
        check_seconds(self.lock_timeout)
        for name in ("strategy", "action", "tool_outcome"):
            check_function(getattr(self, name), name)
        for name in ("evaluator", "usage", "redact", "on_run"):
            check_function(getattr(self, name), name, is_optional=True)
        check_choice(self.on_error, "on_error", ("log", "raise"))
        check_choice(self.inject, "inject", ("message", "system", "none"))
        check_choice(self.strip_tags, "strip_tags", (True, False))

    @classmethod
    def names(cls) -> frozenset[str]:
        """Returns the names of all options."""
        return frozenset(option.name for option in fields(cls))

    @classmethod
    def taken(cls, given: dict[str, Any]) -> Self:
        """Takes the options out of a call's keyword arguments and leaves the others in `given`."""
        return cls(**taken(given))

    def stored(self, text: str) -> str:
        """Returns a text in the form to store: redacted if `redact` is set."""
        return self.redact(text) if self.redact else text


def taken(given: dict[str, Any], *further: str) -> OptionArguments:
    """Takes the arguments that are options, and those of further names, out of a call's keyword arguments and leaves the others."""
    return {name: given.pop(name) for name in {*Options.names(), *further} & given.keys()}  # type: ignore[return-value]  # they are no others


def check_function(value: object, name: str, *, is_optional: bool = False) -> None:
    """Raises `ConfigurationError` unless the value can be called."""
    if not callable(value) and not (is_optional and value is None):
        raise ConfigurationError(f"{name} must be a function, not {quoted(value)}")


def check_choice(value: object, name: str, choices: tuple[object, ...]) -> None:
    """Raises `ConfigurationError` unless the value is one of the choices."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ConfigurationError(f"{name} is {quoted(value)}; it must be {' or '.join(map(repr, choices))}")


def check_score(value: object) -> None:
    """Raises `ConfigurationError` unless the value is a finite number or `None`."""
    if value is not None and not _is_finite(value):
        raise ConfigurationError(f"min_score must be a number, not {quoted(value)}")


def check_seconds(value: object) -> None:
    """Raises `ConfigurationError` unless the value is a number of seconds, 0 to 3,600."""
    if not _is_finite(value) or not 0 <= value <= 3600:  # type: ignore[operator]  # it is a number by then
        raise ConfigurationError(f"lock_timeout must be a number of seconds, 0 to 3600, not {quoted(value)}")


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
