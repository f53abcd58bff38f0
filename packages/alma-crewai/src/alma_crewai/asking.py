"""For whom CrewAI is recalling: it says so in the event that it records just before."""

from dataclasses import dataclass

from crewai.events.event_bus import crewai_event_bus
from crewai.events.event_context import get_last_event_id
from crewai.events.types.memory_events import MemoryRetrievalStartedEvent

from alma.text import one_line, shortened

LONGEST_NAME = 200
NOBODY = "crew"
"""The agent that memories belong to which no agent of a crew asked for or wrote: calls from the user's own code."""


@dataclass(frozen=True, slots=True)
class Asker:
    """An agent whose prompt is being built, and its task; `agent.kickoff()` has no task."""

    agent_id: str | None
    role: str
    task_id: str | None


def asker() -> Asker | None:
    """Whose prompt this call of `recall` is for; `None` for a search by a tool or by the user's own code."""
    state, event_id = crewai_event_bus.runtime_state, get_last_event_id()
    node = state.event_record.get(event_id) if state is not None and event_id else None
    if node is None or not isinstance(node.event, MemoryRetrievalStartedEvent):
        return None
    return Asker(node.event.agent_id, node.event.agent_role or "", node.event.task_id)


def agent_name(role: str | None) -> str:
    """A role as the name of an agent: one line, at most 200 characters."""
    return shortened(one_line(role or ""), LONGEST_NAME) or NOBODY
