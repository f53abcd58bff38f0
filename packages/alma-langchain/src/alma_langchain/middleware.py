"""Middleware for `create_agent`: notes for the run, a step a tool call, an episode a run."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Unpack, cast
from uuid import uuid4

from alma import ALMA
from alma.errors import MissingDependencyError
from alma_integration import Bounded, Identity, Run, noted_on
from alma_langchain.handler import ALMACallbackHandler
from alma_langchain.misplaced import misplaced
from alma_langchain.reading import final_answer, messages_since, said_by_model
from alma_langchain.recorder import OWN_TOOLS, Following, Recorder, RunOptions, ToolCall, run_context
from alma_langchain.tree import MOST_RUNS

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, ToolCallRequest
    from langchain.agents.middleware.types import ExtendedModelResponse
    from langchain_core.callbacks import BaseCallbackManager
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.types import Command

    from alma_langchain.following import Followed, listen
    from alma_langchain.graphs import graph_run
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
    Each tool call becomes a step of an episode, durably when it returns, and the run ends the episode, however it ends. Put it first: the
    first middleware sees tool results after retries and repairs. `agent` is a name or a function of the `RunContext`. Several in one
    agent need different names. Takes the options of `alma.integration.Options`, and `task_from`.
    """

    state_schema = ALMAState
    raise_error = run_inline = misplaced("callback handler", "callbacks=[ALMACallbackHandler(alma, agent=…)]")

    def __init__(self, alma: ALMA, *, agent: Identity, name: str = "ALMAMiddleware", **options: Unpack[RunOptions]) -> None:
        self._set_up(Recorder(alma, agent=agent, **options), name=name)

    def _set_up(self, recorder: Recorder, *, name: str = "ALMAMiddleware", is_split: bool = False) -> None:
        super()._set_up(recorder)
        self._runs = Bounded[str, Followed](MOST_RUNS)
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
        followed = Followed(str(uuid4()), humans[-1].id if humans else None)
        self._runs[followed.key] = followed
        self._listen(followed)
        return self._entry(key=followed.key, asked=followed.asked)

    async def abefore_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any]:
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Any:
        """Shows the notes to the model, and finds citations in its answer."""
        followed, shown = self._asked(request)
        return self._said(followed, request, handler(shown))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        followed, shown = await asyncio.to_thread(self._asked, request)
        return self._said(followed, request, await handler(shown))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Records the tool call as a step."""
        call = self._called(request)
        if call is None:
            return handler(request)
        try:
            result = handler(request)
        except Exception as error:
            if run := self.recorder.raised(call, error):
                with noted_on(error):
                    run.settle()
            raise
        if run := self.recorder.returned(call, result):
            run.settle()
        return result

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        call = await asyncio.to_thread(self._called, request)
        if call is None:
            return await handler(request)
        try:
            result = await handler(request)
        except Exception as error:
            if run := self.recorder.raised(call, error):
                with noted_on(error):
                    await run.asettle()
            raise
        if run := self.recorder.returned(call, result):
            await run.asettle()
        return result

    def after_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any]:
        """Judges the run and ends its episode."""
        run, end = self._ended(state, runtime)
        if run is not None:
            run.end(**end)
        return self._entry()

    async def aafter_agent(self, state: ALMAState, runtime: Any) -> dict[str, Any]:
        run, end = await asyncio.to_thread(self._ended, state, runtime)
        if run is not None:
            await run.aend(**end)
        return self._entry()

    # The live run.

    def _entry(self, **known: str | None) -> dict[str, Any]:
        return {STATE_KEY: {self._name: known}}

    def current(self, state: Any, config: Mapping[str, Any] | None = None) -> Followed:
        """Returns the live run, to be resumed if it was interrupted. If the state has none, returns one that never begins."""
        entry = entry_of(state, self._name)
        if not entry:
            return Followed("", None, has_begun=True)
        followed = self._runs.kept(entry["key"], Followed(**entry))
        self._listen(followed, config)
        return followed

    def _listen(self, followed: Followed, config: Mapping[str, Any] | None = None) -> None:
        with self.recorder.guard("the end of a run will not be heard", followed.run):
            config = config or get_config()
            graph, node = graph_run(config), config.get("callbacks")
            if graph is None:
                self.recorder.warn_once(UNHEARD)
            elif followed.graph is None or followed.graph.run_id != graph.run_id:
                listen(self._runs, followed, graph)
                for each in getattr(node, "handlers", ()):  # other handlers leave the run to this one
                    if isinstance(each, ALMACallbackHandler):
                        each.give_way(graph.run_id, self.recorder.alma, self.recorder.agent_of(run_context()))
            if graph is not None and isinstance(node, BaseCallbackManager) and followed not in node.handlers:
                node.add_handler(followed, inherit=True)  # the node's manager was created before the run was observed

    def _run(self, followed: Followed, state: Mapping[str, Any], context: Any) -> Run | None:
        """Returns the run, begun now if necessary with the model's input: its memories are looked up before its episode begins."""
        with followed.lock:
            if not followed.has_begun:
                followed.has_begun = True
                if task := self.recorder.task(state):
                    where, root_id = run_context(context), followed.graph.root_id if followed.graph else None
                    followed.run = self.recorder.begun(task, where, run_id=root_id, episode_id=followed.episode)
                if followed.run is not None:
                    followed.run.recall()
                    episode = followed.run.episode
                    followed.episode = episode.id if episode is not None else None
        return followed.run

    # Models.

    def _asked(self, request: ModelRequest[Any]) -> tuple[Followed, ModelRequest[Any]]:
        followed = self.current(request.state)
        run = self._run(followed, {**request.state, "messages": request.messages}, request.runtime.context)
        if run is not None:
            with self.recorder.guard("what others did in the run was not read", run):
                self._read_back(followed, run, request.messages)
        return followed, request if self._is_split else self.with_notes(followed, request)

    def with_notes(self, followed: Followed, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Returns the request with the notes of its run."""
        if followed.run is None or not followed.run.notes:
            return request
        if self.recorder.options.inject == "system":
            return in_system_prompt(request, followed.run.notes)
        return beside_message(request, followed.run.notes, followed.asked)

    def _said(self, followed: Followed, request: ModelRequest[Any], response: ModelResponse[Any]) -> Any:
        if (run := followed.run) is None:
            return response
        with self.recorder.guard("an answer of the model was not read", run):
            followed.settled |= {message.tool_call_id for message in response.result if isinstance(message, ToolMessage)}
            if run.saw_notes is False:
                self.recorder.warn_once(UNSEEN)
            run.model_said(*said_by_model(response.result))
            response = finished(response, followed.episode, run.for_user)
        entry = {"key": followed.key, "asked": followed.asked, "episode": followed.episode}
        if entry == entry_of(request.state, self._name):
            return response
        return ExtendedModelResponse(response, Command(update=self._entry(**entry)))

    def _read_back(self, followed: Followed, run: Run, messages: Sequence[BaseMessage]) -> None:
        """Reports calls that others answered in place of tools, and why an answer was sent back. No hook is called for either."""
        own = messages_since(messages, followed.asked)
        places = [place for place, message in enumerate(own) if isinstance(message, AIMessage)]
        if not places:
            return
        last, after = cast(AIMessage, own[places[-1]]), own[places[-1] + 1 :]
        self.recorder.unheard(followed, (last, *after))
        for answer in after:
            if isinstance(answer, HumanMessage) and not last.tool_calls:
                run.corrected(str(answer.text))

    def _called(self, request: ToolCallRequest) -> ToolCall | None:
        """Returns the call if it is a step; calls of ALMA's own tools are not."""
        followed, asked = self.current(request.state, request.runtime.config), request.tool_call
        if request.tool is not None and OWN_TOOLS in (request.tool.tags or ()):
            followed.settled.add(asked["id"] or "")  # else its answer to wrong arguments would be taken for a refused call
            return None
        if self._run(followed, request.state, request.runtime.context) is None:
            return None
        call = ToolCall(followed, asked["name"], asked["args"], asked["id"] or "", request.tool)
        followed.calls[call.call_id] = call
        return call

    # The end.

    def _ended(self, state: ALMAState, runtime: Any) -> tuple[Run | None, dict[str, Any]]:
        """Returns the run to end, and its end; none, if no model was called."""
        followed = self.current(state)
        self._runs.pop(followed.key, None)
        if followed.episode is None and followed.run is None:
            return None, {}
        run, answer = self._run(followed, state, runtime.context), ""
        messages = messages_since(state["messages"], followed.asked)
        outputs = {key: value for key, value in state.items() if key != STATE_KEY}
        if run is not None:
            with self.recorder.guard("the answer of a run was not read", run):
                self._read_back(followed, run, state["messages"])
                answer = final_answer({**outputs, "messages": messages})
        return run, {"answer": answer, "messages": messages, "outputs": outputs, "result": outputs}


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
