"""Keeps self-models: what is known of a user, or of an agent that works for none, with the projects, goals and tools around them.

It is a part of the graph. One user has one model, which all agents that work for that user share; another user never sees it. Facts of a node are
relations with a value, one at a time. What the user prefers is not kept twice: it is a preference in the memory, the one that a prompt shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from alma.errors import ConflictError, ValidationError
from alma.memory.package_records import Records
from alma.memory.room import Room
from alma.text import normalised
from alma.types.identity import from_micros, to_micros
from alma.types.memories import UserPreference
from alma.types.package_records import Record
from alma_graph.configured import settings_of
from alma_graph.naming import FUNCTIONAL, USER, VALUE, checked_type, entity_id
from alma_graph.records import Owner, read_record
from alma_graph.relating import Statement, owned
from alma_graph.rows import SELF, SOURCE
from alma_graph.self_model import PREFERENCE, Fact, Link, Node, SelfModel
from alma_graph.self_model_update import PREFERS, End, Update, find_end, is_preference, known_end, own_end, read_update, said_in

if TYPE_CHECKING:
    from alma import ALMA

MOST_NODES, MOST_LINKS, MOST_FORMER, MOST_TRIES = 200, 500, 5, 20
OLD_KIND = "self.model"
"""Kind of the records of former versions: one for each agent and user."""
OTHER = "other"
"""Type of what former versions kept under a name without letters or digits."""

VALUE_OF = "graph_value"
"""Key of a preference's metadata: the target of the edge that it is."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A statement as it is stored: `place` in the record `key`."""

    key: str
    place: int
    source: End
    type: str
    target: End
    at: int
    by: str
    is_fact: bool
    former: tuple[str, ...] = ()


@dataclass(slots=True)
class _Stored:
    nodes: dict[str, End] = field(default_factory=dict)
    """Ends by the ids of their entities."""
    said: list[_Said] = field(default_factory=list)
    functional: frozenset[str] = FUNCTIONAL
    """Types of links that have one target at a time."""

    def without(self, gone: set[str]) -> "_Stored":
        """Returns what is left without some entities."""
        said = [one for one in self.said if gone.isdisjoint((entity_id(*one.source), entity_id(*one.target)))]
        return _Stored({key: end for key, end in self.nodes.items() if key not in gone}, said, self.functional)

    def facts_of(self, entity: str) -> dict[str, _Said]:
        """Returns the newest value of each fact of an entity, with the values before."""
        found: dict[str, _Said] = {}
        for one in self.said:
            if one.is_fact and entity_id(*one.source) == entity:
                before = found.get(one.type)
                past = () if before is None else (before.target[0], *before.former)
                found[one.type] = replace(one, former=(one.former or past)[:MOST_FORMER])
        return found

    def links(self) -> list[_Said]:
        """Returns the links, each once; of a type that has one target at a time the newest."""
        found: dict[tuple[str, ...], _Said] = {}
        for one in self.said:
            if not one.is_fact:
                ends = entity_id(*one.source), one.type, entity_id(*one.target)
                found[ends[:2] if one.type in self.functional else ends] = one
        return list(found.values())


class SelfModels:
    """The self-models of one project."""

    def __init__(self, alma: "ALMA", room: Room) -> None:
        self._alma, self._room = alma, room
        self._records = Records(room, SOURCE)

    def read(self, owner: Owner) -> SelfModel:
        """Returns the model of a user, or of an agent that works for none."""
        stored = self._stored(owner)
        return _model(stored, self._preferences(owner), owner)

    def update(self, owner: Owner, new_data: object, *, by: str) -> SelfModel:
        """Merges nodes, edges and sentences into a model, and returns it."""
        wanted, stored = read_update(new_data), self._stored(owner)
        gone, archived = self._named(wanted.remove, stored, owner)
        stored = stored.without(gone)
        statements, nodes, preferences = self._plan(owner, wanted, stored)
        self._check_size(stored, statements, nodes)
        self._remove(gone, archived, owner, by)
        if statements or nodes:
            self._records.put_many([(_new_key(owner), _body(owner, statements, nodes, self._room.now(), by), 0)], actor=by)
        known = {normalised(one.preference) for one in self._preferences(owner)}
        for value in preferences:
            if normalised(f"{PREFERS} {value}") not in known:
                self._alma.add_user_preference(str(owner[1]), "stated", f"{PREFERS} {value}", metadata={VALUE_OF: value})
        return self.read(owner)

    def _plan(self, owner: Owner, wanted: Update, stored: _Stored) -> tuple[list[Statement], list[End], list[str]]:
        """Returns the statements and nodes to store, and what the user prefers."""
        known = dict(stored.nodes)
        ends = {entity_id(*end): end for end, _ in ((own_end(one, owner), facts) for one, facts in wanted.nodes)}
        new = [end for key, end in ends.items() if key not in known]
        known |= {key: end for key, end in ends.items() if key not in known}
        links = [
            (find_end(source, known, owner), relation, find_end(target, known, owner))
            for source, relation, target in wanted.links
        ]
        links += [link for sentence in wanted.sentences for link in said_in(sentence, owner)]
        preferences = [end[0] for source, relation, end in links if is_preference(source, relation, owner)]
        links = [link for link in dict.fromkeys(links) if not is_preference(link[0], link[1], owner)]
        made = dict.fromkeys(end for source, _, target in links for end in (source, target))
        new += [end for end in made if entity_id(*end) not in known and end[1] != VALUE]
        now = self._room.now()
        have = {(entity_id(*one.source), one.type, entity_id(*one.target)) for one in stored.links()}
        statements = [
            Statement(known.get(entity_id(*source), source), relation, known.get(entity_id(*target), target), now)
            for source, relation, target in links
            if (entity_id(*source), relation, entity_id(*target)) not in have
        ]
        for end, facts in wanted.nodes:
            node = known[entity_id(*own_end(end, owner))]
            before = stored.facts_of(entity_id(*node))
            changed = {name: value for name, value in facts.items() if name not in before or before[name].target[0] != value}
            statements += [Statement(node, name, (value, VALUE), now, replaces=True) for name, value in changed.items()]
        return statements, list(dict.fromkeys(new)), list(dict.fromkeys(preferences))

    @staticmethod
    def _check_size(stored: _Stored, statements: Sequence[Statement], nodes: Sequence[End]) -> None:
        size = len(stored.nodes) + len(nodes), len(stored.links()) + sum(not one.replaces for one in statements)
        if size[0] > MOST_NODES or size[1] > MOST_LINKS:
            raise ValidationError(
                f"the self-model would have {size[0]} nodes and {size[1]} links; at most {MOST_NODES} and {MOST_LINKS} are kept: remove some"
            )

    def _named(self, names: Sequence[str], stored: _Stored, owner: Owner) -> tuple[set[str], list[str]]:
        """Returns the ids of the nodes and of the preferences of these names. `ValidationError` for a name that is neither."""
        preferences = {f"{PREFERENCE}:{_value(one)}".casefold(): one.id for one in self._preferences(owner)} if names else {}
        archived = [preferences[name.casefold()] for name in names if name.casefold() in preferences]
        gone = {entity_id(*known_end(name, stored.nodes, owner)) for name in names if name.casefold() not in preferences}
        return gone, archived

    def _remove(self, gone: set[str], archived: Sequence[str], owner: Owner, by: str) -> None:
        """Takes nodes out, with their facts and links, and archives preferences."""
        if archived:
            self._alma.forget(memory_ids=archived)
        for _ in range(MOST_TRIES if gone else 0):
            changed = [each for each in (self._without(record, gone) for record in self._of(owner)) if each is not None]
            try:
                self._records.put_many(changed, actor=by)
                return
            except ConflictError:
                continue

    def _without(self, record: Record, gone: set[str]) -> tuple[str, dict[str, Any], int] | None:
        """Returns a record without what it says of some nodes, `None` where it says nothing of them."""
        ends = [entity_id(name, kind) for name, kind in record.body["entities"]]
        if gone.isdisjoint(ends):
            return None
        now = self._room.now()
        relations = [
            {**one, "retired": now}
            if "retired" not in one and not gone.isdisjoint((ends[one["source"]], ends[one["target"]]))
            else one
            for one in record.body["relations"]
        ]
        dropped = sorted({*record.body.get("dropped", ()), *(place for place, end in enumerate(ends) if end in gone)})
        return record.key, {**record.body, "relations": relations, "dropped": dropped}, record.version

    # what is stored

    def _of(self, owner: Owner) -> list[Record]:
        """Returns the records of an owner that are of the form."""
        found = self._records.listed(under=_place_of(owner))
        return [one for one in found if (said := read_record(one.body)) is not None and said.owner == owner]

    def _stored(self, owner: Owner) -> _Stored:
        """Returns what is stored, oldest first; records of former versions are converted before."""
        self._convert(owner)
        declared = settings_of(self._room.store.blocks.get("graph")).functional
        found = _Stored(functional=FUNCTIONAL.union(checked_type(one, "functional") for one in declared))
        for record in sorted(self._of(owner), key=lambda one: (one.body["recorded"], one.key)):
            ends = [(str(name), str(kind)) for name, kind in record.body["entities"]]
            dropped = set(record.body.get("dropped", ()))
            for place, end in enumerate(ends):
                if place not in dropped and end[1] != VALUE:
                    found.nodes.setdefault(entity_id(*end), end)
            for place, one in enumerate(record.body["relations"]):
                if "retired" not in one:
                    more, source, target = one.get("properties") or {}, ends[one["source"]], ends[one["target"]]
                    by, at = more.get("by", record.body.get("by", "")), one.get("from", record.body["recorded"])
                    found.said.append(
                        _Said(
                            record.key,
                            place,
                            source,
                            one["type"],
                            target,
                            at,
                            by,
                            bool(one.get("single")),
                            tuple(more.get("former", ())),
                        )
                    )
        return found

    def _preferences(self, owner: Owner) -> list[UserPreference]:
        if owner[1] is None:
            return []
        found = self._alma.list_memories(kind="user_preference", user_id=owner[1], limit=MOST_NODES)
        return [one for one in found if isinstance(one, UserPreference)]

    def _convert(self, owner: Owner) -> None:
        """Moves what former versions stored for this user, of all agents, or for this agent, into the graph. The old records stay as marks."""
        old = Records(self._room, OLD_KIND)
        for record in old.listed():
            body = record.body
            whose: Owner = (None, body["user_id"]) if body.get("user_id") else (body.get("agent"), None)
            if whose != owner or "graph" not in body:
                continue
            statements, nodes = _read_old(body["graph"], owner)
            key = f"{_place_of(owner)}/{record.key}"  # so that a conversion that was cut short is not made twice
            if not self._records.find([key]):
                self._records.put_many(
                    [(key, _body(owner, statements, nodes, self._room.now(), str(body.get("agent") or "")), 0)]
                )
            try:
                old.put(record.key, {name: value for name, value in body.items() if name != "graph"}, version=record.version)
            except ConflictError:
                continue  # another process did so


def _place_of(owner: Owner) -> str:
    digest = blake2b(f"{owner[0] or ''}\0{owner[1] or ''}".encode(), digest_size=16).hexdigest()
    return f"{SELF}/{digest}"


def _new_key(owner: Owner) -> str:
    return f"{_place_of(owner)}/{uuid4()}"


def _body(owner: Owner, statements: Sequence[Statement], nodes: Sequence[End], recorded: int, by: str) -> dict[str, Any]:
    places: dict[End, int] = {end: place for place, end in enumerate(dict.fromkeys(nodes))}
    relations = [
        one.relation(places.setdefault(one.source, len(places)), places.setdefault(one.target, len(places))) for one in statements
    ]
    return {
        **owned(owner), "recorded": recorded, "how": "self", "by": by, "entities": [list(one) for one in places], "relations": relations,
    }  # fmt: skip


# what a caller gets


def _model(stored: _Stored, preferences: Sequence[UserPreference], owner: Owner) -> SelfModel:
    nodes = [_node(end, stored.facts_of(key)) for key, end in stored.nodes.items()]
    links = [
        Link(_shown(one.source), one.type.replace("_", " "), _shown(one.target), one.by, from_micros(one.at))
        for one in stored.links()
    ]
    nodes += [Node(VALUE.capitalize(), one.target[0]) for one in stored.links() if one.target[1] == VALUE]
    user = (str(owner[1]), USER)
    for one in preferences:
        fact = Fact(one.preference, one.source, one.seen_at)
        nodes.append(Node(PREFERENCE, _value(one), {"preference": fact, "category": replace(fact, value=one.category)}, one.id))
        links.append(Link(_shown(user), PREFERS, nodes[-1].key, one.source, one.seen_at))
    if preferences and entity_id(*user) not in stored.nodes:
        nodes.insert(0, Node(USER.capitalize(), user[0]))
    return SelfModel(tuple(nodes), tuple(links))


def _node(end: End, facts: Mapping[str, _Said]) -> Node:
    shown = {name: Fact(one.target[0], one.by, from_micros(one.at), one.former) for name, one in facts.items()}
    return Node(end[1].capitalize(), end[0], shown)


def _shown(end: End) -> str:
    return f"{end[1].capitalize()}:{end[0]}"


def _value(preference: UserPreference) -> str:
    return str(preference.metadata.get(VALUE_OF) or preference.preference)


def _read_old(graph: Mapping[str, Any], owner: Owner) -> tuple[list[Statement], list[End]]:
    """Returns the statements and nodes of a record of a former version, with who said each and its former values."""
    nodes, statements = list[End](), list[Statement]()
    by_key: dict[str, End] = {}
    for node in graph.get("nodes", ()):
        end = own_end((str(node["name"]), _kept_type(node["type"])), owner)
        by_key[f"{node['type']}:{node['name']}".casefold()] = end
        nodes.append(end)
        for name, fact in (node.get("facts") or {}).items():
            more = {"by": fact["by"], "former": list(fact.get("former", ()))}
            statements.append(Statement(end, _kept_type(name), (fact["value"], VALUE), _at(fact), replaces=True, properties=more))
    for link in graph.get("links", ()):
        ends = [by_key.get(str(link[name]).casefold()) for name in ("source", "target")]
        if ends[0] is not None and ends[1] is not None:
            statements.append(Statement(ends[0], _kept_type(link["relation"]), ends[1], _at(link), properties={"by": link["by"]}))
    return statements, nodes


def _kept_type(value: object) -> str:
    """Returns a type of a former version, where types were any text: `other` for one that has neither letters nor digits."""
    try:
        return checked_type(value, "type")
    except ValidationError:
        return OTHER


def _at(one: Mapping[str, Any]) -> int:
    return to_micros(datetime.fromisoformat(one["at"]))
