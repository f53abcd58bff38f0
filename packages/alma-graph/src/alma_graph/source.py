"""The graph of an ALMA as the source of a projection."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from alma.journal import PURGE, REBUILD
from alma.types.stored import Change, Entry
from alma_graph.graph import Graph
from alma_graph.naming import entity_id
from alma_graph.rows import DECISION, SOURCE, GraphRows
from alma_graph.shown import show
from alma_graph.types import Entity, Relationship
from alma_graph.view import View

if TYPE_CHECKING:
    from alma import ALMA


class ALMAGraphSource:
    """The graph of a project, as an agent and a user read it; without an agent, as the program does: what all agents recorded for no user."""

    def __init__(self, alma: "ALMA", *, agent: str | None = None, user_id: str | None = None) -> None:
        self.project_id: str = alma.project_id
        self._graph, self._agent, self._user_id = Graph(alma), agent, user_id

    def touched(self, after: int) -> tuple[int, Sequence[str] | None]:
        """Returns the newest journal record, and the ids of the entities that something happened to after a position.

        There are no ids if the journal does not say it: some of it was purged, or the position is beyond its end.
        """
        with self._graph._reading(self._agent, self._user_id) as view:
            rows = view.rows
            if after == 0:
                return rows.upto, [rows.ids[one] for one in view.all_entities()]
            if after > rows.upto:
                return rows.upto, None
            entries = list(rows.room.project.entries(after=after))
            if any(map(_is_opaque, entries)):
                return rows.upto, None
            changes = [change for entry in entries if entry.seq <= rows.upto for change in entry.changes]
            return rows.upto, sorted(_with_parts(view, _named(rows, changes)))

    def entities(self, ids: Sequence[str]) -> Sequence[Entity]:
        """Returns these entities, as far as they are readable and their own."""
        with self._graph._reading(self._agent, self._user_id) as view:
            return [view.entity(one) for one in _roots(view, ids)]

    def relationships(self, ids: Sequence[str]) -> Sequence[Relationship]:
        """Returns all readable relationships of these entities, past ones included."""
        with self._graph._reading(self._agent, self._user_id) as view:
            return show(view, view.join(view.edges_of(_roots(view, ids))))


def _roots(view: View, ids: Sequence[str]) -> list[int]:
    known = (view.rows.numbers.get(each) for each in ids)
    return [one for one in known if one is not None and view.root[one] == one and view.is_readable(one)]


def _is_opaque(entry: Entry) -> bool:
    return entry.is_purged or entry.operation == REBUILD or any(change.table == PURGE for change in entry.changes)


def _named(rows: GraphRows, changes: Iterable[Change]) -> set[str]:
    """Returns the ids of the entities that changed records name, or that records name which rest on changed memories."""
    found = set[str]()
    memories = list[str]()
    for change in changes:
        if change.table == "memory":
            memories.append(change.key)
        elif change.table == "record":
            for state in (change.before, change.after):
                found.update(_ids_in(change.key, (state or {}).get("body") or {}))
    records = _resting_on(rows, memories)
    entities = [rows.spellings.column("entity")[rows.mentions.column("name")[np.isin(rows.mentions.column("record"), records)]]]
    edges = np.isin(rows.edges.column("record"), records)
    entities += [rows.edges.column(name)[edges] for name in ("source", "target")]
    return found | {rows.ids[one] for one in np.unique(np.concatenate(entities)).tolist()}


def _resting_on(rows: GraphRows, memories: Iterable[str]) -> NDArray[np.int64]:
    """Returns the records that rest on some memories."""
    wanted = set(memories)
    packed = list[bytes]()
    for each in wanted:
        with suppress(ValueError):
            packed.append(UUID(each).bytes)
    found = np.nonzero(np.isin(rows.sources.column("evidence"), np.array(packed, dtype="S16")))[0]
    odd = [record for record, (_, memory) in rows.odd.items() if memory in wanted]
    return np.concatenate([found, np.array(odd, dtype=np.int64)])


def _ids_in(key: str, body: dict[str, Any]) -> Iterator[str]:
    if key.startswith(f"{SOURCE}/"):
        yield from (entity_id(str(name), str(kind)) for name, kind in body.get("entities", ()))
    elif key.startswith(f"{DECISION}/"):
        yield from (str(body[name]) for name in ("entity", "other") if name in body)


def _with_parts(view: View, ids: Iterable[str]) -> set[str]:
    """Returns entities with those that are, or were, one with them: parts of one root, and namesakes of any type."""
    found = set(ids)
    for each in ids:
        number = view.rows.numbers.get(each)
        if number is None:
            continue
        named = view.rows.named(view.rows.spelt[view.rows.first[number]])
        parts = {part for one in (number, *named) for part in view.parts(int(view.root[one]))}
        found.update(view.rows.ids[one] for one in (*named, *parts))
    return found
