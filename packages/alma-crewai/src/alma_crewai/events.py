"""Begins and ends attempts by CrewAI's events.

CrewAI passes its events to a pool of threads, in no certain order, and some after the task is over. A stream sink receives them in the
context that emits them, in order, before anything else happens, so that the lessons of a task are known when the next one begins.
"""

from functools import partial
from typing import Any

from crewai.events.event_bus import _runtime_scope_depth, crewai_event_bus
from crewai.events.stream_context import add_stream_sink, reset_stream_sinks
from crewai.events.types import agent_events
from crewai.events.types.memory_events import MemoryRetrievalStartedEvent
from crewai.events.types.task_events import TaskCompletedEvent, TaskFailedEvent
from crewai.events.types.tool_usage_events import ToolUsageFinishedEvent

from alma_crewai.actors import context_of
from alma_crewai.attempt import Attempt, Kind, begun, current, leave_ended
from alma_crewai.recorders import Recorder, recorder_for
from alma_integration import RunContext

_OF_THE_OUTER = (ToolUsageFinishedEvent, agent_events.AgentExecutionCompletedEvent, TaskCompletedEvent, TaskFailedEvent)
"""One of these events about an attempt ends all attempts inside it."""


def begin(
    recorder: Recorder, context: RunContext, task: str, *, key: str, agent_id: str, kind: Kind, is_rehearsal: bool = False
) -> Attempt | None:
    """Begins the current attempt; `None` if the user's own functions do not name its owner.

    Delegated work is for the user of the delegating agent, and a rehearsal if that is one.
    """
    _drop_leftovers(key, context.context.crew if kind == "task" else None)
    outer, made = current(), None
    giver = outer if kind == "delegated" else None
    with recorder.integration.guard("a task could not be followed"):
        state = crewai_event_bus.runtime_state if _runtime_scope_depth.get() > 0 else None
        run, is_rehearsal = recorder.run(task, context, giver), is_rehearsal or (giver is not None and giver.is_rehearsal)
        made = Attempt(
            run,
            recorder.attempts.discard,
            key=key,
            agent_id=agent_id,
            kind=kind,
            is_rehearsal=is_rehearsal,
            outer=outer,
            state=state,
            work=context.context,
            agent=recorder.agent_of(run, context.context),
            is_harnessed=recorder.is_harnessed,
        )
        if outer is None:
            leave_ended()
            made.on_leave.append(partial(reset_stream_sinks, add_stream_sink(partial(_hear, made))))
        recorder.attempts.add(made)
        made.enter()
    return made


def _drop_leftovers(key: str = "", crew: object = None) -> None:
    """Abandons attempts that an interrupt ended without an event: those of a start that is over, and those replaced by the one that
    begins.

    A crew does one task at a time in one context, and each start of an outermost crew has a state of its own.
    """
    while (attempt := current()) is not None:
        is_over = attempt.state is not None and attempt.state is not crewai_event_bus.runtime_state
        if not is_over and attempt.key != key and (crew is None or attempt.work.crew is not crew):
            return
        attempt.abandon("cut short without a word")


def _hear(outermost: Attempt, source: object, event: Any) -> None:
    """Handles an event in the context where the outermost attempt was begun, or in one derived from it."""
    if outermost not in begun():
        return
    _drop_leftovers()
    attempt = current()
    if attempt is not None:
        with attempt.run.integration.guard("an event was not followed", attempt.run):
            _follow(attempt, source, event)


def _follow(attempt: Attempt, source: Any, event: Any) -> None:
    """Handles one event of an attempt, or of the enclosing one, which shows that this one is over."""
    key = _key_of(event)
    if isinstance(event, MemoryRetrievalStartedEvent | agent_events.AgentExecutionStartedEvent):
        if attempt.kind != "alone" and key not in (None, attempt.key):
            _begin_delegated(source, event, str(key))
        return
    while attempt.outer is not None and attempt.outer.key == key and isinstance(event, _OF_THE_OUTER):
        attempt.fail(attempt.error)
        attempt = attempt.outer
    is_own = key == attempt.key
    match event:
        case TaskCompletedEvent() if is_own:
            attempt.complete(event.output.raw, event.output)
        case TaskFailedEvent() if is_own:
            attempt.fail(_error_of(event))
        case agent_events.AgentExecutionCompletedEvent() | agent_events.LiteAgentExecutionCompletedEvent() if is_own:
            attempt.said(event.output)
            if attempt.kind != "task":
                attempt.complete(event.output)
        case agent_events.AgentExecutionErrorEvent() if is_own:
            attempt.error = event.error
        case agent_events.LiteAgentExecutionErrorEvent() if is_own:
            attempt.fail(event.error)
        case _:
            attempt.take(event)


def _begin_delegated(agent: Any, event: Any, key: str) -> None:
    """Begins an attempt of a coworker for delegated work, in the memory of the coworker."""
    recorder, task = recorder_for(agent), getattr(event, "task", None)
    if recorder is not None:
        said = event.task_name if task is None else task.description
        begin(recorder, context_of(agent, task), said, key=key, agent_id=str(agent.id), kind="delegated")


def _key_of(event: Any) -> str | None:
    """Returns CrewAI's id of the task that an event is about, or of the agent where there is no task."""
    task, agent = getattr(event, "task", None), getattr(event, "agent_info", {})
    found = task.id if task is not None else agent.get("id") or event.task_id
    return None if found is None else str(found)


def _error_of(event: TaskFailedEvent) -> str:
    kind = getattr(getattr(event, "error_type", None), "__name__", "Exception")  # older versions do not have it
    return event.error if kind == "Exception" else f"{kind}: {event.error}"
