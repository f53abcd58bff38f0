"""CrewAI's hooks, which are the process's: there once, as long as anybody listens."""

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from crewai.hooks import InterceptionPoint, get_hooks, register_hook, unregister_hook

from alma_crewai import copies, watching
from alma_crewai.asking import agent_name
from alma_crewai.run import Run

if TYPE_CHECKING:
    from alma_crewai.listener import ALMACrewListener

_LISTENERS: "WeakSet[ALMACrewListener]" = WeakSet()


def listen(listener: "ALMACrewListener") -> None:
    """Has a listener told of tasks, from now on."""
    _LISTENERS.add(listener)
    for point, hook in _HOOKS.items():
        if hook not in get_hooks(point):
            register_hook(point, hook)


def stop(listener: "ALMACrewListener") -> None:
    """Tells a listener of no more tasks; after the last one CrewAI has its hooks as before."""
    _LISTENERS.discard(listener)
    if not _LISTENERS:
        for point, hook in _HOOKS.items():
            unregister_hook(point, hook)


def is_heard(listener: "ALMACrewListener") -> bool:
    """Whether a listener is told of tasks."""
    return listener in _LISTENERS


def memory_of(agent: Any) -> Any:
    """The memory that an agent recalls from: its own, else that of its crew; behind a scope or a slice, the memory itself."""
    memory = getattr(agent, "memory", None) or getattr(getattr(agent, "crew", None), "_memory", None)
    return getattr(memory, "_memory", None) or memory


def _before_crew(ctx: Any) -> None:
    copies.restore(ctx.crew)


def _before_task(ctx: Any) -> None:
    if ctx.kind != "task":
        return
    listener = _listener_for(ctx.agent)
    if listener is None:
        return
    with watching.reporting(listener.practice):
        crew = getattr(ctx.agent, "crew", None)
        _abandon_leftovers(crew)
        practice = listener.practice
        name = practice.agent or agent_name(ctx.agent_role)
        run = Run(practice, agent=name, task=ctx.task.description, key=str(ctx.task.id))
        watching.enter(run).crew = crew


def _abandon_leftovers(crew: Any) -> None:
    """A crew does one task at a time in one context: another one of it that is open here was cut short without a word."""
    while crew is not None and (watch := watching.current()) is not None and watch.crew is crew:
        watching.abandon(watch, "the crew began another task")


def _listener_for(agent: Any) -> "ALMACrewListener | None":
    """The listener of the memory in force, else the one opened last that listens to all crews. Never two for one task."""
    own = getattr(memory_of(agent), "listener", None)
    if own is not None:
        return own if is_heard(own) else None
    free = [listener for listener in _LISTENERS if not listener.is_of_a_memory]
    return max(free, key=lambda listener: listener.number, default=None)


_HOOKS = {InterceptionPoint.EXECUTION_START: _before_crew, InterceptionPoint.PRE_STEP: _before_task}
