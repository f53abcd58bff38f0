"""The acting agent of a crew: as ALMA's agent, and as CrewAI reports it for a recall."""

from dataclasses import dataclass
from typing import Any

from crewai.events.event_bus import crewai_event_bus
from crewai.events.event_context import get_last_event_id
from crewai.events.types.memory_events import MemoryRetrievalStartedEvent
from crewai.utilities.i18n import I18N_DEFAULT

from alma.text import one_line, shortened
from alma_crewai.starts import inputs_of
from alma_integration import RunContext

LONGEST_NAME = 200
OUTSIDE = "crew"
"""Agent of memories that the user's own code writes or reads outside of any task. Also CrewAI's name of a crew without one."""


@dataclass(frozen=True, slots=True)
class Work:
    """Facts that CrewAI knows of an attempt: the `RunContext.context` for options such as `agent` and `user_id` that are functions.

    `role` is the agent's role as it was written: `Tester of {page}`, not `Tester of login`. `agent`, `task` and `crew` are CrewAI's own
    objects, `None` where CrewAI does not provide them.
    """

    role: str = ""
    agent: Any = None
    task: Any = None
    crew: Any = None


def asking() -> MemoryRetrievalStartedEvent | None:
    """Returns CrewAI's event for the prompt that this call of `recall` is for; `None` for a search by a tool or by the user's own
    code."""
    state, event_id = crewai_event_bus.runtime_state, get_last_event_id()
    node = state.event_record.get(event_id) if state is not None and event_id else None
    return node.event if node is not None and isinstance(node.event, MemoryRetrievalStartedEvent) else None


def context_of(agent: Any, task: Any) -> RunContext:
    """Returns the argument of options that are functions: the work, and the inputs of the crew."""
    crew = getattr(agent, "crew", None)
    return RunContext(context=Work(_role(agent, crew), agent, task, crew), metadata=inputs_of(crew))


def role_of(context: RunContext) -> str:
    """Returns the name of an agent: its role in one line of at most 200 characters."""
    role = context.context.role if isinstance(context.context, Work) else ""
    return shortened(one_line(role), LONGEST_NAME) or OUTSIDE


def _role(agent: Any, crew: Any) -> str:
    """Returns the role. All managers that CrewAI creates have one role, so each is named by its crew."""
    role = str(getattr(agent, "_original_role", None) or getattr(agent, "role", None) or "")
    made = I18N_DEFAULT.retrieve("hierarchical_manager_agent", "role")
    if crew is None or agent is not getattr(crew, "manager_agent", None) or role != made:
        return role
    return f"{role} ({crew.name if crew.name and crew.name != OUTSIDE else crew.key[:8]})"
