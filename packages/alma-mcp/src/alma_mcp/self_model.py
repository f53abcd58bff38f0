"""The self-model as tools take and return it. It is a part of the graph: `alma.graph.get_self_model` keeps and reads it."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True)


class Fact(_Value):
    """One attribute of a node: its value, who said it and when, and the values it had before, newest first."""

    value: str
    by: str
    at: str
    former: list[str] = Field(default_factory=list)


class Node(_Value):
    """A node. Its type and name, without regard to case, are its identity."""

    type: str
    name: str
    facts: dict[str, Fact] = Field(default_factory=dict)
    memory_id: str = ""


class Link(_Value):
    """A directed relation between two nodes, each named as `Type:name`."""

    source: str
    relation: str
    target: str
    by: str
    at: str


class Graph(_Value):
    """All that is known."""

    nodes: list[Node] = Field(default_factory=list)
    links: list[Link] = Field(default_factory=list)


class NewNode(_Value):
    """A node to add, or facts to add to one."""

    type: Line
    name: Line
    facts: dict[Line, Text] = Field(default_factory=dict)


class NewLink(_Value):
    """A relation to add. An end is a known node, Type:name, or a bare name, which may be new; User is the user."""

    source: Text
    relation: Line
    target: Text


def graph_of(model: Any) -> Graph:
    """Returns a self-model of `alma.graph` as an answer."""
    nodes = [
        Node(type=one.type, name=one.name, facts={name: _fact(fact) for name, fact in one.facts.items()}, memory_id=one.memory_id)
        for one in model.nodes
    ]
    links = [Link(source=one.source, relation=one.relation, target=one.target, by=one.by, at=_day(one.at)) for one in model.links]
    return Graph(nodes=nodes, links=links)


def _fact(fact: Any) -> Fact:
    return Fact(value=fact.value, by=fact.by, at=_day(fact.at), former=list(fact.former))


def _day(at: Any) -> str:
    return str(at.isoformat(timespec="seconds"))


def update_of(
    nodes: list[NewNode] | None, links: list[NewLink] | None, remove: list[str] | None, new_data: list[Any] | None
) -> list[Any]:
    """Returns what a tool was given as `alma.graph.update_self_model` takes it."""
    given: dict[str, Any] = {
        "nodes": [one.model_dump() for one in nodes or ()],
        "links": [one.model_dump() for one in links or ()],
        "remove": list(remove or ()),
    }
    return [given, *(new_data or ())]
