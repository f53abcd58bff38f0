"""The open recorders of memories and listeners, and the choice of one for a task."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

from alma import ALMA, ConfigurationError
from alma_crewai.actors import Work, role_of
from alma_crewai.attempt import Attempt
from alma_integration import Identity, Integration, OptionArguments, Options, Run, RunContext


class Settings(OptionArguments, total=False):
    """The options of `alma.integration.Options`, and `agent`: a name, or a function of the `RunContext`, instead of the acting agent's role."""

    agent: Identity


def check_names(settings: Mapping[str, object], owner: str) -> None:
    """Raises `TypeError` for an unknown setting, naming what the user called."""
    known = ["agent", *OptionArguments.__annotations__]
    if unknown := sorted(settings.keys() - set(known)):
        raise TypeError(f"{owner} has no argument {unknown[0]!r}; there are {', '.join(known)}")


class Recorder:
    """Records the work of agents in crews: a memory's recorder for agents that recall from it, a listener's for agents without such a
    memory."""

    is_harnessed = False
    """True where a harness begins and ends the run."""

    def __init__(self, alma: ALMA, settings: Settings) -> None:
        options = Options.taken({**settings})
        if options.inject == "system":
            raise ConfigurationError(
                "inject is 'system'; CrewAI lets a memory into the message of the task alone: 'message' or 'none'"
            )
        agent = settings.get("agent")
        self.integration = Integration(alma, agent=role_of if agent is None else agent, options=options)
        self.settings = settings
        self.is_closed = False
        self.attempts: set[Attempt] = set()

    def run(self, task: str, context: RunContext, giver: Attempt | None) -> Run:
        """Begins the run of an attempt. Delegated work is for the user of the delegating agent, `giver`."""
        if giver is not None and giver.run.integration is self.integration:
            context = replace(context, pinned=giver.run.context.pinned)
        else:
            context = self.integration.pinned(context)
        ids = {name: str(found) for name in ("run_id", "thread_id") if (found := context.find(name)) is not None}
        return self.integration.run(task, context=context, **ids)

    def agent_of(self, run: Run, work: Work) -> str:
        """Returns the agent that an attempt in a run is credited to."""
        return run.agent

    def close(self) -> None:
        """Ends live attempts without a verdict."""
        self.is_closed = True
        for attempt in list(self.attempts):
            attempt.abandon("its listener was closed")


HARNESSED: ContextVar[Recorder | None] = ContextVar("alma_crewai_harnessed", default=None)
"""The recorder of the run that a harness began in this context."""
OPEN: WeakKeyDictionary[Recorder, bool] = WeakKeyDictionary()
"""The recorders that receive tasks, in the order in which they were opened, each with whether it is a listener's."""
LOCK = RLock()
"""Held while `OPEN` grows or is iterated. A recorder may be garbage-collected while another begins."""


def recorder_for(agent: Any) -> Recorder | None:
    """Returns the recorder of the memory in force, else that of the listener created last. Never two for one task.

    An agent's own memory takes precedence over its crew's; behind a scope or a slice, it is the memory itself. The agents by which CrewAI
    plans and evaluates are in no crew, so they are not recorded. In a harness all belongs to its run.
    """
    if (harnessed := HARNESSED.get()) is not None:
        return harnessed
    crew = getattr(agent, "crew", None)
    memory = getattr(agent, "memory", None) or getattr(crew, "_memory", None)
    own = getattr(getattr(memory, "_memory", None) or memory, "recorder", None)
    if isinstance(own, Recorder):
        return own if own in OPEN else None
    with LOCK:
        listeners = [recorder for recorder, is_listener in OPEN.items() if is_listener]
    return listeners[-1] if crew is not None and listeners else None
