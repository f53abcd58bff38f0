"""Values of a graph: entities, relationships, and what a query of them gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, firm, tool, file or other thing with a name. `entity_type` is lower case: person, organization, tool, file …"""

    id: str
    name: str
    entity_type: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime = field(default_factory=_now)


@dataclass(frozen=True, slots=True)
class Relationship:
    """A directed relation of two entities. `valid_from` and `valid_to` say when it held in the world; `None` is open."""

    id: str
    source_id: str
    target_id: str
    relation_type: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    confidence: float = 1.0
    created_at: datetime = field(default_factory=_now)
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """A question for what surrounds some entities, named by id or name. No `relation_types` are all of them."""

    entities: Sequence[str]
    relation_types: Sequence[str] | None = None
    max_hops: int = 2
    limit: int = 20


@dataclass(frozen=True, slots=True)
class GraphResult:
    """Entities and relationships found around others, and the paths to them as lists of ids. `query_time_ms` is in milliseconds."""

    entities: Sequence[Entity] = ()
    relationships: Sequence[Relationship] = ()
    paths: Sequence[Sequence[str]] = ()
    query_time_ms: float = 0.0
