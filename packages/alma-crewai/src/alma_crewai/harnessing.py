"""Runs a crew or an agent of CrewAI in a harness of `alma-harness`, which begins and ends the run."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from crewai import Crew
from crewai.agents.agent_builder.base_agent import BaseAgent

from alma import ConfigurationError
from alma_crewai import events, listener
from alma_crewai.actors import Work, context_of, role_of
from alma_crewai.attempt import Attempt
from alma_crewai.recorders import HARNESSED, Recorder
from alma_integration import Run, RunContext

PROMPT = "task"
"""The input of a crew that is given the prompt."""


def driven(agent: Crew | BaseAgent) -> Callable[..., Any]:
    """Returns the function that runs it once and returns its answer as text.

    A crew is given the prompt as the input `task`, and further inputs as those of the `Context`; a crew without `{task}` in a description
    is a `ConfigurationError`. The agent whose role is the name of the harness, or else the one that acts first, has that
    name; further agents have their roles.
    """
    return _crew(agent) if isinstance(agent, Crew) else _agent(agent)


def _crew(crew: Crew) -> Callable[..., Any]:
    """A crew has one set of tasks, whose texts a start changes, so its runs take turns."""
    texts = [task._original_description or task.description for task in crew.tasks]
    if not any(f"{{{PROMPT}}}" in text for text in texts):
        raise ConfigurationError(
            f"a crew in a harness takes the prompt as an input; write {{{PROMPT}}} in the description of a task"
        )
    turn = threading.Lock()

    def run_crew(prompt: str, run: Run, inputs: Mapping[str, Any] | None = None, **given: Any) -> str:
        further = getattr(run.context.context, "inputs", {})
        with turn, _followed(run, {role_of(context_of(agent, None)) for agent in crew.agents}):
            return str(crew.kickoff({**further, **(inputs or {}), PROMPT: prompt}, **given))

    return run_crew


def _agent(agent: Any) -> Callable[..., Any]:
    async def run_agent(prompt: str, run: Run, **given: Any) -> str:
        with _followed(run) as recorder:
            key, context = str(agent.id), context_of(agent, None)
            attempt = events.begin(recorder, context, run.task, key=key, agent_id=key, kind="alone")
            try:
                return str((await agent.kickoff_async(prompt, **given)).raw)
            finally:
                if attempt is not None and attempt.is_open:
                    attempt.abandon("the harness ends it")

    return run_agent


class Parts(Recorder):
    """Reports the tasks of one run that a harness began as parts of that run. Tasks at the same time are credited each to its agent."""

    is_harnessed = True

    def __init__(self, run: Run, roles: Collection[str] = ()) -> None:
        super().__init__(run.integration.alma, {})
        self.integration, self._run = run.integration, run
        self._names = {run.agent: run.agent} if run.agent in roles else {}
        self._lock = threading.Lock()

    def run(self, task: str, context: RunContext, giver: Attempt | None) -> Run:
        return self._run

    def agent_of(self, run: Run, work: Work) -> str:
        """Returns the name of the harness for the agent that has it, or else acts first, and for others their roles."""
        role = role_of(RunContext(context=work))
        with self._lock:
            return self._names.setdefault(role, role if self._names else run.agent)


@contextmanager
def _followed(run: Run, roles: Collection[str] = ()) -> Iterator[Parts]:
    recorder = Parts(run, roles)
    listener.listen(recorder)
    token = HARNESSED.set(recorder)
    try:
        yield recorder
    finally:
        HARNESSED.reset(token)
        listener.stop(recorder)
