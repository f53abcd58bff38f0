"""A graph in a database that speaks Cypher. All statements are in this file; texts of users are their parameters, never a part of them.

Entities are nodes `AlmaEntity`, relationships are edges `RELATES` between them with their type as a property, and the position of a projection is
a node `_Alma`. Types are texts of users: one that is a plain word of ASCII is a second label of its nodes, too, for those who look at the graph.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from alma.types.identity import to_micros
from alma_graph.backends.backend import PAGE, EntityFilter, GraphBackend, RelationshipFilter, check_ends
from alma_graph.backends.records import (
    ENTITY_COLUMNS,
    RELATIONSHIP_COLUMNS,
    Row,
    entity_from,
    entity_row,
    key_of,
    relationship_from,
    relationship_row,
)
from alma_graph.types import Entity, Relationship

_LABEL = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_OWN_LABELS = frozenset({"AlmaEntity"})

Values = Mapping[str, Any]
Statement = tuple[str, Values]
T = TypeVar("T")


class Transport(Protocol):
    """The way of statements to a database. Thread-safe. Errors of a driver leave it as errors of ALMA."""

    engine: str
    """The driver, or the library that is the database, with its version."""

    def read(self, statement: str, values: Values) -> list[Row]: ...

    def write(self, statements: Sequence[Statement]) -> None:
        """Runs statements in their order, in one transaction where the database has such."""
        ...

    def define(self, statements: Sequence[str]) -> None:
        """Runs statements that define tables, indexes or constraints, each on its own. What exists already is passed over."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """Peculiarities of a database: the statements that prepare it, the property that identifies a node or an edge, labels beside the first."""

    schema: tuple[str, ...] = ()
    key: str = "key"
    has_labels: bool = True


class CypherBackend(GraphBackend):
    """A graph in a database that speaks Cypher, reached by a transport, in a dialect."""

    def __init__(self, transport: Transport, dialect: Dialect, *, project_id: str = "") -> None:
        super().__init__(project_id)
        self._transport, self._dialect = transport, dialect
        transport.define(dialect.schema)

    @property
    def engine(self) -> str:
        """The driver, or the library that is the database, with its version."""
        return self._transport.engine

    def write(self, entities: Sequence[Entity] = (), relationships: Sequence[Relationship] = ()) -> None:
        nodes = _last_of_each(entity_row(each, self.project_id) for each in entities)
        edges = _last_of_each(relationship_row(each, self.project_id) for each in relationships)
        new = {each.id for each in entities}
        ends = dict.fromkeys(end for each in relationships for end in (each.source_id, each.target_id) if end not in new)
        check_ends(relationships, new | self._known(list(ends)))
        statements = [*self._write_nodes(nodes), *self._write_edges(edges)]
        if statements:
            self._transport.write(statements)

    def delete(self, entities: Sequence[str] = (), relationships: Sequence[str] = ()) -> None:
        edges = ("MATCH ()-[r:RELATES]->() WHERE r.key IN $keys DELETE r", relationships)
        nodes = (f"UNWIND $keys AS sought MATCH (n:AlmaEntity {{{self._dialect.key}: sought}}) DETACH DELETE n", entities)
        statements = [(text, {"keys": self._keys(page)}) for text, ids in (edges, nodes) for page in _pages(ids)]
        if statements:
            self._transport.write(statements)

    def select_entities(self, wanted: EntityFilter) -> list[Entity]:
        if wanted.ids is not None and len(wanted.ids) > PAGE:
            found = [each for page in _pages(wanted.ids) for each in self.select_entities(replace(wanted, ids=page))]
            return sorted(found, key=lambda each: each.id)[: wanted.limit]
        values: dict[str, Any] = {"project": self.project_id}
        conditions = ["n.project = $project"]
        start = "MATCH (n:AlmaEntity)"
        if wanted.ids is not None:
            start = f"UNWIND $keys AS sought MATCH (n:AlmaEntity {{{self._dialect.key}: sought}})"
            values["keys"] = self._keys(wanted.ids)
        if wanted.containing is not None:
            words = {f"word{number}": word for number, word in enumerate(wanted.containing)}
            values |= words
            either = " OR ".join(f"n.folded CONTAINS ${name} OR n.aliases CONTAINS ${name}" for name in words)
            conditions.append(f"({either or 'false'})")
        if wanted.after is not None:
            values["after"] = key_of(self.project_id, wanted.after)
            conditions.append("n.key > $after")
        named = {"folded": wanted.name, "entity_type": wanted.entity_type, "project_id": wanted.project_id, "agent": wanted.agent}
        for column, value in named.items():
            if value is not None:
                values[f"of_{column}"] = value
                conditions.append(f"n.{column} = $of_{column}")
        statement = (
            f"{start} WHERE {' AND '.join(conditions)} RETURN {_columns('n', ENTITY_COLUMNS)} ORDER BY key LIMIT {wanted.limit:d}"
        )
        return [entity_from(row) for row in self._transport.read(statement, values)]

    def select_relationships(self, wanted: RelationshipFilter) -> list[Relationship]:
        values: dict[str, Any] = {"project": self.project_id}
        conditions = ["r.project = $project"]
        if wanted.ids is not None:
            values["ids"] = self._keys(wanted.ids)
            conditions.append("r.key IN $ids")
        if wanted.target is not None:
            values["target"] = wanted.target
            conditions.append("r.target_id = $target")
        if wanted.types is not None:
            values["types"] = list(wanted.types)
            conditions.append("r.relation_type IN $types")
        if wanted.as_of is not None:
            values["at"] = to_micros(wanted.as_of)
            conditions += ["r.valid_from <= $at", "r.valid_to > $at"]
        if wanted.after is not None:
            values["after"] = key_of(self.project_id, wanted.after)
            conditions.append("r.key > $after")
        rest = (
            f"WHERE {' AND '.join(conditions)} RETURN {_columns('r', RELATIONSHIP_COLUMNS)} ORDER BY key LIMIT {wanted.limit:d}"
        )
        if wanted.entities is None:
            rows = self._transport.read(f"MATCH ()-[r:RELATES]->() {rest}", values)
        else:
            rows = [row for page in _pages(wanted.entities) for row in self._around(page, wanted.direction, rest, values)]
            rows = sorted({row["key"]: row for row in rows}.values(), key=lambda row: row["key"])[: wanted.limit]
        return [relationship_from(row) for row in rows]

    def clear(self) -> None:
        values = {"project": self.project_id}
        some = f"MATCH (n:AlmaEntity) WHERE n.project = $project RETURN n.id AS id LIMIT {PAGE}"
        while rows := self._transport.read(some, values):
            self.delete([row["id"] for row in rows])
        self._transport.write([("MATCH (p:`_Alma`) WHERE p.project = $project DELETE p", values)])

    def read_position(self) -> int:
        rows = self._transport.read(
            "MATCH (p:`_Alma`) WHERE p.project = $project RETURN p.seq AS seq", {"project": self.project_id}
        )
        return rows[0]["seq"] if rows else 0

    def write_position(self, position: int) -> None:
        values = {"project": self.project_id, "seq": position}
        self._transport.write([("MERGE (p:`_Alma` {project: $project}) SET p.seq = $seq", values)])

    def close(self) -> None:
        self._transport.close()

    def _known(self, ids: Sequence[str]) -> set[str]:
        statement = f"UNWIND $keys AS sought MATCH (n:AlmaEntity {{{self._dialect.key}: sought}}) RETURN n.id AS id"
        return {row["id"] for page in _pages(ids) for row in self._transport.read(statement, {"keys": self._keys(page)})}

    def _write_nodes(self, nodes: Sequence[Row]) -> Iterator[Statement]:
        changes = f"MERGE (n:AlmaEntity {{{self._dialect.key}: row.key}}) SET {self._assigned('n', ENTITY_COLUMNS)}"
        for page in _pages(nodes):
            yield f"UNWIND $rows AS row {changes}", {"rows": page}
        if self._dialect.has_labels:
            yield from _write_labels(nodes, self._dialect.key)

    def _write_edges(self, edges: Sequence[Row]) -> Iterator[Statement]:
        key = self._dialect.key
        ends = f"MATCH (a:AlmaEntity {{{key}: row.source_key}}) MATCH (b:AlmaEntity {{{key}: row.target_key}})"
        changes = f"MERGE (a)-[r:RELATES {{{key}: row.key}}]->(b) SET {self._assigned('r', RELATIONSHIP_COLUMNS)}"
        for page in _pages(edges):
            if moved := self._moved(page):
                yield "MATCH ()-[r:RELATES]->() WHERE r.key IN $keys DELETE r", {"keys": moved}
            yield f"UNWIND $rows AS row {ends} {changes}", {"rows": page}

    def _moved(self, edges: Sequence[Row]) -> list[str]:
        """Returns the keys of edges that stand between other nodes: MERGE would make second ones."""
        statement = "MATCH ()-[r:RELATES]->() WHERE r.key IN $keys RETURN r.key AS key, r.source_id AS source_id, r.target_id AS target_id"
        found = self._transport.read(statement, {"keys": [edge["key"] for edge in edges]})
        ends = {edge["key"]: (edge["source_id"], edge["target_id"]) for edge in edges}
        return [row["key"] for row in found if ends[row["key"]] != (row["source_id"], row["target_id"])]

    def _around(self, ids: Sequence[str], direction: str, rest: str, values: Values) -> list[Row]:
        node = f"(n:AlmaEntity {{{self._dialect.key}: sought}})"
        patterns = {"out": f"{node}-[r:RELATES]->()", "in": f"{node}<-[r:RELATES]-()"}
        chosen = patterns.values() if direction == "both" else [patterns[direction]]
        keys = {"keys": self._keys(ids)}
        return [
            row
            for each in chosen
            for row in self._transport.read(f"UNWIND $keys AS sought MATCH {each} {rest}", {**values, **keys})
        ]

    def _assigned(self, name: str, columns: Mapping[str, str]) -> str:
        own = () if self._dialect.key == "key" else ("key",)
        return ", ".join(f"{name}.{column} = row.{column}" for column in (*own, *columns))

    def _keys(self, ids: Sequence[str]) -> list[str]:
        return [key_of(self.project_id, each) for each in ids]


def label_of(entity_type: str) -> str | None:
    """Returns the label of a type that is a plain word of ASCII: "pull_request" is `PullRequest`. Of any other there is none."""
    if len(entity_type) > 60 or not _LABEL.fullmatch(entity_type):
        return None
    label = "".join(part.capitalize() for part in entity_type.split("_"))
    return None if label in _OWN_LABELS else label


def _write_labels(nodes: Sequence[Row], key: str) -> Iterator[Statement]:
    by_label: dict[str, list[str]] = {}
    for node in nodes:
        if label := label_of(node["entity_type"]):
            by_label.setdefault(label, []).append(node["key"])
    for label, keys in sorted(by_label.items()):
        for page in _pages(keys):
            yield f"UNWIND $keys AS sought MATCH (n:AlmaEntity {{{key}: sought}}) SET n:`{label}`", {"keys": page}


def _last_of_each(rows: Iterable[Row]) -> list[Row]:
    return list({row["key"]: row for row in rows}.values())


def _columns(name: str, columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name}.{column} AS {column}" for column in ("key", *columns))


def _pages(values: Sequence[T]) -> Iterator[list[T]]:
    return (list(values[start : start + PAGE]) for start in range(0, len(values), PAGE))
