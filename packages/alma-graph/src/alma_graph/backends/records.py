"""Rows that a graph database keeps of entities and relationships: plain texts and numbers, the same in every database.

A time is a number of microseconds since 1970, and an interval that is open ends at the first or the last time there is, so that no value is missing.
Properties are one text of JSON. `key` is unique in the database, `id` in a project.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from unicodedata import normalize

from alma.errors import ValidationError
from alma.text import fault_in, quoted
from alma.types.identity import as_utc, from_micros, to_micros
from alma_graph.types import Entity, Relationship

ALWAYS, FOREVER = to_micros(datetime.min.replace(tzinfo=UTC)), to_micros(datetime.max.replace(tzinfo=UTC))
"""Beginning and end of an interval that is open."""

LONGEST_NAME = 1_000
LONGEST_PROPERTIES = 100_000
"""Characters of a name or an id, and of the properties as JSON, at most."""

ENTITY_COLUMNS = {
    "project": "STRING",
    "id": "STRING",
    "name": "STRING",
    "folded": "STRING",
    "aliases": "STRING",
    "entity_type": "STRING",
    "project_id": "STRING",
    "agent": "STRING",
    "properties": "STRING",
    "created_at": "INT64",
}
RELATIONSHIP_COLUMNS = {
    "project": "STRING",
    "id": "STRING",
    "source_id": "STRING",
    "target_id": "STRING",
    "relation_type": "STRING",
    "properties": "STRING",
    "confidence": "DOUBLE",
    "created_at": "INT64",
    "valid_from": "INT64",
    "valid_to": "INT64",
}
"""Columns of an entity and of a relationship beside the key, each with its type in Kùzu and Ladybug."""

DECIMALS = 9
"""Decimals of a confidence: a server of FalkorDB gives numbers back with 15 digits."""

Row = dict[str, Any]


def fold(name: str) -> str:
    """Returns a name as it is compared: without regard to case, Unicode form and spaces."""
    return " ".join(normalize("NFKC", name).casefold().split())


def key_of(project: str, id: str) -> str:  # noqa: A002 - the field's name
    """Returns what identifies an id of a project in a database of several projects."""
    return f"{len(project)}:{project}{id}"


def listed(name: str) -> str:
    """Returns a folded name as it stands in the list of an entity's other names, to be searched for."""
    return f"\n{fold(name)}\n"


def checked_entity(entity: Entity) -> Entity:
    """Returns the entity with its type in lower case. `ValidationError` if no database could keep it."""
    _check_text(entity.id, "an entity's id")
    _check_text(entity.name, "an entity's name")
    _check_text(entity.entity_type, "an entity's type")
    return replace(entity, entity_type=entity.entity_type.lower(), created_at=checked_time(entity.created_at, "created_at"))


def checked_relationship(relationship: Relationship) -> Relationship:
    """Returns the relationship with its times in UTC. `ValidationError` if no database could keep it."""
    for name in ("id", "source_id", "target_id", "relation_type"):
        _check_text(getattr(relationship, name), f"a relationship's {name}")
    if isinstance(relationship.confidence, bool) or not _is_share(relationship.confidence):
        raise ValidationError(f"confidence is {quoted(relationship.confidence)}; it is a number from 0 to 1")
    start, end = (
        None if at is None else checked_time(at, "an interval") for at in (relationship.valid_from, relationship.valid_to)
    )
    if start and end and end < start:
        raise ValidationError(f"valid_to {end.isoformat()} is before valid_from {start.isoformat()}")
    return replace(relationship, created_at=checked_time(relationship.created_at, "created_at"), valid_from=start, valid_to=end)


def checked_time(value: object, name: str) -> datetime:
    """Returns an aware time in UTC; a naive one is taken as UTC."""
    if not isinstance(value, datetime):
        raise ValidationError(f"{name} must be a datetime, not {quoted(value)}")
    try:
        return as_utc(value)
    except ValueError as error:
        raise ValidationError(f"{name}: {error}") from error


def entity_row(entity: Entity, project: str) -> Row:
    """Returns what is kept of an entity of a project."""
    one = checked_entity(entity)
    properties = _as_json(one.properties)
    return {
        "key": key_of(project, one.id),
        "project": project,
        "id": one.id,
        "name": one.name,
        "folded": fold(one.name),
        "aliases": _other_names(one.properties),
        "entity_type": one.entity_type,
        "project_id": _stated(one.properties, "project_id"),
        "agent": _stated(one.properties, "agent"),
        "properties": properties,
        "created_at": to_micros(one.created_at),
    }


def relationship_row(relationship: Relationship, project: str) -> Row:
    """Returns what is kept of a relationship of a project."""
    one = checked_relationship(relationship)
    return {
        "key": key_of(project, one.id),
        "project": project,
        "id": one.id,
        "source_key": key_of(project, one.source_id),
        "target_key": key_of(project, one.target_id),
        "source_id": one.source_id,
        "target_id": one.target_id,
        "relation_type": one.relation_type,
        "properties": _as_json(one.properties),
        "confidence": round(float(one.confidence), DECIMALS),
        "created_at": to_micros(one.created_at),
        "valid_from": ALWAYS if one.valid_from is None else to_micros(one.valid_from),
        "valid_to": FOREVER if one.valid_to is None else to_micros(one.valid_to),
    }


def entity_from(row: Mapping[str, Any]) -> Entity:
    """Returns the entity of which a row is kept."""
    return Entity(
        id=row["id"],
        name=row["name"],
        entity_type=row["entity_type"],
        properties=json.loads(row["properties"]),
        created_at=from_micros(row["created_at"]),
    )


def relationship_from(row: Mapping[str, Any]) -> Relationship:
    """Returns the relationship of which a row is kept."""
    return Relationship(
        id=row["id"],
        source_id=row["source_id"],
        target_id=row["target_id"],
        relation_type=row["relation_type"],
        properties=json.loads(row["properties"]),
        confidence=row["confidence"],
        created_at=from_micros(row["created_at"]),
        valid_from=None if row["valid_from"] == ALWAYS else from_micros(row["valid_from"]),
        valid_to=None if row["valid_to"] == FOREVER else from_micros(row["valid_to"]),
    )


def _other_names(properties: Mapping[str, Any]) -> str:
    """Returns the aliases of an entity, and the ids that were merged into it, folded, a line each."""
    values = [*_texts(properties.get("aliases")), *_texts(properties.get("merged_ids"))]
    return "".join(sorted({listed(value) for value in values}))


def _texts(value: object) -> list[str]:
    found = value if isinstance(value, list | tuple) else [value]
    return [each for each in found if isinstance(each, str) and each.strip()]


def _stated(properties: Mapping[str, Any], name: str) -> str:
    value = properties.get(name)
    return value if isinstance(value, str) else ""


def _check_text(value: object, name: str) -> None:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME:
        raise ValidationError(f"{name} is a text of 1 to {LONGEST_NAME:,} characters, not {quoted(value)}")
    if fault := fault_in(value):
        raise ValidationError(f"{name} cannot be stored: {fault}")


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1


def _as_json(properties: Mapping[str, Any]) -> str:
    """Returns properties as JSON of ASCII, in the order of their names."""
    try:
        text = json.dumps(dict(properties), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"properties must hold what JSON can carry: {error}") from error
    if len(text) > LONGEST_PROPERTIES:
        raise ValidationError(f"properties have {len(text):,} characters as JSON; at most {LONGEST_PROPERTIES:,} are kept")
    return text
