"""Entities and relationships of the contract, and the fixtures that it stands on."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest

from alma_graph import Entity, GraphBackend, Relationship

Connect: TypeAlias = Callable[[], GraphBackend]
"""Connects to the database of a test, which is empty at its beginning."""

AT = datetime(2026, 3, 1, 12, 30, 15, 123456, UTC)

HOSTILE = (
    "'; DROP TABLE entities; --",
    "Robert'}) DETACH DELETE n //",
    'a "quoted" \\ name',
    "$project {id: 1} `label` %s {0}",
    "[1, 2]",
    "{a: 1}",
    "null",
    "line one\nline two\ttab",
    "日本語 🎉👩‍👩‍👧 مرحبا \u202e\u2028",
    "{{ '\\u0041' }}",
)
"""Texts that a database must take for what they are."""


class WithBackend:
    """Gives tests a backend of an empty database. The class of a backend defines the fixture `connect`."""

    many = 10_000
    """Entities, and relationships, of the largest batch."""

    @pytest.fixture
    def backend(self, connect: Connect) -> Iterator[GraphBackend]:
        backend = connect()
        yield backend
        backend.close()


def person(name: str, id: str | None = None, **properties: Any) -> Entity:  # noqa: A002 - the field's name
    """Returns a person, whose id is the name in lower case if nothing else is said."""
    return Entity(id or name.lower(), name, "person", properties, AT)


def firm(name: str, id: str | None = None, **properties: Any) -> Entity:  # noqa: A002 - the field's name
    """Returns an organization."""
    return Entity(id or name.lower(), name, "organization", properties, AT)


def link(source: str, relation_type: str, target: str, id: str | None = None, **fields: Any) -> Relationship:  # noqa: A002 - the field's name
    """Returns a relationship, whose id is made of its ends and type if nothing else is said."""
    fields = {"created_at": AT, **fields}
    return Relationship(id or f"{source}-{relation_type}-{target}", source, target, relation_type, **fields)


def day(number: int) -> datetime:
    """Returns a day of 2026 by its number, at midnight."""
    return datetime.fromordinal(datetime(2026, 1, 1).toordinal() + number - 1).replace(tzinfo=UTC)  # noqa: DTZ001 - an ordinal has no zone


def ids_of(found: Iterable[Entity | Relationship]) -> list[str]:
    """Returns the ids of entities or relationships, in their order."""
    return [each.id for each in found]


def content_of(backend: GraphBackend) -> tuple[Mapping[str, Entity], Mapping[str, Relationship]]:
    """Returns everything in a backend, by id."""
    return {each.id: each for each in backend.entities()}, {each.id: each for each in backend.relationships()}


ALICE, BOB, ACME, GLOBEX = person("Alice"), person("Bob"), firm("Acme"), firm("Globex")
EVERYONE = (ALICE, BOB, ACME, GLOBEX)
