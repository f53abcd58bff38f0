"""Common base of this package's classes: an `Integration` that reads LangChain's values."""

import sys
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn, Self, TypeAlias, Unpack

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from alma import ALMA
from alma.errors import ConfigurationError
from alma.text import quoted
from alma_integration import (
    Identity,
    Integration,
    Learning,
    OptionArguments,
    Options,
    Run,
    RunContext,
    ToolUse,
    check_identity,
    default_tool_outcome,
    noted_on,
    tool_use,
)
from alma_langchain.reading import (
    is_hand_over,
    is_leaving,
    is_steering,
    last_human_text,
    names_of,
    rejection,
    text_under,
    tool_messages,
)
from alma_langchain.tree import Heard, ToolCall

_NO_TOOLS = ("invalid_tool", "_Exception")
"""Names that an executor calls in place of a tool that does not exist."""

OWN_TOOLS = "alma"
"""Tag of ALMA's own tools, whose calls are no steps of the agent's work."""


TaskFrom: TypeAlias = Callable[[Any], str | None] | str


class RunOptions(OptionArguments, total=False):
    """The options of `alma.integration.Options`, and `task_from`: the key of the task in what an agent or a chain is given, or a function
    that reads it there."""

    task_from: TaskFrom


class Recorder(Integration):
    """Follows the runs of one agent. `errors` has the last errors of ALMA itself, `last_run` the report of the run recorded last."""

    def __init__(self, alma: ALMA, *, agent: Identity, task_from: TaskFrom = last_human_text, **options: Any) -> None:
        if not task_from or not isinstance(task_from, str | Callable):
            raise ConfigurationError(f"task_from must be a key of the input or a function, not {quoted(task_from)}")
        check_identity(agent, "agent", is_optional=False)  # the owner of memories has no default
        super().__init__(alma, agent=agent, options=Options(**options))
        self._task_from = task_from if callable(task_from) else partial(text_under, task_from)
        self._given: Run | None = None
        self._schemas: dict[str, tuple[BaseTool, Mapping[str, Any]]] = {}

    @classmethod
    def of(cls, run: Run) -> Self:
        """Returns the recorder of one run that a harness began: whatever begins is that run."""
        made = cls(run.integration.alma, agent=run.agent)
        made.options, made.errors, made._given = run.options, run.integration.errors, run
        return made

    def task(self, given: Any) -> str | None:
        """Returns the task in the input; `None` if it cannot be read. Then a warning describes the input."""
        found = None
        with self.guard("the task was not read"):
            found = self._task_from(given)
            if not found:
                self.warn_once(
                    f"a run was not recorded: {names_of(given)} holds no text that is its task; say which with task_from="
                )
        return found or None

    def begun(self, task: str, context: RunContext, *, run_id: object = None, episode_id: str | None = None) -> Run | None:
        """Returns a new run, or the resumed run of an episode; `None` if its agent cannot be named."""
        begun = self._given
        if begun is not None:
            return begun
        with self.guard("a run could not be taken up again" if episode_id else "a run was not recorded"):
            known = None if run_id is None else str(run_id)
            begun = self.resumed(episode_id, task, context=context, run_id=known, thread_id=thread_of(context))
        return begun  # noqa: RET504 - None where it could not begin

    def returned(self, call: ToolCall, result: Any) -> Run | None:
        """Reports a tool's result, and returns the run. `tool_outcome` receives LangChain's own value; the default one, its text."""
        run, messages = call.of.run, tool_messages(result)
        call.of.settled |= {call.call_id, *(message.tool_call_id for message in messages)}
        if run is None or is_hand_over(result):
            return None
        with self.guard("what a tool returned was not read", run):
            failed = (call.tool is None and call.name in _NO_TOOLS) or any(message.status == "error" for message in messages)
            is_read = messages and self.options.tool_outcome is default_tool_outcome
            value = "\n".join(str(message.text) for message in messages) if is_read else result
            run.tool_returned(self._use(run, call), value, seconds=call.seconds, ok=False if failed else None)
        return run

    def raised(self, call: ToolCall, error: BaseException) -> Run | None:
        """Reports an exception of a tool, and returns the run."""
        run = call.of.run
        call.of.settled.add(call.call_id)
        if run is not None and not is_steering(error):
            run.tool_raised(self._use(run, call), error, seconds=call.seconds)
        return run

    def unheard(self, of: Heard, messages: Sequence[BaseMessage], *, refused: Container[str] | None = None) -> None:
        """Reports failed calls for which no hook or callback was called: refused ones (all, if `refused` is not given), and those of
        tools that do not exist."""
        calls = {call["id"]: call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
        failed = [message for message in messages if isinstance(message, ToolMessage) and message.status == "error"]
        for message in failed:
            if of.run is None or message.tool_call_id in of.settled:
                continue
            of.settled.add(message.tool_call_id)
            known: Any = calls.get(message.tool_call_id) or {"name": message.name or "tool", "args": {}}
            use, reason = self._use(of.run, ToolCall(of, known["name"], known["args"])), rejection(message)
            if refused is not None and message.tool_call_id not in refused:
                of.run.tool_failed(use, str(message.text), may_be_known=True)
            else:
                of.run.tool_refused(use, reason or str(message.text), may_be_known=True)
                if reason:
                    of.run.corrected(reason)

    def _use(self, run: Run, call: ToolCall) -> ToolUse:
        """Returns the call as a `ToolUse`. A tool's schema is read once."""
        schema: Mapping[str, Any] = {}
        with self.guard("the schema of a tool was not read", run):
            if call.tool is not None and self._schemas.get(call.name, (None,))[0] is not call.tool:
                self._schemas[call.name] = call.tool, convert_to_openai_tool(call.tool)["function"].get("parameters", {})
            schema = self._schemas[call.name][1] if call.tool is not None else {}
        return tool_use(call.name, call.arguments, schema=schema, task=run.task)


def end_by(error: BaseException, run: Run) -> None:
    """Ends a run by the exception that ended its chain. An interrupt leaves it open; where another agent continues, there is nothing to
    judge."""
    with noted_on(error):
        if is_leaving(error):
            run.end("", is_judged=False)
        elif is_steering(error):
            run.suspend()
        else:
            run.fail(error)


class Recording(Learning):
    """Learns through a recorder, which all objects of one memory share."""

    _integration: Recorder

    @property
    def recorder(self) -> Recorder:
        return self._integration


class Following(Recording):
    """Follows runs, through its own recorder or a shared one."""

    def __init__(self, alma: ALMA, *, agent: Identity, **options: Unpack[RunOptions]) -> None:
        self._set_up(Recorder(alma, agent=agent, **options))

    @classmethod
    def over(cls, recorder: Recorder, **given: Any) -> Self:
        """Creates one with a shared recorder."""
        made = cls.__new__(cls)
        made._set_up(recorder, **given)
        return made

    def _set_up(self, recorder: Recorder) -> None:
        self._integration = recorder


def misplaced(kind: str, instead: str) -> Any:
    """Returns a property that LangChain reads on another kind of object; reading it raises an error that says what to pass instead."""
    error = ConfigurationError if kind == "middleware" else AttributeError  # LangChain ignores an AttributeError on middleware

    def refuse(owner: object) -> NoReturn:
        raise error(f"{type(owner).__name__} is no {kind}; give {instead}")

    return property(refuse)


def run_context(context: Any = None, *, metadata: Mapping[str, Any] | None = None) -> RunContext:
    """Returns the context of the current run. `metadata` takes precedence over what is found."""
    config = ensure_config()
    found = {**(config.get("metadata") or {}), **(metadata or {})}
    return RunContext(_context_here() if context is None else context, config.get("configurable") or {}, found)


def thread_of(context: RunContext) -> str | None:
    """Returns the id of the run's thread."""
    found = context.configurable.get("thread_id", context.metadata.get("thread_id"))
    return None if found is None else str(found)


def _context_here() -> Any:
    """Returns the runtime context of the running graph; `None` outside of graphs."""
    langgraph: Any = sys.modules.get("langgraph.runtime")  # without it no graph is running
    with suppress(AttributeError, KeyError, RuntimeError):
        return langgraph.get_runtime().context
    return None
