"""Callback handlers: for graphs without middleware, for `AgentExecutor`, and for every other chain."""

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from alma import ALMA
from alma_langchain.attempt import Attempt
from alma_langchain.events import (
    RUNS,
    RunEvents,
    RunListener,
    begin_chain,
    begin_tool,
    done,
    look_for_notes,
    read_citations,
    watch,
)
from alma_langchain.misplaced import tell_missing
from alma_langchain.recorder import Recorder
from alma_langchain.run import RunReport
from alma_langchain.settings import Options, RunContext, Settings
from alma_langchain.threads import Place, Threads

if TYPE_CHECKING:
    from langgraph.callbacks import GraphCallbackHandler
else:
    try:
        from langgraph.callbacks import GraphCallbackHandler
    except ImportError:  # only langgraph tells of interrupts, and only to handlers of its own class
        GraphCallbackHandler = BaseCallbackHandler


class _Roots:
    """Which runs a handler follows: the outermost that it hears of, each on the task that its inputs hold."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._parts: dict[UUID, set[UUID]] = {}
        self._root_of: dict[UUID, UUID] = {}
        self._told: dict[UUID, tuple[RunContext, Place]] = {}
        self._followed: dict[UUID, Attempt] = {}
        self._threads = Threads()
        self._lock = threading.Lock()

    def started(self, run_id: UUID, parent: UUID | None, inputs: Any, told: dict[str, Any]) -> None:
        """A chain began. It is followed if it is the outermost and has a task. Without one it may yet tell that it goes on in a thread."""
        if self.is_inner(run_id, parent):
            return
        with self.recorder.guard("the task was not read"):
            task = self.recorder.settings.task_from(inputs)
            context = RunContext(metadata=told.get("metadata") or {})
            place = self._place(context, str(told.get("name") or ""))
            if place is not None:
                with self._lock:
                    self._told[run_id] = context, place
            if task:
                self._begin(run_id, task, context, place)

    def is_inner(self, run_id: UUID, parent: UUID | None) -> bool:
        """Whether a chain or a tool that begins is part of a run that was heard of before."""
        with self._lock:
            root = self._root_of.get(parent) if parent is not None else None
            self._root_of[run_id] = run_id if root is None else root
            self._parts.setdefault(self._root_of[run_id], set()).add(run_id)
            return root is not None

    def ended(self, run_id: UUID) -> None:
        """A chain or a tool is over, and with the outermost one all its parts: of some, say after a cancellation, nobody tells the end."""
        with self._lock:
            for part in self._parts.pop(run_id, {run_id}):
                self._root_of.pop(part, None)
            self._told.pop(run_id, None)
            self._followed.pop(run_id, None)

    def interrupted(self, run_id: UUID | None, checkpoint: str | None) -> None:
        """A graph waits for a person; the run of its thread will go on."""
        for attempt in RUNS.followed(run_id):
            attempt.is_interrupted = True
            with self._lock:
                told = self._told.get(run_id) if run_id else None
            if told is not None and not attempt.has_hooks:
                self._threads.interrupted(told[1], checkpoint, attempt)

    def resumed(self, run_id: UUID | None, checkpoint: str | None) -> None:
        """A graph goes on in its thread: with the run that waits there; after an error, or from an older checkpoint, with a new one."""
        with self._lock:
            told = self._told.get(run_id) if run_id and run_id not in self._followed else None
        if run_id is None or told is None:
            return
        context, place = told
        waiting = self._threads.resumed(place, checkpoint)
        task = waiting.task if waiting else self._threads.last_task(place)
        with self.recorder.guard("a run could not be taken up again"):
            if waiting and waiting.key:  # one that had done nothing yet has nothing to take up
                self._follow(run_id, self.recorder.resumed(waiting.key, waiting.task, context, has_hooks=False))
            elif task:
                self._begin(run_id, task, context, place)

    def _place(self, context: RunContext, graph: str) -> Place | None:
        thread = context.metadata.get("thread_id")
        if thread is None:
            return None
        project, user = self.recorder.project(context).project_id, self.recorder.scope.user(context)
        return Place(project, user, str(thread), str(context.metadata.get("checkpoint_ns") or ""), graph)

    def _begin(self, run_id: UUID, task: str, context: RunContext, place: Place | None) -> None:
        self._follow(run_id, self.recorder.follow(task, context, memories=partial(self.recorder.nothing_shown, context)))
        if place is not None:
            self._threads.asked(place, task)

    def _follow(self, run_id: UUID, attempt: Attempt) -> None:
        attempt.is_tentative = True
        RUNS.follow(run_id, attempt)
        with self._lock:
            self._followed[run_id] = attempt


class _Handler:
    """What both colours share."""

    recorder: Recorder
    _roots: _Roots

    def _set_up(self, alma: ALMA, agent: str, options: Options) -> None:
        self._take(Recorder(alma, agent, Settings(**options)))

    @classmethod
    def over(cls, recorder: Recorder) -> Self:
        """A handler over a recorder that others use as well."""
        made = cls.__new__(cls)
        made._take(recorder)
        return made

    def _take(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._roots = _Roots(recorder)
        watch()

    if not TYPE_CHECKING:  # a type checker knows what there is

        def __getattr__(self, name: str) -> NoReturn:
            tell_missing(self, name, middleware="ALMAMiddleware(alma, agent=…)")

    @property
    def errors(self) -> list[Exception]:
        """The last errors of ALMA itself, oldest first."""
        return list(self.recorder.errors)

    @property
    def last_run(self) -> RunReport | None:
        """What was taken from the run that ended last."""
        return self.recorder.last_run

    def on_interrupt(self, event: Any) -> None:
        """A graph waits for a person."""
        self._roots.interrupted(event.run_id, getattr(event, "checkpoint_id", None))

    def on_resume(self, event: Any) -> None:
        """A graph goes on in its thread."""
        self._roots.resumed(event.run_id, getattr(event, "checkpoint_id", None))


class ALMACallbackHandler(_Handler, RunEvents, GraphCallbackHandler):
    """Learns from every run that it is passed to: `graph.invoke(…, config={"callbacks": [handler]})`.

    Each tool call is a step, each run an episode; an error that ends the run is a failure, cancellation is neutral, and an interrupt leaves the run
    open for its resumption in the same thread of the same process. A run that `ALMAMiddleware` or `ALMAMemory` follows for the same agent is left
    to it. Takes the options of `Settings`.
    """

    def __init__(self, alma: ALMA, *, agent: str, **options: Unpack[Options]) -> None:
        self._set_up(alma, agent, options)

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        super().on_chain_start(serialized, inputs, run_id=run_id, parent_run_id=parent_run_id, **kwargs)
        self._roots.started(run_id, parent_run_id, inputs, kwargs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._roots.ended(run_id)
        super().on_chain_end(outputs, run_id=run_id, **kwargs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._roots.ended(run_id)
        super().on_chain_error(error, run_id=run_id, **kwargs)

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self._roots.is_inner(run_id, parent_run_id)
        super().on_tool_start(serialized, input_str, run_id=run_id, parent_run_id=parent_run_id, **kwargs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._roots.ended(run_id)
        super().on_tool_end(output, run_id=run_id, **kwargs)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._roots.ended(run_id)
        super().on_tool_error(error, run_id=run_id, **kwargs)


class AsyncALMACallbackHandler(_Handler, RunListener, AsyncCallbackHandler, GraphCallbackHandler):
    """`ALMACallbackHandler` for `ainvoke` and `astream`: what is written is written by worker threads and awaited."""

    raise_error = True

    def __init__(self, alma: ALMA, *, agent: str, **options: Unpack[Options]) -> None:
        self._set_up(alma, agent, options)

    async def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        begin_chain(RUNS, inputs, run_id, parent_run_id, kwargs.get("name"))
        self._roots.started(run_id, parent_run_id, inputs, kwargs)

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._roots.ended(run_id)
        await done(RUNS.ended(run_id, outputs))

    async def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._roots.ended(run_id)
        await done(RUNS.failed(run_id, error))

    async def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self._roots.is_inner(run_id, parent_run_id)
        begin_tool(RUNS, serialized, run_id, parent_run_id, kwargs)

    async def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._roots.ended(run_id)
        await done(RUNS.tool_ended(run_id, output))

    async def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._roots.ended(run_id)
        await done(RUNS.tool_failed(run_id, error))

    async def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        look_for_notes(RUNS, (str(message.text) for batch in messages for message in batch), parent_run_id)

    async def on_llm_start(
        self, serialized: Any, prompts: list[str], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        look_for_notes(RUNS, prompts, parent_run_id)

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        read_citations(RUNS, response, parent_run_id)
