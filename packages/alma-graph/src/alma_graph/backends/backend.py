"""`GraphBackend`: entities and relationships of one project in a database."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol, Self, runtime_checkable

from alma.errors import ConflictError, ValidationError
from alma.memory.arguments import checked_count
from alma.text import quoted
from alma_graph.backends.records import checked_entity, checked_relationship, checked_time, fold, listed
from alma_graph.types import Entity, Relationship

Direction = Literal["out", "in", "both"]
DIRECTIONS = {"out": "out", "outgoing": "out", "in": "in", "incoming": "in", "both": "both"}

MOST_FOUND = 10_000
"""Entities or relationships that a question without a limit of its own gives at most."""
PAGE = 500
"""Rows of one statement, at most."""
MOST_WORDS = 8
"""Words of a search, at most."""
MOST_NAMED = 10
"""Candidates that the error for an ambiguous name lists, at most."""


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """Entities to be selected. What is `None` restricts nothing; of `containing`, one text is enough."""

    ids: Sequence[str] | None = None
    name: str | None = None
    """A whole name, folded."""
    containing: Sequence[str] | None = None
    """Parts of a folded name, or of the list of the other names."""
    entity_type: str | None = None
    project_id: str | None = None
    agent: str | None = None
    """Project and agent that the properties of an entity state."""
    after: str | None = None
    """Ids up to this one are left out."""
    limit: int = MOST_FOUND


@dataclass(frozen=True, slots=True)
class RelationshipFilter:
    """Relationships to be selected. What is `None` restricts nothing."""

    ids: Sequence[str] | None = None
    entities: Sequence[str] | None = None
    """Ids of which one stands at an end: the source if `direction` is "out", the target if it is "in"."""
    direction: Direction = "both"
    target: str | None = None
    types: Sequence[str] | None = None
    as_of: datetime | None = None
    """Time at which the relationship held."""
    after: str | None = None
    limit: int = MOST_FOUND


class GraphBackend(ABC):
    """Entities and relationships of one project in a database. Thread-safe.

    A database holds several projects: a backend sees those of `project_id` alone, and `for_project` returns the same for another one. Six abstract
    methods are what a database has to provide; the others follow from them. A name is compared without regard to case. `ValidationError` for
    what cannot be kept, `StorageError` if the database fails, `ConfigurationError` if it refuses the user.
    """

    def __init__(self, project_id: str = "") -> None:
        self.project_id = project_id

    @abstractmethod
    def write(self, entities: Sequence[Entity] = (), relationships: Sequence[Relationship] = ()) -> None:
        """Stores entities, then relationships; one of a known id replaces the former.

        `ValidationError` names a relationship with an end that is no entity; nothing is stored then. Where the database has transactions over several
        statements, all is stored or nothing; where it has none, writing the same again completes it.
        """

    @abstractmethod
    def delete(self, entities: Sequence[str] = (), relationships: Sequence[str] = ()) -> None:
        """Deletes relationships and entities by id, these with all their relationships. Unknown ids are passed over."""

    @abstractmethod
    def select_entities(self, wanted: EntityFilter) -> list[Entity]:
        """Returns entities in the order of their ids."""

    @abstractmethod
    def select_relationships(self, wanted: RelationshipFilter) -> list[Relationship]:
        """Returns relationships in the order of their ids."""

    @abstractmethod
    def clear(self) -> None:
        """Deletes everything of the project, its position last."""

    @abstractmethod
    def close(self) -> None:
        """Ends the connection, for all projects. A second time does nothing."""

    def for_project(self, project_id: str) -> Self:
        """Returns a backend for another project over the same connection."""
        other = copy.copy(self)
        other.project_id = project_id
        return other

    def add_entity(self, entity: Entity) -> str:
        """Stores an entity and returns its id: that of the entity of the same name and type, if there is one, which then has the properties of both.

        Such an entity is found by either id afterwards. `ConflictError` if the id is that of an entity of another project.
        """
        one = checked_entity(entity)
        kept = self._same_entity(one)
        self.write([one if kept is None else _united(kept, one)])
        return one.id if kept is None else kept.id

    def add_relationship(self, relationship: Relationship) -> str:
        """Stores a relationship and returns its id: that of an equal one, if there is one, of the same ends, type and interval.

        `ValidationError` if one of its ends is no entity, by id or name.
        """
        one = checked_relationship(relationship)
        one = replace(one, source_id=self._end(one, one.source_id), target_id=self._end(one, one.target_id))
        kept = self._same_relationship(one)
        if kept is not None:
            confidence = max(kept.confidence, one.confidence)
            one = replace(kept, properties={**kept.properties, **one.properties}, confidence=confidence)
        self.write(relationships=[one])
        return one.id

    def get_entity(self, entity_id: str) -> Entity | None:
        """Returns the entity of an id, `None` if there is none."""
        return next(iter(self.select_entities(EntityFilter(ids=[entity_id]))), None)

    def get_entities(
        self, entity_type: str | None = None, project_id: str | None = None, agent: str | None = None, limit: int = 100
    ) -> list[Entity]:
        """Returns entities of a type, and of a project or an agent that their properties state."""
        kind = None if entity_type is None else entity_type.lower()
        return self.select_entities(
            EntityFilter(
                entity_type=kind, project_id=project_id, agent=agent, limit=checked_count(limit, "limit", largest=MOST_FOUND)
            )
        )

    def find_entities(self, name: str | None = None, entity_type: str | None = None, limit: int = 10) -> list[Entity]:
        """Returns entities whose name, or another name of theirs, contains a text; those named exactly so come first."""
        if name is None:
            return self.get_entities(entity_type, limit=limit)
        kind, folded = None if entity_type is None else entity_type.lower(), fold(name)
        exact = self.select_entities(
            EntityFilter(name=folded, entity_type=kind, limit=checked_count(limit, "limit", largest=MOST_FOUND))
        )
        found = self.select_entities(EntityFilter(containing=[folded], entity_type=kind)) if len(exact) < limit else []
        return list({each.id: each for each in (*exact, *sorted(found, key=lambda each: (len(each.name), each.id)))}.values())[
            :limit
        ]

    def search_entities(self, query: str, embedding: Sequence[float] | None = None, top_k: int = 10) -> list[Entity]:
        """Returns entities that have words of a query in their names, those with most first. `embedding` has no effect; alma-memory has it."""
        words = list(dict.fromkeys(fold(query).split()))[:MOST_WORDS]
        if not words:
            return []
        found = self.select_entities(EntityFilter(containing=words))
        return sorted(found, key=lambda each: (-_share(words, each), len(each.name), each.id))[
            : checked_count(top_k, "top_k", largest=MOST_FOUND)
        ]

    def get_relationships(self, entity_id: str) -> list[Relationship]:
        """Returns the relationships of an entity in both directions, by its id."""
        return self.select_relationships(RelationshipFilter(entities=[entity_id]))

    def get_relationships_directional(
        self, entity_id: str, direction: str = "both", relation_type: str | None = None
    ) -> list[Relationship]:
        """Returns the relationships of an entity in one direction, "outgoing" or "incoming", or in both."""
        types = None if relation_type is None else [relation_type]
        return self.select_relationships(
            RelationshipFilter(entities=[entity_id], direction=checked_direction(direction), types=types)
        )

    def get_relationships_as_of(self, entity_id: str, as_of: datetime) -> list[Relationship]:
        """Returns the relationships of an entity that held at a time, the end of an interval excluded."""
        return self.select_relationships(RelationshipFilter(entities=[entity_id], as_of=checked_time(as_of, "as_of")))

    def delete_entity(self, entity_id: str) -> bool:
        """Deletes an entity with all its relationships. Returns False if there is none."""
        is_there = self.get_entity(entity_id) is not None
        self.delete([entity_id])
        return is_there

    def delete_relationship(self, relationship_id: str) -> bool:
        """Deletes a relationship. Returns False if there is none."""
        is_there = bool(self.select_relationships(RelationshipFilter(ids=[relationship_id])))
        self.delete(relationships=[relationship_id])
        return is_there

    def resolve(self, reference: str) -> Entity | None:
        """Returns the entity of an id, else the only one of a name, an alias or a merged id; `None` if there is none.

        `ValidationError` lists the candidates if there are several.
        """
        if exact := self.get_entity(reference):
            return exact
        wanted = (
            EntityFilter(name=fold(reference), limit=MOST_NAMED),
            EntityFilter(containing=[listed(reference)], limit=MOST_NAMED),
        )
        found = next((named for each in wanted if (named := self.select_entities(each))), [])
        if len(found) > 1:
            candidates = ", ".join(f"{each.name} ({each.entity_type}, id {each.id!r})" for each in found)
            raise ValidationError(f"{quoted(reference)} is more than one entity; name one by its id: {candidates}")
        return found[0] if found else None

    def entities(self) -> Iterator[Entity]:
        """Returns all entities of the project, page by page, in the order of their ids."""
        after: str | None = None
        while page := self.select_entities(EntityFilter(after=after, limit=PAGE)):
            yield from page
            after = page[-1].id

    def relationships(self) -> Iterator[Relationship]:
        """Returns all relationships of the project, page by page, in the order of their ids."""
        after: str | None = None
        while page := self.select_relationships(RelationshipFilter(after=after, limit=PAGE)):
            yield from page
            after = page[-1].id

    def _same_entity(self, one: Entity) -> Entity | None:
        stated = one.properties.get("project_id")
        if (own := self.get_entity(one.id)) is None:
            wanted = EntityFilter(name=fold(one.name), entity_type=one.entity_type)
            return next((each for each in self.select_entities(wanted) if each.properties.get("project_id") == stated), None)
        if own.properties.get("project_id") != stated:
            raise ConflictError(
                f"{quoted(one.id)} is an entity of project {quoted(own.properties.get('project_id'))}; "
                "create_graph_backend(…, project_id=…) keeps projects apart"
            )
        return own

    def _same_relationship(self, one: Relationship) -> Relationship | None:
        if self.select_relationships(RelationshipFilter(ids=[one.id])):
            return None
        wanted = RelationshipFilter(entities=[one.source_id], direction="out", target=one.target_id, types=[one.relation_type])
        interval = one.valid_from, one.valid_to
        return next((each for each in self.select_relationships(wanted) if (each.valid_from, each.valid_to) == interval), None)

    def _end(self, relationship: Relationship, reference: str) -> str:
        if (entity := self.resolve(reference)) is None:
            raise unknown_end(relationship, reference)
        return entity.id


@runtime_checkable
class KeepsPosition(Protocol):
    """A backend that keeps, beside a project's graph, up to where it was read from elsewhere."""

    def read_position(self) -> int:
        """Returns the position that was written last, 0 if none was."""
        ...

    def write_position(self, position: int) -> None: ...


def unknown_end(relationship: Relationship, reference: str) -> ValidationError:
    """Returns the error for a relationship with an end that is no entity."""
    return ValidationError(f"relationship {quoted(relationship.id)} names {quoted(reference)}, which is no entity; add it first")


def check_ends(relationships: Sequence[Relationship], known: Container[str]) -> None:
    """Raises the `ValidationError` for the first relationship with an end that is not among the known ids."""
    for each in relationships:
        for reference in (each.source_id, each.target_id):
            if reference not in known:
                raise unknown_end(each, reference)


def checked_direction(value: object) -> Direction:
    """Returns a direction by one of its names."""
    if not isinstance(value, str) or value not in DIRECTIONS:
        raise ValidationError(f"direction is {quoted(value)}; it is one of {', '.join(DIRECTIONS)}")
    return DIRECTIONS[value]  # type: ignore[return-value]  # values of the table are directions


def _united(kept: Entity, one: Entity) -> Entity:
    """Returns an entity under the id that is kept: the newer one of that id, or both of one name."""
    is_newer = kept.id == one.id
    ids = sorted({*_merged_ids(kept), *_merged_ids(one), one.id} - {kept.id})
    properties = {**({} if is_newer else kept.properties), **one.properties, **({"merged_ids": ids} if ids else {})}
    return replace(one if is_newer else kept, properties=properties)


def _merged_ids(entity: Entity) -> list[str]:
    found = entity.properties.get("merged_ids")
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _share(words: Sequence[str], entity: Entity) -> int:
    folded = fold(entity.name)
    return sum(word in folded for word in words) + (folded == " ".join(words))
