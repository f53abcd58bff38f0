"""A graph as one reader has it: made of the records that the reader may read, and of nothing else.

What may not be read changes nothing: no name, no interval, no count. An edge is a relation as one record states it; `relations_of` joins those that
say the same, and gives each its interval.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alma.errors import MemoryNotFoundError, ValidationError
from alma.memory.room import Room
from alma.text import name_nearest, quoted
from alma.types.identity import Partition, UserWall, from_micros, owner_name
from alma.types.kinds import MemoryType
from alma_graph.columns import Flags, Ints
from alma_graph.configured import settings_of
from alma_graph.naming import FUNCTIONAL, THING, USER, VALUE, checked_type
from alma_graph.records import ALWAYS, FOREVER, Owner
from alma_graph.rows import NOBODY, GraphRows
from alma_graph.types import Entity

MOST_NAMED = 10
"""Candidates that an error lists."""

MOST_COMPARED = 2_000
"""Names among which an error looks for one that is near an unknown name."""

Reader = tuple[str | None, str | None]
"""The agent that reads and the user it works for. Without an agent it is the program itself, which reads what all agents recorded."""


def may_read(room: Room, reader: Reader, owner: Owner) -> bool:
    """Returns whether a reader may read what belongs to an owner, by the rules of agents and the wall between users."""
    agent, user = reader
    if agent is None or owner[0] is None:
        return owner[1] in (None, user) or (owner[0] is not None and room.store.users is UserWall.SHARED)
    partition = Partition(NOBODY, False, owner_name(owner[0], owner[1]), MemoryType.DOMAIN_KNOWLEDGE.value)
    return room.scopes.access_to(partition, agent=agent, user_id=user).is_open


@dataclass(frozen=True, slots=True)
class Joined:
    """A relation: all edges that state it, and when it holds in the world, in microseconds, the end excluded."""

    source: int
    target: int
    type: str
    start: int
    end: int
    edges: tuple[int, ...]

    def holds_at(self, moment: int) -> bool:
        """Returns whether it holds at a time."""
        return self.start <= moment < self.end


@dataclass(eq=False)
class View:
    """The readable part of a graph. Used under the lock of its rows. `known_by` is a time up to which records count."""

    rows: GraphRows
    reader: Reader
    known_by: int = FOREVER
    stamp: int = field(init=False)
    sources: Flags = field(init=False)
    edges: Flags = field(init=False)
    root: NDArray[np.int32] = field(init=False)
    """The entity that each entity is part of: itself, but for those that were merged."""
    members: dict[int, list[int]] = field(init=False, default_factory=dict)
    """All parts of the entities that have several."""
    readable: Flags = field(init=False)
    """Marks the readable spellings."""

    def __post_init__(self) -> None:
        rows = self.rows
        self.stamp = rows.stamp
        allowed = np.array([may_read(rows.room, self.reader, owner) for owner in rows.owners] + [False], dtype=np.bool_)
        columns = rows.sources.column
        self.sources = (
            columns("is_alive") & allowed[columns("own")] & allowed[columns("shown")] & (columns("recorded") <= self.known_by)
        )
        edges = rows.edges.column
        self.edges = self.sources[edges("record")]
        self.edges[[edge for edge, at in rows.retired.items() if at <= self.known_by]] = False
        self.readable = np.zeros(len(rows.spelt), dtype=np.bool_)
        self.readable[rows.mentions.column("name")[self.sources[rows.mentions.column("record")]]] = True
        for name in ("source_name", "target_name"):
            self.readable[edges(name)[self.edges]] = True
        self.root = np.arange(len(rows.ids), dtype=np.int32)
        self._merge()

    def _merge(self) -> None:
        """Joins entities that readable decisions make one, and those without a type with the only readable one of that name."""
        newest = dict[frozenset[str], tuple[int, bool, tuple[str, str]]]()
        for one in self.rows.decisions.values():
            if one.at <= self.known_by and may_read(self.rows.room, self.reader, one.owner):
                pair = frozenset(one.pair)
                newest[pair] = max(newest.get(pair, (ALWAYS, False, one.pair)), (one.at, one.is_merge, one.pair))
        for _, is_merge, (entity, other) in sorted(newest.values(), key=lambda one: one[0]):
            numbers = [self.rows.numbers.get(each) for each in (entity, other)]
            if is_merge and numbers[0] is not None and numbers[1] is not None:
                self._join(numbers[0], numbers[1])
        self._leave_out_unknown()
        for thing in sorted(one for one in self.rows.namesakes if self.is_readable(one)):
            name = self.rows.spelt[self.rows.first[thing]]
            others = (one for one in self.rows.named(name) if one != thing and self.is_readable(one))
            typed = {int(self.root[one]) for one in others if self.rows.types[self.rows.first[one]] not in (USER, VALUE)}
            if len(typed) == 1 and not self._are_apart(newest, thing, next(iter(typed))):
                self._join(typed.pop(), thing)

    def _leave_out_unknown(self) -> None:
        """Takes the parts that the reader knows nothing of out of the entities: such a part gives neither its id nor its name."""
        for kept in list(self.members):
            parts = self.members.pop(kept)
            known = [one for one in parts if self.is_readable(one)] or [kept]
            self.root[parts] = known[0]
            if len(known) > 1:
                self.members[known[0]] = known

    def _are_apart(self, decided: Mapping[frozenset[str], tuple[int, bool, tuple[str, str]]], entity: int, other: int) -> bool:
        pair = frozenset((self.rows.ids[entity], self.rows.ids[other]))
        return pair in decided and not decided[pair][1]

    def merges_of(self, entity: int) -> list[tuple[int, int]]:
        """Returns the pairs that make an entity one with others, by decision."""
        own = self.rows.ids[entity]
        pairs = dict.fromkeys(one.pair for one in self.rows.decisions.values() if own in one.pair and one.is_merge)
        numbered = [tuple(self.rows.numbers.get(each) for each in pair) for pair in pairs]
        return [(a, b) for a, b in numbered if a is not None and b is not None and self.root[a] == self.root[b]]

    def _join(self, entity: int, other: int) -> None:
        kept, gone = int(self.root[entity]), int(self.root[other])
        if kept != gone:
            parts = [*self.parts(kept), *self.parts(gone)]
            self.members.pop(gone, None)
            self.members[kept] = parts
            self.root[parts] = kept

    # entities

    def parts(self, entity: int) -> Sequence[int]:
        """Returns the entities that are one with a root, itself first."""
        return self.members.get(entity, (entity,))

    def spellings(self, entity: int) -> list[int]:
        """Returns the readable spellings of an entity with all its parts, in the order in which they were first said."""
        rows = self.rows
        of_parts = (one for part in self.parts(entity) for one in (rows.first[part], *rows.further.get(part, ())))
        return [one for one in of_parts if self.readable[one]]

    def is_readable(self, entity: int) -> bool:
        """Returns whether any spelling of an entity is readable."""
        return bool(self.spellings(entity))

    def find(self, name: str, entity_type: str | None = None) -> list[int]:
        """Returns the readable entities that an id or a name means: those of that name, else persons with that first name."""
        found = self.exact(name, entity_type)
        if found or " " in name.strip():
            return found
        start = f"person:{name.strip().casefold()} "
        return self._readable_roots([number for number, one in enumerate(self.rows.ids) if one.startswith(start)], entity_type)

    def exact(self, name: str, entity_type: str | None = None) -> list[int]:
        """Returns the readable entities of an id or a whole name."""
        number = self.rows.numbers.get(name)
        is_id = number is not None and self.is_readable(number)
        return self._readable_roots([number] if number is not None and is_id else self.rows.named(name), entity_type)

    def _readable_roots(self, found: Iterable[int], entity_type: str | None) -> list[int]:
        roots = dict.fromkeys(int(self.root[one]) for one in found if self.is_readable(one))
        return [one for one in roots if entity_type is None or self.type_of(one) == entity_type]

    def one(self, name: str, entity_type: str | None = None) -> int | None:
        """Returns the entity that an id or a name means, `None` if there is none. `ValidationError` lists them if there are several."""
        return self.only(name, self.find(name, entity_type))

    def only(self, name: str, found: Sequence[int]) -> int | None:
        """Returns the one entity that was found for a name, `None` if none was. `ValidationError` lists them if there are several."""
        if len(found) > 1:
            listed = ", ".join(quoted(self.rows.ids[one]) for one in found[:MOST_NAMED])
            raise ValidationError(f"{quoted(name)} may be any of {len(found)} entities; name one by its id: {listed}")
        return found[0] if found else None

    def known(self, name: str) -> int:
        """Returns the entity that an id or a name means. `MemoryNotFoundError` if there is none, `ValidationError` if there are several."""
        found = self.one(name)
        if found is None:
            hint = self._near(name) or self._reading_hint()
            raise MemoryNotFoundError(f"no entity that this reader may see is named {quoted(name)}{hint}")
        return found

    def _near(self, name: str) -> str:
        """Returns a question about a readable name that has all words of this one, or else is written like it; "" if there is none."""
        words = set(name.casefold().split())
        names = [self.rows.spelt[one] for one in np.flatnonzero(self.readable)[:MOST_COMPARED]]
        longer = (one for one in names if words <= set(one.casefold().split()))
        return next((f", did you mean {quoted(one)}?" for one in longer), "") or name_nearest(name, names)

    def _reading_hint(self) -> str:
        if self.rows.folded_upto >= 0 or settings_of(self.rows.room.store.blocks.get("graph")).enabled:
            return ""
        return "; memories are read for entities by read_memories(), or with `graph: {enabled: true}` in the configuration"

    def type_of(self, entity: int) -> str:
        """Returns the type of an entity: that of a part which has one."""
        return self._type_among(self.spellings(entity))

    def _type_among(self, spellings: Sequence[int]) -> str:
        for one in spellings:
            if self.rows.types[one] != THING:
                return self.rows.types[one]
        return THING

    def name_of(self, entity: int) -> str:
        """Returns the name of an entity as it was first written, as far as the reader may know."""
        return self.rows.spelt[self.spellings(entity)[0]]

    def entity(self, number: int, since: int | None = None) -> Entity:
        """Returns an entity. Its `properties` have its other names as `aliases`."""
        rows, spellings = self.rows, self.spellings(number)
        name = rows.spelt[spellings[0]]
        others = dict.fromkeys(rows.spelt[each] for each in spellings) if len(spellings) > 1 else ()
        aliases = [one for one in others if one != name]
        if since is None:
            since = int(rows.sources.column("recorded")[self.sources_of(number)].min())
        return Entity(
            rows.ids[number], name, self._type_among(spellings), {"aliases": aliases} if aliases else {}, from_micros(since)
        )

    def linked_entities(self, numbers: Sequence[int]) -> list[Entity]:
        """Returns entities that have relations, with the time of the first of these."""
        column, edges = self.rows.edges.column, self.edges_of(numbers)
        recorded = self.rows.sources.column("recorded")[column("record")[edges]]
        since = np.full(len(self.rows.ids), FOREVER, dtype=np.int64)
        for name in ("source", "target"):
            np.minimum.at(since, self.root[column(name)[edges]], recorded)
        return [self.entity(one, None if since[one] == FOREVER else int(since[one])) for one in numbers]

    def sources_of(self, entity: int) -> Ints:
        """Returns the readable records that name an entity, in the order in which they were stored."""
        rows, parts = self.rows, np.array(self.parts(entity), dtype=np.int64)
        mentions = rows.naming.find(rows.mentions.column("name"), np.array(self.spellings(entity), dtype=np.int64))
        found = [rows.mentions.column("record")[mentions]]
        found += [rows.edges.column("record")[self._edges(parts, column)] for column in ("source", "target")]
        records = np.unique(np.concatenate(found).astype(np.int64))
        return records[self.sources[records]]

    def all_entities(self) -> list[int]:
        """Returns every readable entity."""
        numbers = self.rows.spellings.column("entity")[self.readable]
        return [int(one) for one in np.unique(self.root[numbers])]

    # relations

    def _edges(self, entities: Ints, column: str) -> Ints:
        index = self.rows.outgoing if column == "source" else self.rows.incoming
        found = index.find(self.rows.edges.column(column), entities)
        return found[self.edges[found]]

    def edges_of(self, entities: Sequence[int] | Ints, *, outgoing: bool = True, incoming: bool = True) -> Ints:
        """Returns the readable edges from or to some entities, ascending."""
        parts = np.asarray(entities, dtype=np.int64)
        if self.members:
            parts = np.array([part for one in parts.tolist() for part in self.parts(one)], dtype=np.int64)
        wanted = [column for column, is_wanted in (("source", outgoing), ("target", incoming)) if is_wanted]
        return np.unique(np.concatenate([self._edges(parts, column) for column in wanted]))

    def ends(self, edges: Ints) -> Ints:
        """Returns when each edge ceases to hold: where its type has one target at a time, at the latest when another begins.

        What began earlier and is said later ends nothing. Of two that began at one time, the one that was recorded last holds.
        """
        column = self.rows.edges.column
        ends: Ints = column("end")[edges].astype(np.int64)
        single = self._is_single(edges)
        if not single.any():
            return ends
        sources = np.unique(self.root[column("source")[edges[single]]])
        beside = self.edges_of(sources, incoming=False)
        beside = beside[self._is_single(beside)]
        ends[single] = np.minimum(ends[single], self._limits(beside)[np.searchsorted(beside, edges[single])])
        return ends

    def _limits(self, edges: Ints) -> Ints:
        """Returns when the next target begins, for each edge of types that have one at a time; its own start for one that was corrected."""
        column = self.rows.edges.column
        recorded = self.rows.sources.column("recorded")[column("record")[edges]]
        keys, starts, targets = self._keys(edges), column("start")[edges], self.root[column("target")[edges]].astype(np.int64)
        order = np.lexsort((recorded, starts, keys))
        keys, starts, targets, recorded = keys[order], starts[order], targets[order], recorded[order]
        begins = np.ones(len(keys), dtype=np.bool_)
        begins[1:] = (keys[1:] != keys[:-1]) | (starts[1:] != starts[:-1])
        firsts, block = np.nonzero(begins)[0], np.cumsum(begins) - 1
        following = np.append(firsts, len(keys))[block + 1]
        last = np.minimum(following, len(keys) - 1)
        limits = np.where((following < len(keys)) & (keys[last] == keys), starts[last], FOREVER)
        said = block * len(self.rows.ids) + targets
        newest = np.isin(said, said[recorded == np.maximum.reduceat(recorded, firsts)[block]])
        found = np.empty(len(keys), dtype=np.int64)
        found[order] = np.where(newest, limits, starts)
        return found

    def _keys(self, edges: Ints) -> Ints:
        """Returns a number for source and type of each edge."""
        column = self.rows.edges.column
        keys: Ints = self.root[column("source")[edges]].astype(np.int64) * len(self.rows.relations) + column("type")[edges]
        return keys

    @cached_property
    def _functional(self) -> Flags:
        declared = {checked_type(one, "functional") for one in settings_of(self.rows.room.store.blocks.get("graph")).functional}
        found: Flags = np.array([name in FUNCTIONAL or name in declared for name in self.rows.relations], dtype=np.bool_)
        return found

    @cached_property
    def _declared(self) -> Ints:
        """Source and type of the edges that are said to replace others."""
        single = np.nonzero(self.rows.edges.column("is_single") & self.edges)[0]
        return np.unique(self._keys(single))

    def is_replaced(self, relation: Joined) -> bool:
        """Returns whether a relation ended because another target took its place, and not because its end was stated."""
        edges = np.array(relation.edges, dtype=np.int64)
        return bool(self._is_single(edges).all()) and int(self.rows.edges.column("end")[edges].max()) > relation.end

    def _is_single(self, edges: Ints) -> Flags:
        found: Flags = self._functional[self.rows.edges.column("type")[edges]]
        return found | np.isin(self._keys(edges), self._declared) if len(self._declared) else found

    def join(self, edges: Ints) -> list[Joined]:
        """Returns the relations that edges state, newest first. Edges of one statement that overlap or meet are one relation."""
        column = self.rows.edges.column
        ends, found = self.ends(edges), list[Joined]()
        stated = zip(
            self.root[column("source")[edges]].tolist(), self.root[column("target")[edges]].tolist(), column("type")[edges].tolist(),
            column("start")[edges].tolist(), ends.tolist(), edges.tolist(), strict=True,
        )  # fmt: skip
        for source, target, kind, start, end, edge in sorted(stated):
            last = found[-1] if found else None
            is_same = last is not None and (last.source, last.target, last.type) == (source, target, self.rows.relations[kind])
            if last is not None and is_same and start <= last.end:
                until = (min if start == last.start else max)(end, last.end)
                found[-1] = Joined(source, target, last.type, last.start, until, (*last.edges, edge))
            elif start < end:
                found.append(Joined(source, target, self.rows.relations[kind], start, end, (edge,)))
        return sorted(found, key=lambda one: (-one.start, -max(one.edges), one.type))

    def stated(self) -> int:
        """Returns the number of different relations that are readable, past ones included, each counted once however often it held."""
        edges, column = np.nonzero(self.edges)[0], self.rows.edges.column
        return len(np.unique(self._keys(edges) * len(self.rows.ids) + self.root[column("target")[edges]])) if len(edges) else 0

    def links(self, entities: Sequence[int] | Ints, moment: int, limit: int | None = None) -> tuple[Ints, Ints, Ints]:
        """Returns what holds at a time between some entities and others, as sources, targets and edges, the newest first, at most `limit`."""
        column = self.rows.edges.column
        edges = self.edges_of(entities)
        edges = edges[column("start")[edges] <= moment]
        edges = edges[np.argsort(-column("start")[edges], kind="stable")]
        held = list[Ints]()
        portion = len(edges) if limit is None else 4 * limit
        for start in range(0, len(edges), max(portion, 1)):
            part = edges[start : start + portion]
            held.append(part[self.ends(part) > moment])
            if limit is not None and sum(map(len, held)) >= limit:
                break
        found = np.concatenate(held)[:limit] if held else edges
        return self.root[column("source")[found]].astype(np.int64), self.root[column("target")[found]].astype(np.int64), found

    def find_path(self, start: int, goal: int, moment: int, hops: int) -> list[int] | None:
        """Returns the edges of a shortest chain between two entities, from the start on; `None` if there is none of so many hops.

        The search goes on from both ends, from the one with fewer entities at its rim.
        """
        came = {start: np.full(len(self.rows.ids), -1, dtype=np.int64), goal: np.full(len(self.rows.ids), -1, dtype=np.int64)}
        rims = {one: np.array([one], dtype=np.int64) for one in (start, goal)}
        seen = {one: np.zeros(len(self.rows.ids), dtype=np.bool_) for one in (start, goal)}
        for one in (start, goal):
            seen[one][one] = True
        met: int | None = start if start == goal else None
        for _ in range(hops):
            if met is not None:
                break
            side = min(rims, key=lambda one: len(rims[one]))
            other = goal if side == start else start
            sources, targets, edges = self.links(rims[side], moment)
            on_rim = np.zeros(len(self.rows.ids), dtype=np.bool_)
            on_rim[rims[side]] = True
            ends = np.concatenate([targets[on_rim[sources]], sources[on_rim[targets]]])
            ways = np.concatenate([edges[on_rim[sources]], edges[on_rim[targets]]])
            is_new = ~seen[side][ends]
            new, places = np.unique(ends[is_new], return_index=True)
            came[side][new], seen[side][new], rims[side] = ways[is_new][places], True, new
            both = new[seen[other][new]]
            met = int(both[0]) if len(both) else None
            if not len(new):
                return None
        if met is None:
            return None
        return [*reversed(self._walk_back(came[start], met)), *self._walk_back(came[goal], met)]

    def _walk_back(self, came: Ints, entity: int) -> list[int]:
        """Returns the edges by which a search came to an entity, the last one first."""
        column, edges = self.rows.edges.column, list[int]()
        while (edge := int(came[entity])) >= 0:
            source, target = (int(self.root[column(name)[edge]]) for name in ("source", "target"))
            entity = target if entity == source else source
            edges.append(edge)
        return edges
