"""The self-model as callers get it: nodes with facts, and links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from alma.text import one_line, telling_words
from alma.types.slice import MemorySlice
from alma_learning.stems import stem

PREFERENCE = "Preference"
"""Type of the nodes that are preferences of the user."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One attribute of a node: its value, who said it and when, and the values it had before, newest first."""

    value: str
    by: str
    at: datetime
    former: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A node. Type and name, without regard to case, are its identity. A preference has the `memory_id` that it is."""

    type: str
    name: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    memory_id: str = ""

    @property
    def key(self) -> str:
        """The node as links name it."""
        return f"{self.type}:{self.name}"


@dataclass(frozen=True, slots=True)
class Link:
    """A directed relation between two nodes, each named as `Type:name`."""

    source: str
    relation: str
    target: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SelfModel:
    """All that is known. Its `str()` says it in lines."""

    nodes: Sequence[Node] = ()
    links: Sequence[Link] = ()

    def lines(self) -> list[str]:
        """Returns a line for each fact and each link, and for each node that has neither."""
        named = {node.key: node.name for node in self.nodes}
        facts = [
            f"{node.name}: {name} {one_line(fact.value)}"
            for node in self.nodes
            if node.type != PREFERENCE
            for name, fact in node.facts.items()
        ]
        links = [f"{named.get(one.source, one.source)} {one.relation} {named.get(one.target, one.target)}" for one in self.links]
        linked = {end for one in self.links for end in (one.source, one.target)}
        return [
            *facts,
            *links,
            *(f"{node.type}: {node.name}" for node in self.nodes if not node.facts and node.key not in linked),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """Answer to a question from the known facts: lines of the self-model, the best first, and memories."""

    lines: Sequence[str]
    memories: MemorySlice

    def __str__(self) -> str:
        return "\n".join([*self.lines, *(one.text for one in self.memories)])


def matching_lines(model: SelfModel, query: str, most: int = 10) -> list[str]:
    """Returns the lines of a model that share words with a question, those with most first."""
    wanted = _stems(query)
    scored = [(len(wanted & _stems(line)), line) for line in model.lines()]
    return [line for score, line in sorted(scored, key=lambda one: -one[0])[:most] if score]


def _stems(text: str) -> set[str]:
    return {stem(word) for word in telling_words(text)}


# what a caller gives
