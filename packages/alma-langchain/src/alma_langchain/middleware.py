"""Middleware for `create_agent`: notes for the run, a step a tool call, an episode a run."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Unpack, cast
from uuid import UUID, uuid4

from alma import ALMA
from alma.errors import MissingDependencyError
from alma_integration import Identity, Run, RunContext
from alma_langchain.handler import ALMACallbackHandler, AsyncALMACallbackHandler
from alma_langchain.reading import messages_since
from alma_langchain.recorder import Following, Recorder, RunOptions, misplaced, run_context
from alma_langchain.tree import Attended, ToolCall

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, ToolCallRequest
    from langchain.agents.middleware.types import ExtendedModelResponse
    from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackManager
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.types import Command

    from alma_langchain.graphs import GraphRun, graph_run
    from alma_langchain.prompting import STATE_KEY, ALMAState, beside_message, entry_of, finished, in_system_prompt
except ImportError as error:
    raise MissingDependencyError("ALMAMiddleware needs what is not installed; install alma-langchain[agents]") from error

UNHEARD = (
    "how runs end cannot be heard with this version of LangGraph: errors, limits, cancellations and interrupts are not recorded"
)
UNSEEN = "the notes did not reach the model: another middleware wrote the prompt anew; use split(), its second part last"


class ALMAMiddleware(Following, AgentMiddleware[ALMAState, Any, Any]):
    """An agent that learns: `create_agent(model, tools, middleware=[ALMAMiddleware(alma, agent="…")])`.

    On the first model call, it retrieves what matters for the task; each model call sees it beside the message that the run began with.
    It attaches an `ALMACallbackHandler` to the run, which records each try of a tool call as a step of an episode, durably when it
    returns, and the end of the run, however it ends. `agent` is a name or a function of the `RunContext`. Several in one agent need
    different names. Takes the options of `alma.integration.Options`, and `task_from`.
    """

    state_schema = ALMAState
    raise_error = run_inline = misplaced("callback handler", "callbacks=[ALMACallbackHandler(alma, agent=…)]")

    def __init__(self, alma: ALMA, *, agent: Identity, name: str = "ALMAMiddleware", **options: Unpack[RunOptions]) -> None:
        self._set_up(Recorder(alma, agent=agent, **options), name=name)

    def _set_up(self, recorder: Recorder, *, name: str = "ALMAMiddleware", is_split: bool = False) -> None:
        super()._set_up(recorder)
        self._attaching = threading.RLock()
        self._name = name
        self._is_split = is_split

    @property
    def name(self) -> str:
        return self._name

    def split(self) -> "tuple[ALMAMiddleware, NotesMiddleware]":
        """Splits it in two: the first records and goes first, the second writes the notes into the prompt and goes last."""
        records = ALMAMiddleware.over(self.recorder, name=self._name, is_split=True)
        return records, NotesMiddleware(records)

    def before_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any]:
        """Records the beginning of a run. Its task is read on the first model call, as the model receives it."""
        if overtaken := entry_of(state, self._name).get("episode"):
            self.recorder.abandon(overtaken, context=run_context(runtime.context), reason="a new question came")
        humans = [message for message in state["messages"] if isinstance(message, HumanMessage)]
        entry = {"asked": humans[-1].id if humans else None, "episode": None}
        self._follow(entry, get_config())
        return self._entry(**entry)

    async def abefore_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any]:
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Any:
        """Shows the notes to the model, and names the episode in its final answer."""
        attended, shown = self._ask(request)
        return self._finish(attended, request, handler(shown))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        attended, shown = await asyncio.to_thread(self._ask, request)
        return self._finish(attended, request, await handler(shown))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Has the handler record the tool call, also in a run that goes on after an interrupt."""
        call = self._call(request)
        return self._answer(call, handler(request))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        call = await asyncio.to_thread(self._call, request)
        return self._answer(call, await handler(request))

    def after_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any]:
        """Judges the run and ends its episode."""
        run, end = self._end(state, runtime)
        if run is not None:
            run.end(**end)
        return self._entry()

    async def aafter_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any]:
        run, end = await asyncio.to_thread(self._end, state, runtime)
        if run is not None:
            await run.aend(**end)
        return self._entry()

    # The live run.

    def _entry(self, **known: str | None) -> dict[str, Any]:
        return {STATE_KEY: {self._name: known}}

    def current(self, state: Any, config: Mapping[str, Any] | None = None) -> Attended | None:
        """Returns the live run, to be resumed if it was interrupted; `None` if the state has none."""
        entry = entry_of(state, self._name)
        return self._follow(entry, config or get_config()) if entry else None

    def _follow(self, entry: Mapping[str, Any], config: Mapping[str, Any]) -> Attended:
        """Returns the run of this graph, whose handler is attached to it and to the node that has this configuration."""
        graph, node = graph_run(config), config.get("callbacks")
        with self._attaching:
            attended = self._find(graph) or self._attach(entry, graph, is_async=isinstance(node, AsyncCallbackManager))
            if isinstance(node, BaseCallbackManager) and attended.handler not in node.handlers:
                self._make_way(attended.run_id, node.handlers)
                node.add_handler(attended.handler, inherit=True)  # the node began before the handler was attached
                if node.parent_run_id is not None:
                    attended.handler.tree.entered(node.parent_run_id, {"parent_run_id": attended.run_id})
        return attended

    def _find(self, graph: GraphRun | None) -> Attended | None:
        """Returns the run of this graph, if its handler is attached. The graph also has the handlers of graphs around it."""
        if graph is None:
            return None
        known = (getattr(each, "attended", None) for each in graph.manager.handlers)
        return next((each for each in known if each is not None and each.by is self and each.run_id == graph.run_id), None)

    def _attach(self, entry: Mapping[str, Any], graph: GraphRun | None, *, is_async: bool) -> Attended:
        """Attaches a handler to the run of the graph. Where that run is not found, the handler follows only the node."""
        attended = Attended(
            graph.run_id if graph is not None else uuid4(),
            RunContext(),
            is_interrupted=True,
            by=self,
            root_id=graph.root_id if graph is not None else None,
            asked=entry.get("asked"),
            episode=entry.get("episode"),
        )
        kind = AsyncALMACallbackHandler if is_async else ALMACallbackHandler
        attended.handler = kind.over(self.recorder, attended=attended)
        if graph is None:
            self.recorder.warn_once(UNHEARD)
        else:
            graph.manager.handlers.append(attended.handler)
            graph.manager.inheritable_handlers.append(attended.handler)
        return attended

    def _make_way(self, run_id: UUID, handlers: Sequence[Any]) -> None:
        """Has other handlers leave the run to this middleware, except those of further middleware of the same agent."""
        with self.recorder.guard("the run was not taken from another handler"):
            for each in handlers:
                if isinstance(each, ALMACallbackHandler) and (each.attended is None or each.attended.run_id != run_id):
                    each.give_way(run_id, self.recorder.alma, self.recorder.agent_of(run_context()))

    def _begin(self, attended: Attended, state: Mapping[str, Any], context: Any) -> Run | None:
        """Returns the run, begun now if necessary with the model's input: its memories are looked up before its episode begins."""
        with attended.lock:
            if not attended.has_begun:
                attended.has_begun = True
                if task := self.recorder.task(state):
                    where, episode_id = run_context(context), attended.episode
                    attended.run = self.recorder.begun(task, where, run_id=attended.root_id, episode_id=episode_id)
                if attended.run is not None:
                    attended.show_beside()
                    attended.run.recall()
                    episode = attended.run.episode
                    attended.episode = episode.id if episode is not None else None
        return attended.run

    # Models.

    def _ask(self, request: ModelRequest[Any]) -> tuple[Attended | None, ModelRequest[Any]]:
        if (attended := self.current(request.state)) is None:
            return None, request
        run = self._begin(attended, {**request.state, "messages": request.messages}, request.runtime.context)
        if run is not None:
            self._read_back(attended, run, request.messages)
        return attended, request if self._is_split else self.with_notes(attended, request)

    def with_notes(self, attended: Attended | None, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Returns the request with the notes of its run."""
        if attended is None or attended.run is None or not attended.run.notes:
            return request
        if self.recorder.options.inject == "system":
            return in_system_prompt(request, attended.run.notes)
        return beside_message(request, attended.run.notes, attended.asked)

    def _finish(self, attended: Attended | None, request: ModelRequest[Any], response: ModelResponse[Any]) -> Any:
        if attended is None or (run := attended.run) is None:
            return response
        with self.recorder.guard("an answer of the model was not read", run):
            attended.settled |= {message.tool_call_id for message in response.result if isinstance(message, ToolMessage)}
            if run.saw_notes is False:
                self.recorder.warn_once(UNSEEN)
            response = finished(response, attended.episode, run.for_user)
        entry = {"asked": attended.asked, "episode": attended.episode}
        if entry == entry_of(request.state, self._name):
            return response
        return ExtendedModelResponse(response, Command(update=self._entry(**entry)))

    def _read_back(self, attended: Attended, run: Run, messages: Sequence[BaseMessage]) -> None:
        """Reports calls that others answered in place of tools, and why an answer was sent back. No callback is called for either."""
        with self.recorder.guard("what others did in the run was not read", run):
            own = messages_since(messages, attended.asked)
            places = [place for place, message in enumerate(own) if isinstance(message, AIMessage)]
            if not places:
                return
            last, after = cast(AIMessage, own[places[-1]]), own[places[-1] + 1 :]
            self.recorder.unheard(attended, (last, *after))
            for answer in after:
                if isinstance(answer, HumanMessage) and not last.tool_calls:
                    run.corrected(str(answer.text))

    # Tools.

    def _call(self, request: ToolCallRequest) -> ToolCall | None:
        attended, asked = self.current(request.state, request.runtime.config), request.tool_call
        if attended is None or self._begin(attended, request.state, request.runtime.context) is None:
            return None
        if request.tool is not None:
            attended.tools[request.tool.name] = request.tool
        return ToolCall(attended, asked["name"], asked["args"], asked["id"] or "", request.tool)

    def _answer(self, call: ToolCall | None, result: Any) -> Any:
        """Reports an answer that was given in place of a tool: no callback is called for it."""
        if call is not None and call.call_id not in call.of.settled:
            self.recorder.returned(call, result)
        return result

    # The end.

    def _end(self, state: ALMAState, runtime: Any) -> tuple[Run | None, dict[str, Any]]:
        """Returns the run to end, and its end; none, if no model was called."""
        attended = self.current(state)
        if attended is None or (attended.episode is None and attended.run is None):
            return None, {}
        if (run := self._begin(attended, state, runtime.context)) is not None:
            self._read_back(attended, run, state["messages"])
        attended.is_interrupted = False
        outputs = {key: value for key, value in state.items() if key != STATE_KEY}
        run, end = attended.handler.returned(attended.run_id, outputs)
        return run, end or {}


class NotesMiddleware(AgentMiddleware[ALMAState, Any, Any]):
    """Writes the notes of an `ALMAMiddleware` into the prompt. Created by its `split()`; goes last."""

    state_schema = ALMAState

    def __init__(self, of: ALMAMiddleware) -> None:
        self._of = of

    @property
    def name(self) -> str:
        return f"{self._of.name}.notes"

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Shows the notes to the model."""
        return handler(self._of.with_notes(self._of.current(request.state), request))

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]) -> Any:
        return await handler(self._of.with_notes(self._of.current(request.state), request))
