"""Which attempt is going on in this context, and which of CrewAI's events ends it.

CrewAI hands its events to a pool of threads, in no certain order, and some after the task is over. A stream sink hears them in the context
that emits them, in order, before anything else happens: what a task taught is stored when the next one begins.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from functools import partial
from typing import Any

from crewai.events.event_bus import crewai_event_bus
from crewai.events.stream_context import add_stream_sink, reset_stream_sinks
from crewai.events.types.agent_events import (
    AgentExecutionCompletedEvent,
    AgentExecutionErrorEvent,
    AgentExecutionStartedEvent,
    LiteAgentExecutionCompletedEvent,
    LiteAgentExecutionErrorEvent,
)
from crewai.events.types.task_events import TaskCompletedEvent, TaskFailedEvent
from crewai.events.types.tool_usage_events import ToolUsageFinishedEvent

from alma_crewai import listening
from alma_crewai.asking import agent_name
from alma_crewai.practice import Practice
from alma_crewai.run import Run


class Watch:
    """A run that is going on, inside of which run, and whether a delegation began it: such has no task event of its own."""

    def __init__(self, run: Run, outer: "Watch | None", *, is_delegated: bool) -> None:
        self.run = run
        self.outer = outer
        self.is_delegated = is_delegated
        self.crew: object | None = None
        self.state = crewai_event_bus.runtime_state if run.is_task else None  # one for each start of a crew that is in no other
        self.sink: Token[Any] | None = None


_WATCH: ContextVar[Watch | None] = ContextVar("alma_crewai_watch", default=None)


def current() -> Watch | None:
    """The innermost run that is still open in this context."""
    return next((watch for watch in _here() if watch.run.is_open), None)


def _here() -> Iterator[Watch]:
    """The runs that were begun in this context and not left, innermost first; a listener that was closed has ended some from outside."""
    watch = _WATCH.get()
    while watch is not None:
        yield watch
        watch = watch.outer


def enter(run: Run, *, is_delegated: bool = False) -> Watch:
    """Makes a run the one that is going on here."""
    drop_leftovers()
    watch = Watch(run, current(), is_delegated=is_delegated)
    if watch.outer is None:
        for ended in list(_here()):
            leave(ended)
        watch.sink = add_stream_sink(partial(_hear, watch))
    _WATCH.set(watch)
    return watch


def leave(watch: Watch) -> None:
    """Goes back to the run outside of it."""
    _WATCH.set(watch.outer)
    if watch.sink is not None:
        with suppress(ValueError, RuntimeError):  # another context, or left before
            reset_stream_sinks(watch.sink)


def abandon(watch: Watch, reason: str) -> None:
    """Leaves a run that nothing will end any more, and those inside of it."""
    with reporting(watch.run.practice):
        watch.run.abandon(reason)
    leave(watch)


def drop_leftovers() -> None:
    """Abandons what was left open by a crew that is over: an interrupt ends it without a word."""
    while (watch := current()) is not None and watch.state is not None and watch.state is not crewai_event_bus.runtime_state:
        abandon(watch, "cut short without a word")


@contextmanager
def reporting(practice: Practice) -> Iterator[None]:
    """Whatever goes wrong inside is kept, and the crew goes on."""
    try:
        yield
    except Exception as problem:  # noqa: BLE001 - no memory is worth a crew's run
        practice.report(problem)


def _hear(outermost: Watch, source: object, event: Any) -> None:
    """Follows an event in the context where the outermost run was begun, or in one made from it."""
    if outermost not in _here():
        return
    drop_leftovers()
    watch = current()
    if watch is None:
        return
    with reporting(watch.run.practice):
        _follow(watch, event)


def _follow(watch: Watch, event: Any) -> None:
    """One event of a run, or of the run outside of it, which says that this one is over."""
    key = _task_of(event)
    if isinstance(event, AgentExecutionStartedEvent) and watch.run.is_task and key != watch.run.key:
        _delegated(event, key or "")
        return
    while watch.outer is not None and watch.outer.run.key == key and _is_of_the_outer(event):
        _finish(watch, error=watch.run.error)
        watch = watch.outer
    match event:
        case TaskCompletedEvent() if key == watch.run.key:
            _finish(watch, answer=event.output.raw)
        case TaskFailedEvent() if key == watch.run.key:
            _finish(watch, error=_error_of(event))
        case AgentExecutionCompletedEvent() if key == watch.run.key:
            _observe(watch, event.output)
            if watch.is_delegated:
                _finish(watch, answer=event.output)
        case AgentExecutionErrorEvent() if key == watch.run.key:
            watch.run.error = event.error
        case LiteAgentExecutionCompletedEvent() if str(event.agent_info.get("id")) == watch.run.key:
            _observe(watch, event.output)
            _finish(watch, answer=event.output)
        case LiteAgentExecutionErrorEvent() if str(event.agent_info.get("id")) == watch.run.key:
            _finish(watch, error=event.error)
        case _:
            watch.run.take(event)


def _delegated(event: AgentExecutionStartedEvent, key: str) -> None:
    """Work that an agent hands to a coworker is an attempt of the coworker, in the memory that the coworker has."""
    listener = listening.listener_for(event.agent)
    if listener is None:
        return
    with reporting(listener.practice):
        enter_delegated(
            listener.practice, role=event.agent.role, task=event.task.description, key=key, agent_id=str(event.agent.id)
        )


def enter_delegated(practice: Practice, *, role: str, task: str, key: str, agent_id: str | None) -> Watch:
    """Begins an attempt of a coworker, for the user whom the one who delegates works for."""
    run = Run(practice, agent=practice.agent or agent_name(role), task=task, key=key, agent_id=agent_id)
    if (outer := current()) is not None and outer.run.practice is practice:
        run.user = outer.run.user
    return enter(run, is_delegated=True)


def _observe(watch: Watch, answer: str) -> None:
    with reporting(watch.run.practice):
        watch.run.observe(answer)


def _finish(watch: Watch, *, answer: str | None = None, error: str | None = None) -> None:
    try:
        record = watch.run.fail(error) if answer is None else watch.run.complete(answer)
        watch.run.practice.ended(record)
    finally:
        leave(watch)


def _task_of(event: Any) -> str | None:
    task = getattr(event, "task", None)
    return str(task.id) if task is not None else event.task_id


def _is_of_the_outer(event: object) -> bool:
    return isinstance(event, ToolUsageFinishedEvent | AgentExecutionCompletedEvent | TaskCompletedEvent | TaskFailedEvent)


def _error_of(event: TaskFailedEvent) -> str:
    kind = getattr(getattr(event, "error_type", None), "__name__", "Exception")  # older ones do not say it
    return event.error if kind == "Exception" else f"{kind}: {event.error}"
