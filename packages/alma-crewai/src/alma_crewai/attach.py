"""Giving a memory to a crew that is built already."""

import logging
from typing import Unpack

from crewai import Crew
from crewai.memory.memory_scope import MemoryScope, MemorySlice

from alma import ALMA, ValidationError
from alma_crewai.memory import ALMAMemory
from alma_crewai.practice import Settings, check_names

_LOG = logging.getLogger("alma")


def attach_alma(crew: Crew, alma: ALMA, **settings: Unpack[Settings]) -> ALMAMemory:
    """Gives a crew that is built, say by `@CrewBase`, an `ALMAMemory` with these settings, and returns it.

    Doing it again changes nothing while that memory is open; `ValidationError` for other settings than it has. A scope or a slice of a memory is
    replaced, with a warning. Agents that have a memory of their own keep it, and recall from that; each is named in a warning.
    """
    check_names(settings, "attach_alma")
    attached = crew._memory
    if isinstance(attached, MemoryScope | MemorySlice):
        _LOG.warning("the crew recalled from a %s; it recalls from the whole memory now", type(attached).__name__)
    if not (isinstance(attached, ALMAMemory) and attached.is_of(alma)):
        attached = ALMAMemory(alma, **settings)
        crew.memory = attached
        crew._memory = attached
    elif not attached.has(settings):
        raise ValidationError("the crew has an ALMAMemory with other settings; close that one first")
    for agent in crew.agents:
        own = getattr(agent, "memory", None)
        if own and not isinstance(own, ALMAMemory):
            _LOG.warning("agent %r has a memory of its own and recalls from that, not from ALMA", agent.role)
    return attached
