"""Projections: the graph of a project shown in a graph database, which is never its only copy.

The database keeps the position up to which it was brought. From there on a source names the entities that something happened to, and what holds of
each of them *now* replaces what the database has of it. So a batch that is written twice changes nothing, and whoever is interrupted anywhere begins
again at the position and arrives at what a rebuild gives.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

from alma import ALMA
from alma.errors import ValidationError
from alma_graph.backends.backend import MOST_FOUND, PAGE, EntityFilter, GraphBackend, KeepsPosition, RelationshipFilter
from alma_graph.backends.records import Row, entity_row, relationship_row
from alma_graph.source import ALMAGraphSource
from alma_graph.types import Entity, Relationship


class GraphSource(Protocol):
    """The graph of a project, as a projection reads it."""

    @property
    def project_id(self) -> str: ...

    def touched(self, after: int) -> tuple[int, Sequence[str] | None]:
        """Returns the newest journal record, and the ids of the entities that something happened to after a position; of all, after 0.

        An entity that is no more, or that another one took in, is among them, and so is each end of a relationship that began, changed or ended.
        `None` in place of ids says that it is not known what happened.
        """
        ...

    def entities(self, ids: Sequence[str]) -> Sequence[Entity]:
        """Returns those of some entities that there are now."""
        ...

    def relationships(self, ids: Sequence[str]) -> Sequence[Relationship]:
        """Returns every relationship that there is now, past ones included, with an end among some entities."""
        ...


@dataclass(frozen=True, slots=True)
class Projected:
    """Result of a projection: the journal record that it is at, and the number of entities that it looked at."""

    position: int
    entities: int


@dataclass(frozen=True, slots=True)
class Content:
    """Number of entities and relationships of a graph, and a hash of them all that does not depend on their order."""

    entities: int
    relationships: int
    digest: str


@dataclass(frozen=True, slots=True)
class Drift:
    """Content that a source says there is, and content that a database has."""

    expected: Content
    found: Content

    @property
    def is_none(self) -> bool:
        """True if the database has exactly what the source says."""
        return self.expected == self.found


class GraphProjection:
    """Shows the graph of a project in a database. Several projects may be in one.

    The graph of an ALMA is projected as the program reads it, without what was recorded for a user; `ALMAGraphSource` names another reader. Whoever
    may read the database may read all of that, and nothing else belongs there: what it has of the project besides goes with the next rebuild.
    `ValidationError` for a backend that keeps no position.
    """

    def __init__(self, backend: GraphBackend) -> None:
        if not isinstance(backend, KeepsPosition):
            raise ValidationError(f"{type(backend).__name__} has no read_position and write_position, which a projection needs")
        self._backend: GraphBackend = backend

    def catch_up(self, source: GraphSource | ALMA) -> Projected:
        """Brings the database from its position up to the newest journal record."""
        source = _source_of(source)
        backend = self._backend.for_project(source.project_id)
        position = _position(backend)
        seq, touched = source.touched(position)
        if touched is None:
            return self.rebuild(source)
        return _bring_up(backend, source, touched, seq, position)

    def rebuild(self, source: GraphSource | ALMA) -> Projected:
        """Looks at every entity of the source and of the database anew. Readers see the graph change in place, it is never empty meanwhile."""
        source = _source_of(source)
        backend = self._backend.for_project(source.project_id)
        seq, touched = source.touched(0)
        everything = list(dict.fromkeys(chain(touched or (), (each.id for each in backend.entities()))))
        return _bring_up(backend, source, everything, seq, None)

    def check(self, source: GraphSource | ALMA) -> Drift:
        """Compares all that the source says with all that the database has, by count and hash. `rebuild` mends a difference."""
        source = _source_of(source)
        backend = self._backend.for_project(source.project_id)
        pages = list(_pages(source.touched(0)[1] or ()))
        entities = {each.id: each for page in pages for each in source.entities(page)}
        relationships = {each.id: each for page in pages for each in source.relationships(page)}
        expected = _content(entities.values(), relationships.values())
        return Drift(expected, _content(backend.entities(), backend.relationships()))


def _source_of(source: GraphSource | ALMA) -> GraphSource:
    if isinstance(source, ALMA):
        return ALMAGraphSource(source)
    return source


def _bring_up(backend: GraphBackend, source: GraphSource, touched: Sequence[str], seq: int, position: int | None) -> Projected:
    """Writes what there is of the touched entities: first these themselves, then their relationships, and removes what is no more."""
    there, written = set[str](), set[str]()
    for page in _pages(touched):
        entities = source.entities(page)
        backend.write(entities)
        there.update(each.id for each in entities)
    for page in _pages(touched):
        kept = _with_ends(backend, source.relationships(page))
        backend.write(relationships=[each for each in kept if each.id not in written])
        written.update(each.id for each in kept)
        backend.delete(relationships=sorted(_ids_around(backend, page) - written))
    backend.delete([each for each in touched if each not in there])
    if seq != position:
        _write_position(backend, seq)
    return Projected(seq, len(touched))


def _with_ends(backend: GraphBackend, relationships: Sequence[Relationship]) -> list[Relationship]:
    """Returns the relationships whose ends the database has. An end that came up meanwhile brings its own the next time."""
    ends = sorted({end for each in relationships for end in (each.source_id, each.target_id)})
    known = {each.id for page in _pages(ends) for each in backend.select_entities(EntityFilter(ids=page))}
    return [each for each in relationships if each.source_id in known and each.target_id in known]


def _ids_around(backend: GraphBackend, entities: Sequence[str]) -> set[str]:
    """Returns the ids of all relationships with an end among some entities."""
    found, wanted = set[str](), RelationshipFilter(entities=entities)
    while page := backend.select_relationships(wanted):
        found.update(each.id for each in page)
        if len(page) < MOST_FOUND:
            break
        wanted = replace(wanted, after=page[-1].id)
    return found


def _position(backend: GraphBackend) -> int:
    return backend.read_position() if isinstance(backend, KeepsPosition) else 0


def _write_position(backend: GraphBackend, position: int) -> None:
    if isinstance(backend, KeepsPosition):
        backend.write_position(position)


def _content(entities: Iterable[Entity], relationships: Iterable[Relationship]) -> Content:
    nodes = [_number(entity_row(each, "")) for each in entities]
    edges = [_number(relationship_row(each, "")) for each in relationships]
    return Content(len(nodes), len(edges), f"{(sum(nodes) + sum(edges)) % 2**256:064x}")


def _number(row: Row) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps(row, sort_keys=True).encode()).digest())


def _pages(ids: Sequence[str]) -> Iterator[list[str]]:
    return (list(ids[start : start + PAGE]) for start in range(0, len(ids), PAGE))
