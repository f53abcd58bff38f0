"""The one span handler of the process: on LlamaIndex's dispatcher while a learner is installed, or a harness runs an agent.

It does not search projects or agents: a run is connected to a project by the memory that it asks, or by an agent's name.
"""

import atexit
import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from inspect import BoundArguments
from typing import TYPE_CHECKING, Any

from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined] # it is documented there
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.tools import BaseTool
from workflows.events import StopEvent
from workflows.runtime.types.results import WaitingForEvent

from alma import ALMA
from alma_integration import RunContext
from alma_llamaindex import spans, streams
from alma_llamaindex.following import MEMORIES, MEMORY, Followed
from alma_llamaindex.spans import Kind

if TYPE_CHECKING:
    from alma_llamaindex.learner import ALMALearner


@dataclass(frozen=True, slots=True)
class RunSpan:
    """A span of a followed run. `around` is the enclosing span; the run's own has none."""

    method: str
    followed: Followed
    around: "RunSpan | None" = None
    started: float = field(default_factory=time.monotonic)

    def is_in(self, *methods: str) -> bool:
        """Returns True when this span, or one around it, is one of these methods."""
        return self.method in methods or (self.around is not None and self.around.is_in(*methods))

    @property
    def is_in_tool(self) -> bool:
        """True when it is part of a tool's work."""
        return self.is_in(spans.TOOL_CALL, *spans.TOOLS)


CUSTOM: ContextVar[RunSpan | None] = ContextVar("alma_llamaindex_custom", default=None)
"""The run of the user's own code that the caller is part of."""
EXPECTED: ContextVar[dict[int, Followed] | None] = ContextVar("alma_llamaindex_expected", default=None)
"""Runs that a harness is about to begin, by the id of the agent or engine."""


class SpanHandler(BaseSpanHandler[Any]):
    """Follows runs from their first span to their last. The dispatcher calls it on the thread of the agent, and swallows its
    exceptions."""

    def here(self) -> RunSpan | None:
        """Returns the caller's span, if it belongs to a followed run."""
        return self.open_spans.get(active_span_id.get() or "") or CUSTOM.get()

    def context_here(self) -> RunContext:
        """Returns the context of the caller's run."""
        span = self.here()
        return RunContext() if span is None else span.followed.run_context()

    def going_on(self) -> Iterator[Followed]:
        """Yields the live runs."""
        return (span.followed for span in list(self.open_spans.values()) if span.around is None)

    def close(self) -> None:
        """Uninstalls all learners when the dispatcher shuts down."""
        for learner in LEARNERS.known():
            learner.uninstall()

    # Hooks of the dispatcher.

    def new_span(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: Any = None,
        parent_span_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> RunSpan | None:
        method, around = spans.method(id_), self.open_spans.get(parent_span_id or "") or CUSTOM.get()
        if around is None and method not in spans.BEGINNINGS:
            return None
        span: RunSpan | None = None
        with LEARNERS.guard():
            streams.end_unread()
            kind, expected = spans.kind_of(method, instance), EXPECTED.get()
            if kind is not None and expected is not None and id(instance) in expected:
                span = RunSpan(method, expected.pop(id(instance)))
            elif kind is not None and (kind in (Kind.AGENT, Kind.WORKFLOW) or (around is None and LEARNERS.want(kind))):
                first, task, about = spans.first_agent(instance), spans.asked(bound_args), spans.about(bound_args)
                span = RunSpan(method, Followed(kind, first, task, about, has_retriever=spans.has_retriever(instance)))
            elif around is not None:
                span = self._inside(around, method, bound_args, instance, tags)
                if span is None:
                    self.open_spans.pop(parent_span_id or "", None)
        return span

    def prepare_to_exit_span(
        self, id_: str, bound_args: BoundArguments, instance: Any = None, result: Any = None, **kwargs: Any
    ) -> RunSpan | None:
        return self._left(id_, bound_args, instance, result, None)

    def prepare_to_drop_span(
        self, id_: str, bound_args: BoundArguments, instance: Any = None, err: BaseException | None = None, **kwargs: Any
    ) -> RunSpan | None:
        is_shutdown = instance is None  # the dispatcher drops all open spans: nothing failed
        return self._left(id_, bound_args, instance, None, None if is_shutdown else err)

    def _left(self, id_: str, given: BoundArguments, instance: Any, result: Any, error: BaseException | None) -> RunSpan | None:
        span = self.open_spans.get(id_)
        if span is None and not streams.CHATS:
            return None
        with suppress(Exception), LEARNERS.guard():  # otherwise the span would stay open
            if spans.method(id_) in spans.HISTORY:
                streams.end_chat(instance, error)
            elif span is not None and span.around is None:
                self._ended(span.followed, result, error)
            elif span is not None:
                self._done(span, given, instance, result, error)
        return span

    def _inside(self, around: RunSpan, method: str, given: BoundArguments, instance: object, tags: Any) -> RunSpan | None:
        """Handles the beginning of a span inside a run. `None` if nothing is recorded of the run."""
        followed = around.followed
        followed.follow(given, tags or {})
        if method == spans.BEGIN and MEMORIES:
            spans.give_memory(given, MEMORY, MEMORIES)
        if method == spans.TURN and not LEARNERS.take(followed):
            return None
        if isinstance(instance, BaseTool) and method in spans.TOOLS:
            followed.knows(instance)
        if followed.kind is Kind.QUERY and (reason := spans.feedback(given)):
            followed.corrected(reason)
        return RunSpan(method, followed, around)

    def _done(self, span: RunSpan, given: BoundArguments, instance: Any, result: Any, error: BaseException | None) -> None:
        """Handles the end of a span inside a run. A tool call in the user's own code has no agent that would report it."""
        followed = span.followed
        is_own_tool = followed.kind is Kind.CUSTOM and isinstance(instance, BaseTool) and span.method in spans.TOOLS
        if isinstance(error, WaitingForEvent):
            followed.waits()
        elif is_own_tool and span.around is not None and not span.around.is_in_tool:
            followed.tool_called(instance.metadata.get_name(), given.arguments.get("kwargs"), error or result, span.started)
        elif span.method == spans.TOOL_CALL and isinstance(result, ToolCallResult):
            followed.tool_called(result.tool_name, result.tool_kwargs, result.tool_output, span.started)
        elif span.method == spans.TURN and isinstance(result, AgentOutput):
            followed.said(result.response.content, *(call.tool_kwargs for call in result.tool_calls))
            if not result.tool_calls:  # the chat keeps this very message, which is the answer
                followed.clean(result.response)
        elif isinstance(result, StopEvent):
            followed.answered(result)

    def _ended(self, followed: Followed, result: object, error: BaseException | None) -> None:
        if followed.kind in (Kind.QUERY, Kind.CHAT):
            followed.answered(result)
        if isinstance(result, spans.Streamed) and followed.lines:
            streams.watch(result, followed)
        else:
            followed.ended(result, error)


class Learners:
    """The installed learners: all, by their ALMA, by the agents that they name, and by the kinds of runs that they take."""

    def __init__(self) -> None:
        self._by: dict[Hashable, tuple[ALMALearner, ...]] = {}
        self._harnessed = 0
        self._changing = threading.RLock()

    def known(self, key: Hashable = None) -> "list[ALMALearner]":
        """Returns all learners, or those of an ALMA or of an agent's name, in the order in which they were installed."""
        return list(self._by.get(key, ()))

    def in_charge(self, alma: ALMA) -> "ALMALearner | None":
        """Returns the learner that takes the runs of this project that begin now: the last one installed."""
        return next(reversed(self._by.get(alma, ())), None)

    def want(self, kind: Kind) -> bool:
        """Returns True when any learner takes runs of this kind."""
        return kind in self._by

    def add(self, learner: "ALMALearner") -> None:
        """Adds a learner, which then follows runs."""
        with self._changing:
            for key in _keys_of(learner):
                self._by[key] = (*self._by.get(key, ()), learner)
            _attach()

    def remove(self, learner: "ALMALearner") -> None:
        """Removes a learner. If it was the last of its project, the live runs of the project are cut short."""
        with self._changing:
            for key in _keys_of(learner):
                self._by[key] = tuple(other for other in self._by.get(key, ()) if other is not learner)
                if not self._by[key]:
                    del self._by[key]
            if not self.known(learner.alma):
                for followed in HANDLER.going_on():
                    followed.leave(learner.alma)
            self._detach_if_unused()

    @contextmanager
    def expecting(self, agent: object, followed: Followed) -> Iterator[None]:
        """Follows the run of an agent or an engine that a harness begins in the block, with or without a learner."""
        with self._changing:
            self._harnessed += 1
            _attach()
        token = EXPECTED.set({id(agent): followed})
        try:
            yield
        finally:
            EXPECTED.reset(token)
            with self._changing:
                self._harnessed -= 1
                self._detach_if_unused()

    def take(self, followed: Followed) -> bool:
        """Connects a run to the learners that name the agent whose turn begins. Returns whether the run is recorded, now or later.

        A run without a message continues an earlier run, and its memory may still be asked; a workflow may reach an agent that is named.
        """
        for learner in self.known(followed.speaking) if followed.task else ():
            if learner is self.in_charge(learner.alma) and learner.alma not in followed.lines:
                followed.begin(learner.integration, names=learner.agents)
        return bool(followed.lines) or not followed.task or (followed.kind is Kind.WORKFLOW and self.want(Kind.WORKFLOW))

    def guard(self) -> AbstractContextManager[None]:
        """Contains and reports an error of this adapter."""
        last = next(reversed(self._by.get(None, ())), None)
        return nullcontext() if last is None else last.integration.guard("a run of LlamaIndex could not be followed")

    def _detach_if_unused(self) -> None:
        if not self._by and not self._harnessed:
            dispatcher = get_dispatcher()
            dispatcher.span_handlers = [handler for handler in dispatcher.span_handlers if handler is not HANDLER]
            HANDLER.open_spans.clear()


def _attach() -> None:
    dispatcher = get_dispatcher()
    if HANDLER not in dispatcher.span_handlers:
        dispatcher.add_span_handler(HANDLER)


def _keys_of(learner: "ALMALearner") -> set[Hashable]:
    kinds = {Kind.CHAT} | ({Kind.QUERY} if learner.query_engines else set()) | ({Kind.WORKFLOW} if learner.agents else set())
    return {None, learner.alma, *learner.agents, *kinds}


HANDLER = SpanHandler()
"""On the dispatcher only while it is needed."""
LEARNERS = Learners()


@atexit.register
def _leave() -> None:
    """Suspends serialised live runs for other processes, when this one ends."""
    for followed in HANDLER.going_on():
        for line in followed.lines.values() if followed.is_written_down else ():
            line.run.suspend()
