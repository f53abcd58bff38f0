"""`Graph`, the object behind `alma.graph`: entities and dated relations of what the memories of a project speak of."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from alma.errors import ValidationError
from alma.memory.alma import checked_alma, opened_room
from alma.memory.arguments import (
    checked_count,
    checked_ids,
    checked_json,
    checked_name,
    checked_time,
    optional_name,
    optional_text,
)
from alma.memory.room import Room
from alma.text import plain_value, quoted
from alma.types.identity import from_micros, to_micros
from alma_graph.configured import GraphSettings, settings_of
from alma_graph.folding import fold
from alma_graph.naming import THING, checked_entity_name, checked_type
from alma_graph.profile import Profile, write_profile
from alma_graph.records import FOREVER, Owner
from alma_graph.relating import (
    Statement,
    decide,
    find_or_name,
    micros,
    readable_evidence,
    retire,
    start_of_open,
    store_statement,
)
from alma_graph.rows import SELF, GraphRows, rows_of
from alma_graph.self_model import MemoryAnswer, SelfModel, matching_lines
from alma_graph.self_models import SelfModels
from alma_graph.shown import find_edge, relation_with, show
from alma_graph.types import Entity, Relationship
from alma_graph.view import Joined, Reader, View

if TYPE_CHECKING:
    from alma import ALMA

MOST_VIEWS = 8
MOST_NEIGHBOURS = 200
MOST_RELATIONS = 100_000
MOST_HOPS = 6
MOST_MENTIONS = 200
"""Newest memories that a profile quotes."""

PROFILE_TOKENS = 800


class Graph:
    """Entities and dated relations of one project, as one reader has them. `alma.graph` is one.

    Every method takes the `agent` that reads and the `user_id` it works for, and acts in that scope: a relation is seen by those who may read one
    of the memories it rests on, an entity by those who may read a memory that names it. Without `agent`, the program itself reads what all
    agents recorded, for no user or for `user_id`. Entities are named by id or by name; `ValidationError` for a name that means several, which
    it lists, `MemoryNotFoundError` for one that the reader knows none of. Times are aware UTC. Threads may share it.
    """

    def __init__(self, alma: "ALMA") -> None:
        self._alma = checked_alma(alma)

    def __repr__(self) -> str:
        return f"<Graph of project {self._alma.project_id!r}>"

    @property
    def _room(self) -> Room:
        return opened_room(self._alma).latest

    # reading

    def entity(
        self, name: str, *, entity_type: str | None = None, agent: str | None = None, user_id: str | None = None
    ) -> Entity | None:
        """Returns the entity of an id or a name, also of the first name of one person; `None` if the reader knows none.

        Its `properties` have other names as `aliases`.
        """
        with self._reading(agent, user_id) as view:
            wanted = None if entity_type is None else checked_type(entity_type, "entity_type")
            found = view.one(checked_entity_name(name, "name"), wanted)
            return None if found is None else view.entity(found)

    def entities(
        self,
        words: str = "",
        *,
        entity_type: str | None = None,
        limit: int = 100,
        agent: str | None = None,
        user_id: str | None = None,
    ) -> list[Entity]:
        """Returns the readable entities whose name contains `words`, by name."""
        most = checked_count(limit, "limit", largest=100_000)
        with self._reading(agent, user_id) as view:
            wanted = None if entity_type is None else checked_type(entity_type, "entity_type")
            named = [
                (view.name_of(one), one)
                for one in view.all_entities()
                if (wanted is None or view.type_of(one) == wanted)
                and any(words.casefold() in view.rows.spelt[each].casefold() for each in view.spellings(one))
            ]
            return [view.entity(one) for _, one in sorted(named)[:most]]

    def relations(
        self,
        entity: str,
        type: str | None = None,  # noqa: A002 - the published name
        as_of: datetime | None = None,
        *,
        known_by: datetime | None = None,
        agent: str | None = None,
        user_id: str | None = None,
        limit: int = MOST_RELATIONS,
    ) -> list[Relationship]:
        """Returns the relations from and to an entity that hold, now or at `as_of`, newest first, at most `limit`.

        `known_by` is a past moment: what was recorded or taken back later does not count. `properties` have the names of both ends, `source`
        and `target`, the memories behind it, `evidence`, and what was stated besides.
        """
        wanted = None if type is None else checked_type(type, "type")
        most = checked_count(limit, "limit", least=1, largest=MOST_RELATIONS)
        with self._reading(agent, user_id, known_by) as view:
            moment = self._moment(as_of)
            found = self._joined(view, view.known(checked_entity_name(entity, "entity")), wanted)
            return show(view, [one for one in found if one.holds_at(moment)][:most])

    def timeline(
        self,
        entity: str,
        *,
        known_by: datetime | None = None,
        agent: str | None = None,
        user_id: str | None = None,
        limit: int = MOST_RELATIONS,
    ) -> list[Relationship]:
        """Returns the relations of an entity, past and present, oldest first: of more than `limit` the newest. One that held twice is there
        twice."""
        most = checked_count(limit, "limit", least=1, largest=MOST_RELATIONS)
        with self._reading(agent, user_id, known_by) as view:
            found = self._joined(view, view.known(checked_entity_name(entity, "entity")), None)
            return show(view, sorted(found, key=lambda one: (one.start, one.edges))[-most:])

    def about(
        self, entity: str, *, max_tokens: int = PROFILE_TOKENS, agent: str | None = None, user_id: str | None = None
    ) -> Profile:
        """Returns what is known of an entity: its relations by type, newest first, with times, then the sentences that name it, newest first."""
        most = checked_count(max_tokens, "max_tokens", least=20, largest=1_000_000)
        with self._reading(agent, user_id) as view:
            number = view.known(checked_entity_name(entity, "entity"))
            relations = show(view, self._joined(view, number, None))
            ids = [view.rows.evidence_of(int(record)) for record in view.sources_of(number)]
            memories = self._room.project.named(dict.fromkeys(one for one in ids if one is not None))
            newest = sorted(memories.values(), key=lambda one: one.seen_at, reverse=True)[:MOST_MENTIONS]
            names = list(dict.fromkeys(view.rows.spelt[one] for one in view.spellings(number)))
            now = from_micros(self._room.now())
            return write_profile(view.entity(number), relations, newest, names, max_tokens=most, now=now)

    def path(
        self,
        a: str,
        b: str,
        max_hops: int = 3,
        *,
        as_of: datetime | None = None,
        agent: str | None = None,
        user_id: str | None = None,
    ) -> list[Relationship]:
        """Returns a shortest chain of relations between two entities, in either direction; an empty list if there is none of `max_hops`."""
        hops = checked_count(max_hops, "max_hops", largest=MOST_HOPS)
        with self._reading(agent, user_id) as view:
            start, goal = (view.known(checked_entity_name(one, name)) for one, name in ((a, "a"), (b, "b")))
            edges = view.find_path(start, goal, self._moment(as_of), hops) or []
            return show(view, [relation_with(view, edge) for edge in edges])

    def around(
        self,
        entities: Sequence[str],
        *,
        max_hops: int = 2,
        limit: int = MOST_NEIGHBOURS,
        as_of: datetime | None = None,
        agent: str | None = None,
        user_id: str | None = None,
    ) -> list[Entity]:
        """Returns the entities within some hops of others, those first, nearest first: at most `limit` relations of each hop are followed."""
        hops, most = checked_count(max_hops, "max_hops", largest=MOST_HOPS), checked_count(limit, "limit", largest=10_000)
        with self._reading(agent, user_id) as view:
            found = dict.fromkeys(view.known(checked_entity_name(one, "entities")) for one in entities)
            reached, moment = list(found), self._moment(as_of)
            for _ in range(hops):
                sources, targets, _ = view.links(reached, moment, most)
                ends = dict.fromkeys(np.column_stack((sources, targets)).ravel().tolist())
                reached = [one for one in ends if one not in found]
                found |= dict.fromkeys(reached)
                if not reached:
                    break
            return view.linked_entities(list(found))

    def is_enabled(self) -> bool:
        """Returns whether the configuration has `graph: {enabled: true}`, so that memories are read for entities whenever a method is called."""
        return settings_of(self._room.store.blocks.get("graph")).enabled

    def stats(self, *, agent: str | None = None, user_id: str | None = None) -> dict[str, int]:
        """Returns the numbers of entities and of relations that the reader may see, past ones included."""
        with self._reading(agent, user_id) as view:
            return {"entities": len(view.all_entities()), "relations": view.stated()}

    # writing

    def relate(
        self,
        source: str,
        type: str,  # noqa: A002 - as in `relations`
        target: str,
        *,
        agent: str,
        user_id: str | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        evidence: str | Collection[str] = (),
        source_type: str | None = None,
        target_type: str | None = None,
        replaces: bool = False,
        confidence: float = 1.0,
        properties: Mapping[str, Any] | None = None,
    ) -> Relationship:
        """States a relation, and returns it as the agent has it now.

        It belongs to the agent, or to the agent for a user, and may rest on memories that the agent may read. `valid_from` is when it began in the
        world: the time of the newest of these memories by default, else now. `valid_to` without it ends the one that held until then.
        Relations of the types `works_for`, `lives_in`, `reports_to`, `married_to`, `owned_by`, `status`, `port` and `version` have one target at a
        time, and so has any type with `replaces`: the former one ends when this one begins. Names mean entities that are known to the agent; others
        are new, of `source_type` and `target_type`. `undo` takes it back, `retract` says that it never was so.
        """
        room, owner = self._room, self._owner(agent, user_id)
        names = checked_entity_name(source, "source"), checked_entity_name(target, "target")
        types = [
            None if one is None else checked_type(one, name)
            for one, name in ((source_type, "source_type"), (target_type, "target_type"))
        ]
        start, end = (micros(checked_time(one, name)) for one, name in ((valid_from, "valid_from"), (valid_to, "valid_to")))
        given = [evidence] if isinstance(evidence, str) else list(evidence)
        memories = readable_evidence(room, owner, checked_ids(given, "evidence"))
        with self._reading(*owner) as view:
            ends = [find_or_name(view, name, one) for name, one in zip(names, types, strict=True)]
            stated = Statement(
                ends[0], checked_type(type, "type"), ends[1], start, end, _checked_share(confidence), bool(replaces),
                None if properties is None else checked_json(properties, "properties", largest=10_000),
            )  # fmt: skip
            if start is None:
                newest = max((to_micros(one.seen_at) for one in memories), default=room.now())
                stated = replace(stated, start=newest if end is None else start_of_open(view, stated))
        if stated.start is not None and end is not None and stated.start >= end:
            raise ValidationError("valid_to must be later than valid_from")
        key = store_statement(room, owner, stated, memories)[0]
        with self._reading(*owner) as view:
            return show(view, [relation_with(view, find_edge(view, key, 0))])[0]

    def retract(self, relation: str | Relationship, *, agent: str, user_id: str | None = None) -> int:
        """Takes back a relation, given by its id, as never having been so, and returns how many statements of this agent and user said it.

        It stays in the record: `known_by` of an earlier time shows it. `ScopeViolationError` if others stated it. `undo` brings it back.
        """
        room, owner = self._room, self._owner(agent, user_id)
        wanted = relation.id if isinstance(relation, Relationship) else checked_name(relation, "relation")
        with self._reading(*owner) as view:
            name, _, place = wanted.rpartition(".")
            if not name or not place.isdecimal():
                raise ValidationError(f"{quoted(wanted)} is no id of a relation")
            return retire(
                room,
                owner,
                view,
                relation_with(view, find_edge(view, f"{SELF if '/' in name else name[-2:]}/{name}", int(place))),
                room.now(),
            )

    def merge(self, a: str, b: str, *, agent: str, user_id: str | None = None, reason: str = "") -> Entity:
        """Makes two entities one, with the name and id of the first, for all who may read what this agent records. `split` or `undo` takes it back.

        `ValidationError` for entities of different types.
        """
        room, owner = self._room, self._owner(agent, user_id)
        with self._reading(*owner) as view:
            first, second = (view.known(checked_entity_name(one, name)) for one, name in ((a, "a"), (b, "b")))
            types = {view.type_of(one) for one in (first, second)} - {THING}
            if len(types) > 1:
                raise ValidationError(f"entities of different types are never one: {' and '.join(sorted(types))}")
            if first != second:
                decide(room, owner, view, [(first, second)], merged=True, reason=optional_text(reason, "reason", limit=500) or "")
        with self._reading(*owner) as view:
            return view.entity(view.known(view.rows.ids[first]))

    def split(self, entity: str, other: str, *, agent: str, user_id: str | None = None, reason: str = "") -> Entity:
        """Takes `other`, a name that was merged into an entity, out of it again, and returns it. They stay apart until somebody merges them.

        `ValidationError` if the name is no part of the entity.
        """
        room, owner = self._room, self._owner(agent, user_id)
        with self._reading(*owner) as view:
            root, wanted = view.known(checked_entity_name(entity, "entity")), checked_entity_name(other, "other")
            named = {view.rows.numbers.get(wanted), *view.rows.named(wanted)}
            part = next((one for one in view.parts(root) if one in named and one != root), None)
            if part is None:
                raise ValidationError(f"{quoted(wanted)} is no part of {quoted(view.name_of(root))}")
            pairs = view.merges_of(part) or [(root, part)]
            decide(room, owner, view, pairs, merged=False, reason=optional_text(reason, "reason", limit=500) or "")
        with self._reading(*owner) as view:
            return view.entity(int(view.root[part]))

    def read_memories(self) -> int:
        """Reads the memories that were added or changed since the last time for entities and relations, and returns how many have something new.

        With `graph: {enabled: true}` in the configuration every method does so first. An extractor that a package provides, or the model of the
        block `llm`, is named there as `extractor`; rules are the default.
        """
        room = self._room
        return self._fold(rows_of(room), settings_of(room.store.blocks.get("graph")))

    # the self-model

    def get_self_model(self, *, agent: str | None = None, user_id: str | None = None) -> SelfModel:
        """Returns what is known of the user, as nodes and links, with the user's preferences; without `user_id`, what the agent noted for itself.

        One user has one model, which all agents that work for that user share.
        """
        return self._models().read(self._model_owner(agent, user_id))

    def update_self_model(self, new_data: object, *, agent: str | None = None, user_id: str | None = None) -> SelfModel:
        """Merges nodes, edges or plain sentences into the self-model, and returns it: what is not mentioned stays.

        `new_data` is a sentence of at most 900 characters, a mapping, or a list of these.
        A mapping has `nodes`, each with `type`, `name` and `facts`, and `edges`, each with
        `source`, `relation` and `target`; types are free. An end written `Type:name` must be a node, a bare name may be new, and `User` is the
        user. `remove` names nodes to take out. That the user *prefers* something becomes a preference of the user in the memory. A fact that
        changes keeps its former values. Each call is a journal record, or one more for each preference; `undo` takes it back.
        """
        return self._models().update(self._model_owner(agent, user_id), new_data, by=optional_name(agent, "agent") or "")

    def query_memory(self, query: str, *, agent: str, user_id: str | None = None, top_k: int = 10) -> MemoryAnswer:
        """Returns what the self-model and the memories say to a question: lines of the model that share words with it, and memories by
        similarity alone."""
        found = self._alma.retrieve(task=query, agent=agent, user_id=user_id, top_k=top_k, profile="recall")
        return MemoryAnswer(matching_lines(self.get_self_model(agent=agent, user_id=user_id), query), found)

    def _models(self) -> SelfModels:
        return SelfModels(self._alma, self._room)

    @staticmethod
    def _model_owner(agent: str | None, user_id: str | None) -> Owner:
        who, user = optional_name(agent, "agent"), optional_name(user_id, "user_id")
        return (who, None) if user is None else (None, user)

    # parts

    def _fold(self, rows: GraphRows, settings: GraphSettings) -> int:
        with rows.lock:
            head = rows.room.project.head()
            since = rows.folded_upto if rows.folded_upto <= head else -1
            if since == head:
                return 0

            def view_of(owner: Owner) -> View:
                with rows.room.project.moment():
                    rows.catch_up()
                    return _view(rows, owner, FOREVER)

            count = fold(self._alma, rows.room, settings, view_of, since=since)
            rows.folded_upto = head
            return count

    @contextmanager
    def _reading(self, agent: str | None, user_id: str | None, known_by: datetime | None = None) -> Iterator[View]:
        """Yields the graph of a reader, as of now. One thread at a time holds it."""
        reader: Reader = optional_name(agent, "agent"), optional_name(user_id, "user_id")
        until = micros(checked_time(known_by, "known_by"))
        room = self._room
        rows, settings = rows_of(room), settings_of(room.store.blocks.get("graph"))
        if settings.enabled:
            self._fold(rows, settings)
        with rows.lock, room.project.moment():
            rows.catch_up()
            yield _view(rows, reader, FOREVER if until is None else until)

    @staticmethod
    def _owner(agent: str, user_id: str | None) -> Owner:
        return checked_name(agent, "agent"), optional_name(user_id, "user_id")

    def _moment(self, as_of: datetime | None) -> int:
        given = micros(checked_time(as_of, "as_of"))
        return self._room.now() if given is None else given

    @staticmethod
    def _joined(view: View, entity: int, wanted: str | None) -> list[Joined]:
        found = view.join(view.edges_of([entity]))
        return [one for one in found if wanted in (None, one.type)]


def _view(rows: GraphRows, reader: Reader, known_by: int) -> View:
    """Returns the view of a reader, made anew when something changed."""
    key = (reader, known_by)
    found: View | None = rows.views.pop(key, None)
    if found is None or found.stamp != rows.stamp:
        found = View(rows, reader, known_by)
    rows.views[key] = found
    while len(rows.views) > MOST_VIEWS:
        rows.views.pop(next(iter(rows.views)))
    return found


def _checked_share(value: object) -> float:
    number = plain_value(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
        raise ValidationError(f"confidence must be a number from 0 to 1, not {quoted(value)}")
    return float(number)
