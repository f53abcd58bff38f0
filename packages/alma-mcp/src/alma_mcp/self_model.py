"""What an agent knows of its user, projects, goals and tools: a small directed graph, in one versioned record for each agent and user.

Preferences are not kept twice: they are the user's preferences in the memory, shown as nodes.
"""

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from alma.errors import ConflictError, ValidationError

if TYPE_CHECKING:
    from alma import ALMA

KIND = "self.model"
MOST_NODES = 200
MOST_LINKS = 500
MOST_FORMER = 5
"""Former values of a fact that are kept, newest first."""

MOST_TRIES = 20

NodeType = Literal["User", "Project", "Goal", "Tool"]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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

    @property
    def key(self) -> str:
        """The node as links name it."""
        return f"{self.type}:{self.name}"


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

    type: NodeType
    name: Line
    facts: dict[Line, Text] = Field(default_factory=dict)


class NewLink(_Value):
    """A relation to add. Both nodes have to be known, or be added by the same call."""

    source: Text
    relation: Line
    target: Text


class Update(_Value):
    """What a call adds and takes away."""

    nodes: Sequence[NewNode] = ()
    links: Sequence[NewLink] = ()
    remove: Sequence[str] = ()


def merged(graph: Graph, update: Update, *, by: str, at: str) -> Graph:
    """Returns the graph with an update: facts that are not mentioned stay, and one that changes keeps its former values.

    `ValidationError` for a link or a removal of an unknown node, and for a graph that becomes too large.
    """
    nodes = {node.key.casefold(): node for node in graph.nodes}
    for new in update.nodes:
        key = f"{new.type}:{new.name}".casefold()
        nodes[key] = _with_facts(nodes.get(key) or Node(type=new.type, name=new.name), new, by=by, at=at)
    links = {_identity(link.source, link.relation, link.target): link for link in graph.links}
    for link in update.links:
        source, target = _known(nodes, link.source), _known(nodes, link.target)
        made = Link(source=source, relation=link.relation, target=target, by=by, at=at)
        links.setdefault(_identity(source, link.relation, target), made)
    gone = {_known(nodes, name).casefold() for name in update.remove}
    result = Graph(
        nodes=[node for key, node in nodes.items() if key not in gone],
        links=[link for link in links.values() if not gone & {link.source.casefold(), link.target.casefold()}],
    )
    if len(result.nodes) > MOST_NODES or len(result.links) > MOST_LINKS:
        raise ValidationError(
            f"the self-model would have {len(result.nodes)} nodes and {len(result.links)} links; "
            f"at most {MOST_NODES} and {MOST_LINKS} are kept: remove some"
        )
    return result


def _with_facts(node: Node, new: NewNode, *, by: str, at: str) -> Node:
    facts = dict(node.facts)
    for name, value in new.facts.items():
        was = facts.get(name)
        if was is None or was.value != value:
            former = [] if was is None else [was.value, *was.former][:MOST_FORMER]
            facts[name] = Fact(value=value, by=by, at=at, former=former)
    return node.model_copy(update={"facts": facts})


def _known(nodes: dict[str, Node], name: str) -> str:
    """Returns the name of a node as it is kept. `ValidationError` if there is none."""
    node = nodes.get(name.casefold())
    if node is None:
        raise ValidationError(f"the self-model has no node {name[:200]!r}; nodes are named as Type:name, such as Project:shop")
    return node.key


def _identity(source: str, relation: str, target: str) -> tuple[str, ...]:
    return tuple(part.casefold() for part in (source, relation, target))


class SelfModel:
    """The self-model of one agent, for one user or for none."""

    def __init__(self, alma: "ALMA", agent: str, user_id: str | None, *, clock: Callable[[], datetime] | None = None) -> None:
        from alma_integration import checked_name, open_records, optional_name  # the server answers before the core is loaded

        self._alma, self._agent, self._user = alma, checked_name(agent, "agent"), optional_name(user_id, "user_id")
        self._records = open_records(alma, KIND)
        self._key = hashlib.blake2b(f"{self._agent}\0{self._user or ''}".encode(), digest_size=16).hexdigest()
        self._clock = clock or (lambda: datetime.now(UTC))

    def read(self) -> Graph:
        """Returns the graph as it is stored, with the user's preferences as further nodes."""
        stored, _ = self._stored()
        nodes, links = list(stored.nodes), list(stored.links)
        for preference in self._preferences():
            node = Node(
                type="Preference",
                name=preference.category,
                facts={"preference": Fact(value=preference.preference, by=preference.source, at=preference.seen_at.isoformat())},
                memory_id=preference.id,
            )
            nodes.append(node)
        return Graph(nodes=nodes, links=links)

    def update(self, update: Update) -> Graph:
        """Merges an update into the graph, also while others write, and returns it."""
        for _ in range(MOST_TRIES):
            graph, version = self._stored()
            result = merged(graph, update, by=self._agent, at=self._clock().isoformat(timespec="seconds"))
            if result == graph:
                break
            try:
                self._records.put(self._key, self._body(result), version=version, actor=self._agent)
                break
            except ConflictError:
                continue
        else:
            raise ConflictError(f"the self-model was changed by others {MOST_TRIES} times in a row; try again")
        return self.read()

    def _stored(self) -> tuple[Graph, int]:
        found = self._records.get(self._key)
        return (Graph(), 0) if found is None else (Graph.model_validate(found.body["graph"]), found.version)

    def _body(self, graph: Graph) -> dict[str, Any]:
        whose = {"agent": self._agent} if self._user is None else {"agent": self._agent, "user_id": self._user}
        return {**whose, "graph": graph.model_dump(mode="json")}

    def _preferences(self) -> list[Any]:
        if self._user is None:
            return []
        return self._alma.list_memories(kind="user_preference", user_id=self._user, limit=MOST_NODES)
