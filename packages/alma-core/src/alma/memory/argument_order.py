"""Refuses calls with agent and task swapped, before anything is done.

Some methods take the agent first (`learn`, `episode`, `check`), others the question (`retrieve`, `strategies`, `assess`), and both are
texts. A call with named arguments is unambiguous and accepted as it is. A call with a positional agent is refused where it looks swapped:
where the text is a known agent and the agent is not, or where an unknown agent has several words and the text a single one.

Where neither is known and both look alike, they cannot be distinguished. A read is harmless then: in either order it reads what every
unknown agent may. A swapped `learn` is detected by the first call in the right order, in which the text is a known agent and the agent is
not.
"""

import inspect
from collections.abc import Callable, Collection, Iterator
from functools import wraps
from typing import ParamSpec, Self, TypeVar

from alma.errors import ValidationError
from alma.memory.room import Room
from alma.text import quoted
from alma.types.partition import Partition

P = ParamSpec("P")
R = TypeVar("R")


class ByPlace(str):
    """An agent's name that was passed by position, and the text beside it, which may be the agent."""

    method: str
    name: str
    text: str

    @classmethod
    def of(cls, agent: str, *, method: str, name: str, text: str) -> Self:
        """Returns the agent, marked."""
        marked = cls(agent)
        marked.method, marked.name, marked.text = method, name, text.strip()
        return marked


def by_place(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a method that takes an `agent` and a text called `name`: marks the agent where a call passes both by position."""

    def decorated(method: Callable[P, R]) -> Callable[P, R]:
        places = list(inspect.signature(method).parameters)
        at_agent, at_text = places.index("agent"), places.index(name)

        @wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if len(args) > max(at_agent, at_text):
                agent, text = args[at_agent], args[at_text]
                if isinstance(agent, str) and isinstance(text, str):
                    marked = ByPlace.of(agent, method=method.__name__, name=name, text=text)
                    return method(*args[:at_agent], marked, *args[at_agent + 1 :], **kwargs)  # type: ignore[arg-type] # as P has it
            return method(*args, **kwargs)

        return call

    return decorated


def check_order(room: Room, agent: object, partitions: Collection[Partition] | None = None) -> None:
    """Raises `ValidationError` if a call passed an agent by position, and it looks swapped with the text beside it.

    `partitions` are those of the project, if they were read already.
    """
    if not isinstance(agent, ByPlace) or not agent.text or not (name := agent.strip()):
        return
    if name in room.store.agents or name in room.agents:
        return
    present = room.project.partitions().values() if partitions is None else partitions
    if name in _known_agents(room, present):
        room.agents.add(name)
        return
    if agent.text.casefold() in map(str.casefold, _known_agents(room, present)):
        raise _refusal(agent, f"{quoted(agent.text)} is an agent of project {room.name!r}, and {quoted(name)} is none")
    if _is_one_word(agent.text) and not _is_one_word(name):
        raise _refusal(agent, f"{quoted(name)} is no known agent, and reads like a {agent.name}")


def _known_agents(room: Room, partitions: Collection[Partition]) -> Iterator[str]:
    """Yields the agents that the configuration names or that have memories in the project."""
    for name, rules in room.store.agents.items():
        yield from (name, *(rules.share_with or ()), *rules.inherit_from)
    yield from (partition.agent for partition in partitions if partition.agent is not None)


def _is_one_word(text: str) -> bool:
    return len(text.split()) == 1


def _refusal(agent: ByPlace, why: str) -> ValidationError:
    call = f"{agent.method}({agent.name}={quoted(agent.strip())}, agent={quoted(agent.text)})"
    return ValidationError(
        f"agent and {agent.name} look swapped: {why}; call {call}, or name both arguments as they are: what is named is taken at its word"
    )
