"""Giving back the `ALMAMemory` to what CrewAI made of it.

`Agent.copy`, and with it `kickoff_for_each`, `crew.copy` and `crew.train`, writes an agent's memory down and makes a plain `Memory` of that; a
checkpoint does it to a crew's. What is written of an `ALMAStorage` is its key.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from crewai.memory.unified_memory import Memory

if TYPE_CHECKING:
    from alma_crewai.memory import ALMAMemory

_MEMORIES: "WeakValueDictionary[str, ALMAMemory]" = WeakValueDictionary()


def know(key: str, memory: "ALMAMemory") -> None:
    """Has copies of a memory found again, by the key of its storage, as long as it lives."""
    _MEMORIES[key] = memory


def restore(crew: Any) -> None:
    """Gives a crew and its agents back the memories that they are copies of."""
    if crew is None:
        return
    if (original := _original(getattr(crew, "_memory", None))) is not None:
        crew.memory = crew._memory = original
    for agent in getattr(crew, "agents", None) or ():
        if (original := _original(getattr(agent, "memory", None))) is not None:
            agent.memory = original


def _original(memory: Any) -> "ALMAMemory | None":
    written: Any = memory._storage if type(memory) is Memory else None
    return _MEMORIES.get(str(written.get("key"))) if isinstance(written, Mapping) else None
