"""CrewAI's hooks, which are the process's: there once, as long as anybody listens."""

import threading
import weakref
from typing import TYPE_CHECKING, Any

from crewai.hooks import InterceptionPoint, get_hooks, register_hook, unregister_hook

from alma_crewai import copies, listening, plans, watching
from alma_crewai.asking import agent_name
from alma_crewai.run import Run

if TYPE_CHECKING:
    from alma_crewai.listener import ALMACrewListener


_LOCK = threading.RLock()  # the end of a listener may be noticed in the middle of another's beginning


def listen(listener: "ALMACrewListener") -> None:
    """Has a listener told of tasks, from now on, until it is stopped or nobody keeps it."""
    with _LOCK:
        listening.add(listener)
        weakref.finalize(listener, _leave_if_alone).atexit = False
        for point, hook in _HOOKS.items():
            if hook not in get_hooks(point):
                register_hook(point, hook)


def stop(listener: "ALMACrewListener") -> None:
    """Tells a listener of no more tasks; after the last one CrewAI has its hooks as before."""
    listening.remove(listener)
    _leave_if_alone()


def _leave_if_alone() -> None:
    with _LOCK:
        if not listening.is_anybody_there():
            for point, hook in _HOOKS.items():
                unregister_hook(point, hook)


def _before_crew(ctx: Any) -> None:
    copies.restore(ctx.crew)
    plans.note(ctx.crew)


def _before_task(ctx: Any) -> None:
    if ctx.kind != "task":
        return
    listener = listening.listener_for(ctx.agent)
    if listener is None:
        return
    with watching.reporting(listener.practice):
        crew = getattr(ctx.agent, "crew", None)
        _abandon_leftovers(crew)
        practice = listener.practice
        name = practice.agent or agent_name(ctx.agent_role)
        run = Run(practice, agent=name, task=plans.text_before(ctx.task, crew), key=str(ctx.task.id), agent_id=str(ctx.agent.id))
        watching.enter(run).crew = crew


def _abandon_leftovers(crew: Any) -> None:
    """A crew does one task at a time in one context: another one of it that is open here was cut short without a word."""
    while crew is not None and (watch := watching.current()) is not None and watch.crew is crew:
        watching.abandon(watch, "the crew began another task")


_HOOKS = {InterceptionPoint.EXECUTION_START: _before_crew, InterceptionPoint.PRE_STEP: _before_task}
