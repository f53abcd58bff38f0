"""Giving a memory to a crew that is built already."""

import logging
from typing import Unpack

from crewai import Crew

from alma import ALMA
from alma_crewai.memory import ALMAMemory
from alma_crewai.practice import Settings

_LOG = logging.getLogger("alma")


def attach_alma(crew: Crew, alma: ALMA, **settings: Unpack[Settings]) -> ALMAMemory:
    """Gives a crew that is built, say by `@CrewBase`, an `ALMAMemory` with these settings, and returns it. Doing it again changes nothing.

    Agents that have a memory of their own keep it, and recall from that; each is named in a warning.
    """
    attached = crew._memory
    if not (isinstance(attached, ALMAMemory) and attached.is_of(alma)):
        attached = ALMAMemory(alma, **settings)
        crew.memory = attached
        crew._memory = attached
    for agent in crew.agents:
        own = getattr(agent, "memory", None)
        if own and not isinstance(own, ALMAMemory):
            _LOG.warning("agent %r has a memory of its own and recalls from that, not from ALMA", agent.role)
    return attached
