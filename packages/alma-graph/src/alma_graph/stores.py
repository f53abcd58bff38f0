"""Graph stores: what surrounds an entity, asked for by id or by name."""

import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from alma.errors import ValidationError
from alma.memory.arguments import checked_count
from alma_graph.backends.backend import MOST_FOUND, EntityFilter, GraphBackend, RelationshipFilter, checked_direction
from alma_graph.backends.making import create_graph_backend
from alma_graph.backends.records import checked_time
from alma_graph.types import Entity, GraphQuery, GraphResult, Relationship

MOST_HOPS = 10
MOST_AROUND = 1_000
"""Entities that a traversal finds at most, if nothing else is said."""


MOST_EDGES_EACH = 4
"""Relationships that a hop follows, for each entity that may be found, at most."""


class BackendGraphStore:
    """A graph in any backend. Entities are named by id, or by name without regard to case.

    `ValidationError` lists the candidates if a name is that of several entities. Of a name that is none, nothing is found.
    """

    def __init__(self, backend: GraphBackend) -> None:
        self._backend = backend

    @property
    def backend(self) -> GraphBackend:
        """The backend that keeps the graph."""
        return self._backend

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def add_entity(self, entity: Entity) -> str:
        """Stores an entity and returns its id, which is that of the entity of the same name and type if there is one."""
        return self._backend.add_entity(entity)

    def add_relationship(self, relationship: Relationship) -> str:
        """Stores a relationship and returns its id. `ValidationError` if one of its ends is no entity."""
        return self._backend.add_relationship(relationship)

    def get_entity(self, entity_id: str) -> Entity | None:
        """Returns an entity by id or name, `None` if there is none."""
        return self._backend.resolve(entity_id)

    def find_entities(self, name: str | None = None, entity_type: str | None = None, limit: int = 10) -> list[Entity]:
        """Returns entities whose name contains a text, those named exactly so first."""
        return self._backend.find_entities(name, entity_type, limit)

    def get_relationships(
        self, entity_id: str, direction: str = "both", relation_type: str | None = None, *, relationship_type: str | None = None
    ) -> list[Relationship]:
        """Returns the relationships of an entity, of one type and direction if given. `relationship_type` is the same as `relation_type`."""
        if relation_type is not None and relationship_type is not None and relation_type != relationship_type:
            raise ValidationError("give relation_type or relationship_type, not both")
        wanted = checked_direction(direction)
        entity = self._backend.resolve(entity_id)
        if entity is None:
            return []
        return self._backend.get_relationships_directional(entity.id, wanted, relation_type or relationship_type)

    def get_relationships_as_of(self, entity_id: str, as_of: datetime) -> list[Relationship]:
        """Returns the relationships of an entity that held at a time, the end of an interval excluded."""
        entity = self._backend.resolve(entity_id)
        return [] if entity is None else self._backend.get_relationships_as_of(entity.id, checked_time(as_of, "as_of"))

    def traverse(
        self, start_entity_id: str, max_hops: int = 2, relation_types: Sequence[str] | None = None, *, limit: int = MOST_AROUND
    ) -> GraphResult:
        """Returns what is at most `max_hops` relationships away from an entity, nearest first, and a shortest path to each."""
        return self.query(GraphQuery([start_entity_id], relation_types, max_hops, limit))

    def query(self, query: GraphQuery) -> GraphResult:
        """Returns what is around the entities of a query, at most `limit` entities besides these."""
        began = time.perf_counter()
        hops = checked_count(query.max_hops, "max_hops", least=0, largest=MOST_HOPS)
        most = checked_count(query.limit, "limit", largest=MOST_FOUND)
        starts = {each.id: each for each in map(self._backend.resolve, query.entities) if each is not None}
        paths, edges = self._walk(list(starts), hops, query.relation_types, most)
        found = {**starts, **{each.id: each for each in self._entities(one for one in paths if one not in starts)}}
        return GraphResult(
            entities=[found[one] for one in paths if one in found],
            relationships=edges,
            paths=[path for path in paths.values() if len(path) > 1],
            query_time_ms=(time.perf_counter() - began) * 1000,
        )

    def delete_entity(self, entity_id: str) -> bool:
        """Deletes an entity, by id or name, with all its relationships. Returns False if there is none."""
        entity = self._backend.resolve(entity_id)
        return entity is not None and self._backend.delete_entity(entity.id)

    def clear(self) -> None:
        """Deletes the whole graph of the project."""
        self._backend.clear()

    def close(self) -> None:
        """Ends the connection of the backend."""
        self._backend.close()

    def _walk(
        self, starts: Sequence[str], hops: int, types: Sequence[str] | None, limit: int
    ) -> tuple[dict[str, list[str]], list[Relationship]]:
        """Returns a shortest path to each entity by id, and the relationships between these. One question a hop."""
        paths, edges, frontier = {start: [start] for start in starts}, dict[str, Relationship](), list(starts)
        most = len(starts) + limit
        for _ in range(hops):
            reached = []
            wanted = RelationshipFilter(entities=frontier, types=types, limit=min(MOST_EDGES_EACH * most, MOST_FOUND))
            for each in self._backend.select_relationships(wanted) if frontier else ():
                edges[each.id] = each
                for near, far in ((each.source_id, each.target_id), (each.target_id, each.source_id)):
                    if near in paths and far not in paths and len(paths) < most:
                        paths[far] = [*paths[near], far]
                        reached.append(far)
            frontier = reached
        return paths, [each for each in edges.values() if each.source_id in paths and each.target_id in paths]

    def _entities(self, ids: Iterable[str]) -> list[Entity]:
        wanted = list(ids)
        return self._backend.select_entities(EntityFilter(ids=wanted)) if wanted else []


class InMemoryGraphStore(BackendGraphStore):
    """A graph in memory, gone with the process."""

    def __init__(self) -> None:
        super().__init__(create_graph_backend("memory"))


class Neo4jGraphStore(BackendGraphStore):
    """A graph in Neo4j."""

    def __init__(self, uri: str, username: str, password: str, database: str = "neo4j") -> None:
        super().__init__(create_graph_backend("neo4j", uri=uri, username=username, password=password, database=database))


def create_graph_store(provider: str = "memory", **options: Any) -> BackendGraphStore:
    """Returns a store on the backend of a name; `create_graph_backend` has the names and their options."""
    return BackendGraphStore(create_graph_backend(provider, **options))
