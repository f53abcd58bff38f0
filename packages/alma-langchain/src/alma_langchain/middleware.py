"""Middleware for `create_agent`: memory before the run, a step a tool call, an episode a run."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, Unpack, cast
from uuid import UUID

from langchain_core.runnables.config import var_child_runnable_config

from alma import ALMA, ConfigurationError
from alma_langchain.attempt import Attempt
from alma_langchain.choices import ToolUse
from alma_langchain.events import OWN_TOOLS, RUNS, watch
from alma_langchain.extras import missing_extra
from alma_langchain.misplaced import tell_missing
from alma_langchain.reading import final_answer, messages_since, said_by_model
from alma_langchain.recorder import Recorder
from alma_langchain.run import FinishedRun, RunReport
from alma_langchain.settings import Options, Settings, run_context
from alma_langchain.signals import says_nothing

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, ToolCallRequest
    from langchain.agents.middleware.types import ExtendedModelResponse

    from alma_langchain.prompting import ALMAState, NotesMiddleware, entry_of, with_notes
except ImportError as error:
    raise missing_extra("ALMAMiddleware", "agents") from error

Inject: TypeAlias = Literal["system", "none"]


class ALMAMiddleware(AgentMiddleware[ALMAState, Any, Any]):
    """An agent that learns: `create_agent(model, tools, middleware=[ALMAMiddleware(alma, agent="…")])`.

    Before the run it retrieves what matters; each model call sees it as the last block of the system prompt. Each tool call becomes a step of an
    episode, durably when it returns, and the run ends the episode, however it ends. Put it first: the first sees what tools come to after retries
    and repairs. `split()` gives a pair if memory has to come after what other middleware adds to the prompt; `inject="none"` shows nothing. Several
    in one agent need names of their own. Takes the options of `Settings`.
    """

    state_schema = ALMAState

    def __init__(
        self, alma: ALMA, *, agent: str, inject: Inject = "system", name: str = "ALMAMiddleware", **options: Unpack[Options]
    ) -> None:
        self._set_up(Recorder(alma, agent, Settings(**options)), inject=inject, name=name)

    @classmethod
    def over(cls, recorder: Recorder, *, inject: Inject = "system", name: str = "ALMAMiddleware") -> "ALMAMiddleware":
        """Middleware over a recorder that others use as well."""
        made = cls.__new__(cls)
        made._set_up(recorder, inject=inject, name=name)
        return made

    def _set_up(self, recorder: Recorder, *, inject: Inject, name: str) -> None:
        super().__init__()
        if inject not in ("system", "none"):
            raise ConfigurationError(f"inject is {inject!r}; it must be 'system' or 'none'")
        self.recorder = recorder
        self._inject = inject
        self._is_shown = inject == "system"
        self._name = name
        watch()

    if not TYPE_CHECKING:  # a type checker knows what there is

        def __getattr__(self, name: str) -> NoReturn:
            tell_missing(self, name, handler="ALMACallbackHandler(alma, agent=…)")

    @property
    def name(self) -> str:
        """Its name in the graph."""
        return self._name

    @property
    def errors(self) -> list[Exception]:
        """The last errors of ALMA itself, oldest first."""
        return list(self.recorder.errors)

    @property
    def last_run(self) -> RunReport | None:
        """What was taken from the run that ended last."""
        return self.recorder.last_run

    def split(self) -> "tuple[ALMAMiddleware, NotesMiddleware]":
        """The same in two: the first records and goes first, the second writes the notes into the prompt and goes last."""
        records = ALMAMiddleware.over(self.recorder, inject="none", name=self._name)
        records._is_shown = True  # by the other one
        return records, NotesMiddleware(self._name)

    def before_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any]:
        """Begins the episode and keeps the notes for the model calls."""
        return self._begun(self._follow(state, runtime), state)

    async def abefore_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any]:
        """As `before_agent`."""
        return await asyncio.to_thread(self._begun, self._follow(state, runtime), state)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Shows the notes to the model, and finds what it cites."""
        attempt = self._at_model(request)
        response = handler(self._with_notes(request))
        self._observe(attempt, response)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """As `wrap_model_call`."""
        attempt = self._at_model(request)
        response = await handler(self._with_notes(request))
        self._observe(attempt, response)
        return response

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Makes the tool call a step."""
        attempt = self._at_tool(request)
        start = time.perf_counter()
        try:
            result = handler(request)
        except BaseException as error:
            if attempt is not None:
                _raised(attempt, request, error, start)
                attempt.settle()
            raise
        if attempt is not None:
            _returned(attempt, request, result, start)
            attempt.settle()
        return result

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        """As `wrap_tool_call`."""
        attempt = self._at_tool(request)
        start = time.perf_counter()
        try:
            result = await handler(request)
        except Exception as error:
            if attempt is not None:
                _raised(attempt, request, error, start)
                await asyncio.to_thread(attempt.settle)
            raise
        if attempt is not None:
            _returned(attempt, request, result, start)
            await asyncio.to_thread(attempt.settle)
        return result

    def after_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any] | None:
        """Judges the run and ends its episode."""
        attempt = self._current(state, runtime.context)
        if attempt is not None:
            self.recorder.end(attempt, self._finished(attempt, state))
        return self._without(state)

    async def aafter_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any] | None:
        """As `after_agent`."""
        attempt = self._current(state, runtime.context)
        if attempt is not None:
            await self.recorder.aend(attempt, await asyncio.to_thread(self._finished, attempt, state))
        return self._without(state)

    def _follow(self, state: ALMAState, runtime: Any) -> Attempt | None:
        attempt = None
        with self.recorder.guard("the task was not read"):
            if task := self.recorder.settings.task_from(state):
                context = run_context(runtime.context)
                nothing = None if self._is_shown else partial(self.recorder.nothing_shown, context)
                attempt = self.recorder.follow(task, context, memories=nothing, has_hooks=True)
                _listen(attempt)
        return attempt

    def _begun(self, attempt: Attempt | None, state: ALMAState) -> dict[str, Any]:
        """The state with this run in it, and nothing of the run before it."""
        entry: dict[str, Any] = {}
        if attempt is not None and attempt.episode is not None:
            entry = {
                "episode": attempt.episode.id,
                "task": attempt.task,
                "notes": attempt.prompt,
                "after": state["messages"][-1].id if state["messages"] else None,
            }
        return {"alma_runs": {**state.get("alma_runs", {}), self._name: entry}}

    def _without(self, state: ALMAState) -> dict[str, Any] | None:
        return {"alma_runs": {**state["alma_runs"], self._name: {}}} if entry_of(state, self._name) else None

    def _current(self, state: Mapping[str, Any], context: Any) -> Attempt | None:
        """The run that goes on; taken up again, if it was interrupted."""
        entry = entry_of(state, self._name)
        if not entry:
            return None
        found = self.recorder.going_on(entry["episode"])
        with self.recorder.guard("a run could not be taken up again"):
            if found is None:
                found = self.recorder.resumed(entry["episode"], entry["task"], run_context(context), has_hooks=True)
            _listen(found)
        return found

    def _at_tool(self, request: ToolCallRequest) -> Attempt | None:
        is_own = request.tool is not None and OWN_TOOLS in (request.tool.tags or ())
        return None if is_own else self._current(request.state, getattr(request.runtime, "context", None))

    def _with_notes(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        return with_notes(request, self._name) if self._inject == "system" else request

    def _at_model(self, request: ModelRequest[Any]) -> Attempt | None:
        state = cast(Mapping[str, Any], request.state)
        attempt = self._current(state, getattr(request.runtime, "context", None))
        if attempt is not None:
            attempt.notes = entry_of(state, self._name)["notes"]
        return attempt

    def _observe(self, attempt: Attempt | None, response: Any) -> None:
        if attempt is None:
            return
        if attempt.is_told is False:
            self.recorder.say_unseen()
        attempt.observe(said_by_model(_messages_of(response)))

    def _finished(self, attempt: Attempt, state: ALMAState) -> FinishedRun:
        entry = entry_of(state, self._name)
        outputs = {key: value for key, value in state.items() if key != "alma_runs"}
        messages = messages_since(state["messages"], entry.get("after"))
        return attempt.finished(answer=final_answer({"messages": messages}), messages=messages, outputs=outputs)


def _listen(attempt: Attempt) -> None:
    """Has the callbacks of the run that this hook belongs to tell how it ends."""
    config = var_child_runnable_config.get() or {}
    node: UUID | None = getattr(config.get("callbacks"), "parent_run_id", None)
    root = RUNS.parent(node)
    if root is not None:
        RUNS.follow(root, attempt)


def _returned(attempt: Attempt, request: ToolCallRequest, result: Any, start: float) -> None:
    seconds = time.perf_counter() - start
    attempt.soon(lambda: attempt.tool_returned(_use(attempt, request), result, seconds, request.tool_call["id"]))


def _raised(attempt: Attempt, request: ToolCallRequest, error: BaseException, start: float) -> None:
    seconds = time.perf_counter() - start
    if not says_nothing(error):
        attempt.soon(lambda: attempt.tool_raised(_use(attempt, request), error, seconds, request.tool_call["id"]))


def _use(attempt: Attempt, request: ToolCallRequest) -> ToolUse:
    """The call as it was made; as the model asked for it, if no tool was called."""
    asked = request.tool_call
    name, arguments = attempt.made.pop(asked["id"] or "", (asked["name"], asked["args"]))
    return attempt.recorder.use(request.tool if name == asked["name"] else None, name, arguments)


def _messages_of(response: Any) -> list[Any]:
    if isinstance(response, ExtendedModelResponse):
        response = response.model_response
    return response.result if isinstance(response, ModelResponse) else [response]
