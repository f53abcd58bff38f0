"""Runs an agent of smolagents in a harness: its tools report their calls, its steps what the model said and what was sent back."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from smolagents import ActionStep, MultiStepAgent
from smolagents.agents import AgentError

from alma_harness.tools import recorded
from alma_integration import Run, check_parts

check_parts(
    "alma-harness",
    "smolagents",
    (
        "smolagents:MultiStepAgent.run(stream)",
        "smolagents:MultiStepAgent(managed_agents)",
        "smolagents:ActionStep.model_output_message",
        "smolagents:ActionStep.error",
        "smolagents:Tool.forward",
    ),
)

ANSWER = "final_answer"
"""The tool by which a model of smolagents answers: no step of the run."""


def driven(agent: MultiStepAgent) -> Callable[..., Any]:
    """Returns the function that runs the agent once and returns its final answer. An agent has one memory, so its runs take turns."""
    turn = threading.Lock()

    def run_agent(prompt: str, run: Run, **given: Any) -> Any:
        output = None
        with turn, _followed(agent, run):
            for step in agent.run(prompt, **{**given, "stream": True}):
                if isinstance(step, ActionStep):
                    _heard(run, step)
                output = getattr(step, "output", output)
        return output

    return run_agent


@contextmanager
def _followed(agent: MultiStepAgent, run: Run) -> Iterator[None]:
    """Records the calls of the agent's tools and of its team while the block runs."""
    own = {name: tool for name, tool in agent.tools.items() if name != ANSWER}
    team, model = dict(agent.managed_agents), agent.model
    before = {name: tool.__dict__.get("forward") for name, tool in own.items()}
    for name, tool in own.items():
        tool.forward = _named(recorded(run, tool.forward, name), tuple(tool.inputs))
    agent.managed_agents.update({name: _Member(member, run) for name, member in team.items()})
    agent.model = _Model(model, run)
    try:
        yield
    finally:
        agent.model = model
        agent.managed_agents.update(team)
        for name, tool in own.items():
            if before[name] is None:
                del tool.forward
            else:
                tool.forward = before[name]


def _named(call: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    """Returns the call with its positional arguments named, as code that a model wrote may have them."""

    @functools.wraps(call)
    def named_call(*given: Any, **named: Any) -> Any:
        return call(**dict(zip(names, given, strict=False)), **named)

    return named_call


def _heard(run: Run, step: ActionStep) -> None:
    """Reports a step: what a model that streams said, and why an answer was sent back, which no class of error but the plain one says."""
    _said(run, step.model_output_message, step.model_output)
    if type(step.error) is AgentError:
        run.corrected(step.error.message)
    run.settle()


def _said(run: Run, message: Any, *further: object) -> None:
    calls = getattr(message, "tool_calls", None) or ()
    run.model_said(*further, getattr(message, "content", None), *(call.function.arguments for call in calls))


class _Model:
    """The model of the agent, whose answers are read before their calls are made."""

    def __init__(self, model: Any, run: Run) -> None:
        self._model = model
        self._run = run

    def generate(self, *given: Any, **named: Any) -> Any:
        message = self._model.generate(*given, **named)
        _said(self._run, message)
        return message

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._model(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


class _Member:
    """A member of the team, whose calls are recorded as those of a tool."""

    def __init__(self, member: Any, run: Run) -> None:
        self._member = member
        self._call = recorded(run, functools.partial(member), member.name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._call(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._member, name)
