"""Who listens: the memories and listeners that are open, and which of them a task is recorded for."""

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from alma_crewai.listener import ALMACrewListener

_OF_MEMORIES: "WeakSet[ALMACrewListener]" = WeakSet()
_FREE: "WeakSet[ALMACrewListener]" = WeakSet()


def add(listener: "ALMACrewListener") -> None:
    """Has a listener told of tasks."""
    (_OF_MEMORIES if listener.is_of_a_memory else _FREE).add(listener)


def remove(listener: "ALMACrewListener") -> None:
    """Tells a listener of no more tasks."""
    _OF_MEMORIES.discard(listener)
    _FREE.discard(listener)


def is_heard(listener: "ALMACrewListener") -> bool:
    """Whether a listener is told of tasks."""
    return listener in _OF_MEMORIES or listener in _FREE


def is_anybody_there() -> bool:
    """Whether anything listens at all. The length of a weak set would not say it: that counts one which is being collected."""
    return any(True for known in (_OF_MEMORIES, _FREE) for _ in known)


def memory_of(agent: Any) -> Any:
    """The memory that an agent recalls from: its own, else that of its crew; behind a scope or a slice, the memory itself."""
    memory = getattr(agent, "memory", None) or getattr(getattr(agent, "crew", None), "_memory", None)
    return getattr(memory, "_memory", None) or memory


def listener_for(agent: Any) -> "ALMACrewListener | None":
    """The listener of the memory in force, else the one opened last that listens to all crews. Never two for one task.

    The agents by which CrewAI plans and evaluates are in no crew, so nobody listens to them.
    """
    own = getattr(memory_of(agent), "listener", None)
    if own is not None:
        return own if is_heard(own) else None
    if getattr(agent, "crew", None) is None:
        return None
    return max(_FREE, key=lambda listener: listener.number, default=None)
