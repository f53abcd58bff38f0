"""Which attempt is going on in this context, and which of CrewAI's events ends it.

CrewAI hands its events to a pool of threads, in no certain order, and some after the task is over. A stream sink hears them in the context
that emits them, in order, before anything else happens: what a task taught is stored when the next one begins.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from typing import Any

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
        self.sink: Token[Any] | None = None


_WATCH: ContextVar[Watch | None] = ContextVar("alma_crewai_watch", default=None)


def current() -> Watch | None:
    """The innermost run that is still open in this context."""
    watch = _WATCH.get()
    while watch is not None and not watch.run.is_open:
        watch = watch.outer
    return watch


def enter(run: Run, *, is_delegated: bool = False) -> Watch:
    """Makes a run the one that is going on here."""
    watch = Watch(run, current(), is_delegated=is_delegated)
    _WATCH.set(watch)
    if watch.outer is None:
        watch.sink = add_stream_sink(_hear)
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


@contextmanager
def reporting(practice: Practice) -> Iterator[None]:
    """Whatever goes wrong inside is kept, and the crew goes on."""
    try:
        yield
    except Exception as problem:  # noqa: BLE001 - no memory is worth a crew's run
        practice.report(problem)


def _hear(source: object, event: Any) -> None:
    watch = current()
    if watch is None:
        return
    with reporting(watch.run.practice):
        _follow(watch, event)


def _follow(watch: Watch, event: Any) -> None:
    """One event of a run, or of the run outside of it, which says that this one is over."""
    key = _task_of(event)
    if isinstance(event, AgentExecutionStartedEvent) and watch.run.is_task and key != watch.run.key:
        enter_delegated(watch, agent=event.agent.role, task=event.task.description, key=key or "")
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


def enter_delegated(watch: Watch, *, agent: str, task: str, key: str) -> Watch:
    """Work that an agent hands to a coworker is an attempt of the coworker."""
    name = watch.run.practice.agent or agent_name(agent)
    return enter(Run(watch.run.practice, agent=name, task=task, key=key), is_delegated=True)


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
