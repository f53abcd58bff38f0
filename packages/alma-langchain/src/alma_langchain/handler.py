"""Callback handlers: for graphs without middleware, for `AgentExecutor`, and for every other chain."""

import asyncio
import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult

from alma import ALMA, MemorySlice
from alma_integration import Run, RunContext, noted_on
from alma_langchain.classic import await_runs, runs_in
from alma_langchain.reading import final_answer, last_exchange, said_by_model
from alma_langchain.recorder import OWN_TOOLS, Following, Recorder, end_by, misplaced, thread_of
from alma_langchain.tree import Attended, Heard, Part, Place, Threads, ToolCall, Tree

if TYPE_CHECKING:
    from langgraph.callbacks import GraphCallbackHandler
else:
    try:
        from langgraph.callbacks import GraphCallbackHandler
    except ImportError:  # only langgraph reports interrupts, and only to handlers of its own class
        GraphCallbackHandler = BaseCallbackHandler

_AFTER_MODEL = ".after_model"
"""Suffix of the nodes in which middleware examines the model's requests and may answer a call in place of its tool."""

_STREAMED = {"input": ""}
"""What LangChain reports as the input of a sequence that is streamed, when it starts. When it ends, it reports the input itself."""


class ALMACallbackHandler(Following, GraphCallbackHandler):
    """Learns from every run that it is passed to: `graph.invoke(…, config={"callbacks": [handler]})`.

    Each tool call is a step, each run an episode. An error that ends the run is a failure, cancellation is neutral, and an interrupt
    leaves the run open for its resumption in the same thread of the same process. A run that `ALMAMiddleware` or `ALMAMemory` follows for
    the same agent is left to it. Takes the options of `alma.integration.Options`, and `task_from`, a key of the input or a function of it.
    """

    raise_error = True  # errors of ALMA are contained elsewhere; one that arrives here is meant to be raised
    _is_inside = False
    """True for a handler of middleware, and for the copy that LangChain's hook finds: it follows only parts of runs, because other chains
    of the context are not the handler's."""
    tools = misplaced("middleware", "middleware=[ALMAMiddleware(alma, agent=…)]")

    def _set_up(self, recorder: Recorder, *, is_given: bool = False, attended: Attended | None = None) -> None:
        """With `is_given`, a memory puts the run to follow into the inputs: none is begun here, and the handler waits for that run
        only. With `attended`, it follows only that run of middleware."""
        super()._set_up(recorder)
        self.tree = Tree()
        self.attended = attended
        if attended is not None:
            self._is_inside = True
            self.tree.attend(attended)
        self.threads = Threads()
        self._is_given = is_given
        self.is_taken = False
        """True when the handler no longer waits for runs of its context."""
        if is_given:
            await_runs(self)

    # Chains.

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> Any:
        """Follows an outermost chain, if it has a task. One without a task may turn out later to continue in a thread."""
        if (part := self._entered(run_id, kwargs)) is None:
            return
        given = runs_in(inputs)
        if not part.is_outermost:
            for run in given:
                if run is not part.heard.run:
                    self.give_way(run_id, run.integration.alma, run.agent)
            return
        heard = part.heard
        mine = next((run for run in given if self._is_mine(run)), None)
        if self._is_given:
            self.is_taken = True
        elif "langchain_classic" in sys.modules:  # such chains do not pass on the handlers that they were created with
            heard.inside = copy.copy(self)
            heard.inside._is_inside = True
            await_runs(heard.inside)
        if mine is not None and mine.run_id is None:  # otherwise another handler follows it
            heard.run, mine.run_id = mine, str(run_id)
        elif mine is None and not self._is_given:
            heard.place, heard.is_streamed = self._place(heard, part.name), inputs == _STREAMED
            if not heard.is_streamed:
                self._begin_with(heard, inputs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> Any:
        """Ends a run, or suspends it for resumption."""
        is_whole = self._begin_streamed(run_id, kwargs)
        run, end = self.returned(run_id, outputs, is_whole=is_whole)
        if run is not None and end is None:
            run.suspend()
        elif run is not None:
            run.end(**end)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """Ends a run by its exception."""
        self._begin_streamed(run_id, kwargs)
        if (run := self._left(run_id)) is not None:
            end_by(error, run)

    def _entered(self, run_id: UUID, event: Mapping[str, Any]) -> Part | None:
        if self._is_inside and (self.tree.part(run_id) or not self.tree.part(event.get("parent_run_id"))):
            return None
        return self.tree.entered(run_id, event)

    def _begin_with(self, heard: Heard, inputs: Any) -> None:
        with self.recorder.guard("the input of a run was not read"):
            self._begin(heard, self.recorder.task(inputs) if _has_input(inputs) else None)

    def _begin_streamed(self, run_id: UUID, event: Mapping[str, Any]) -> bool:
        """Begins a streamed sequence when it ends, with the input that is known only now, and records the steps that were kept. Returns
        False if the stream was given up: LangChain reports the end of such a stream while parts of it still run."""
        part = self.tree.part(run_id)
        if part is None or not part.is_outermost or not part.heard.is_streamed:
            return True
        self._begin_with(part.heard, event.get("inputs", _STREAMED))
        for record in part.heard.held:
            record()
        return not part.heard.parts - {run_id}

    def _begin(self, heard: Heard, task: str | None, episode_id: str | None = None) -> None:
        if task is None:
            return
        heard.run = self.recorder.begun(task, heard.context, run_id=heard.run_id, episode_id=episode_id)
        heard.show_beside()
        if heard.place is not None:
            self.threads.tasks[heard.place] = task

    def _place(self, heard: Heard, graph: str) -> Place | None:
        place, thread, scope = None, thread_of(heard.context), self.recorder.scope
        with self.recorder.guard("the thread of a run was not read"):
            if thread is not None:
                namespace = str(heard.context.metadata.get("checkpoint_ns") or "")
                place = Place(scope.project(heard.context).project_id, scope.user(heard.context), thread, namespace, graph)
        return place

    def _is_mine(self, run: Run) -> bool:
        return run.integration.alma is self.recorder.alma and run.agent == self._agent_of(run.context)

    def _agent_of(self, context: RunContext) -> str | None:
        found = None
        with self.recorder.guard("the agent was not read"):
            found = self.recorder.agent_of(context)
        return found  # noqa: RET504 - None where it could not be read

    def _left(self, run_id: UUID) -> Run | None:
        part = self.tree.left(run_id)
        if part is None or not part.is_outermost:
            return None
        if part.heard.inside is not None:
            part.heard.inside.is_taken = True
        return part.heard.run

    def returned(self, run_id: UUID, outputs: Any, *, is_whole: bool = True) -> tuple[Run | None, Any]:
        """Returns the run that a chain ends, and its end; the end is `None` if the run is interrupted. A stream
        that was given up has a neutral end."""
        part = self.tree.part(run_id)
        if part is not None and not part.is_apart and part.name.endswith(_AFTER_MODEL):  # a call that it answers was not made
            part.heard.refused |= {message.tool_call_id for message in last_exchange(outputs) if isinstance(message, ToolMessage)}
        run = self._left(run_id)
        if part is None or run is None or run.is_over:
            return None, None
        if not is_whole:
            return run, {"answer": "", "is_neutral": True}
        end: dict[str, Any] = {"result": outputs}
        with self.recorder.guard("the answer of a run was not read", run):
            if part.heard.is_interrupted or (isinstance(outputs, Mapping) and "__interrupt__" in outputs):
                return run, None
            end["messages"] = messages = last_exchange(outputs, self.attended.asked if self.attended else None)
            end["outputs"] = dict(outputs) if isinstance(outputs, Mapping) else {}
            if self.attended is None:  # middleware reads these before each call of the model
                self.recorder.unheard(part.heard, messages, refused=part.heard.refused)
            end["answer"] = final_answer({**outputs, "messages": messages} if self.attended else outputs)
            said = said_by_model(messages)
            run.model_said(*(said if any(said) else [end["answer"]]))
        return run, end

    # Tools.

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **kwargs: Any) -> Any:
        """Records the start of a call. A call of ALMA's own tools, and one inside a step, is no step."""
        if (part := self._entered(run_id, kwargs)) is None:
            return
        if OWN_TOOLS in (kwargs.get("tags") or ()):
            part.heard.settled.add(kwargs.get("tool_call_id") or "")  # else its answer to wrong arguments would be a failed call
        elif not (part.is_outermost or part.is_apart):
            name, inputs = part.name or (serialized or {}).get("name") or "tool", kwargs.get("inputs")
            arguments = inputs if isinstance(inputs, Mapping) else {}
            tool = self.attended.tools.get(name) if self.attended is not None else None
            part.call = ToolCall(part.heard, name, arguments, kwargs.get("tool_call_id") or "", tool)
        part.set_apart()

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> Any:
        """Records the call as a step."""
        if run := self._call_over(run_id, self.recorder.returned, output):
            run.settle()

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """Records the call as a failed step."""
        if run := self._call_over(run_id, self.recorder.raised, error):
            with noted_on(error):
                run.settle()

    def _call_over(self, run_id: UUID, report: Callable[[ToolCall, Any], Run | None], result: Any) -> Run | None:
        """Reports the end of a call and returns its run; in a run whose input is not known yet, keeps the report for its end."""
        part = self.tree.left(run_id)
        if part is None or part.call is None:
            return None
        if part.heard.run is None and part.heard.is_streamed:
            part.heard.held.append(partial(report, part.call, result))
            return None
        return report(part.call, result)

    # Retrievers.

    def on_retriever_start(self, serialized: Any, query: str, *, run_id: UUID, **kwargs: Any) -> Any:
        """Takes note of a retriever, which may ask others."""
        if (part := self._entered(run_id, kwargs)) is not None:
            part.is_retriever = True

    def tag_found(self, alma: ALMA, run_id: UUID, memories: MemorySlice) -> MemorySlice:
        """Returns memories that a retriever of this package found, with tags that no others of its run have."""
        found = memories
        with self.recorder.guard("the memories that a retriever found were not read"):
            found = self.tree.tag(run_id, memories) if alma is self.recorder.alma else memories
        return found  # noqa: RET504 - as they were, where that failed

    def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any) -> Any:
        """Adds the memories among the documents to those that the agent is shown. A retriever around this one may drop some."""
        part, around = self.tree.left(run_id), self.tree.part(kwargs.get("parent_run_id"))
        if part is not None and not part.is_left and not (around is not None and around.is_retriever):
            with self.recorder.guard("the documents of a retriever were not read", part.heard.run):
                part.heard.show_found(documents)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """Records that the retriever is over."""
        self.tree.left(run_id)

    # Models.

    def on_llm_start(self, serialized: Any, prompts: list[str], *, run_id: UUID, **kwargs: Any) -> Any:
        """Checks that the notes reach the model. LangChain calls it for chat models, too, with their messages as text."""
        if (part := self.tree.part(kwargs.get("parent_run_id"))) is not None:
            part.heard.parts.add(run_id)
        if (run := self.tree.run_at(kwargs.get("parent_run_id"))) is not None:
            run.model_asked(prompts)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> Any:
        """Finds citations in the model's answer."""
        self._model_left(run_id, kwargs)
        if (run := self.tree.run_at(kwargs.get("parent_run_id"))) is not None:
            run.model_said(*(said for batch in response.generations for generation in batch for said in _said(generation)))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """Records that the model's call is over."""
        self._model_left(run_id, kwargs)

    def _model_left(self, run_id: UUID, event: Mapping[str, Any]) -> None:
        if (part := self.tree.part(event.get("parent_run_id"))) is not None:
            part.heard.parts.discard(run_id)

    # Interrupted graphs, and other followers.

    def on_interrupt(self, event: Any) -> None:
        """Records that a graph waits for a person; the run of its thread will continue."""
        part = self.tree.part(event.run_id)
        if part is None or part.heard.run is None:
            return
        part.heard.is_interrupted = True
        if part.is_outermost and part.heard.place is not None:
            run = part.heard.run
            self.threads.interrupted(part.heard.place, event.checkpoint_id, run.episode_id, run.task)

    def on_resume(self, event: Any) -> None:
        """Continues the run that waits in the graph's thread; after an error, or from an older checkpoint, begins a new one."""
        part = self.tree.part(event.run_id)
        if part is None or not part.is_outermost or part.heard.run is not None or part.heard.place is None:
            return
        episode_id, task = self.threads.resumed(part.heard.place, event.checkpoint_id) or (None, None)
        self._begin(part.heard, task or self.threads.tasks.get(part.heard.place), episode_id)

    def give_way(self, run_id: UUID, alma: ALMA, agent: str) -> None:
        """Leaves a part to the middleware or memory that follows it; the whole run, if it is for the same agent and nothing is recorded
        yet."""
        part = self.tree.part(run_id)
        if part is None:
            return
        run = part.heard.run
        if run is not None and run.agent == agent and self.recorder.alma is alma and run.episode_id is None:
            part.heard.run = None
        if part.heard.is_streamed and self.recorder.alma is alma and self._agent_of(part.heard.context) == agent:
            part.heard.is_streamed = False
        part.leave()


class AsyncALMACallbackHandler(ALMACallbackHandler):
    """`ALMACallbackHandler` for `ainvoke` and `astream`: worker threads do the writing, and are awaited. The callbacks that only take note
    of something are plain methods."""

    run_inline = True  # runs in the task of the run itself, whose context its inner chains see

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        is_whole = self._begin_streamed(run_id, kwargs)
        run, end = self.returned(run_id, outputs, is_whole=is_whole)
        if run is not None:
            await asyncio.shield(asyncio.to_thread(run.suspend) if end is None else run.aend(**end))

    async def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._begin_streamed(run_id, kwargs)
        if (run := self._left(run_id)) is not None:
            await asyncio.shield(asyncio.to_thread(end_by, error, run))

    async def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if run := self._call_over(run_id, self.recorder.returned, output):
            await run.asettle()

    async def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if run := self._call_over(run_id, self.recorder.raised, error):
            with noted_on(error):
                await run.asettle()


def _has_input(inputs: Any) -> bool:
    """Returns True when a run has an input. The value that resumes a graph is no input."""
    is_empty = inputs is None or (isinstance(inputs, Mapping | Sequence) and not inputs)
    return not is_empty and not hasattr(inputs, "resume")


def _said(generation: Any) -> list[object]:
    message = getattr(generation, "message", None)
    return said_by_model([message]) if isinstance(message, BaseMessage) else [getattr(generation, "text", "")]
