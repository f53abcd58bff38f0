"""A graph in SQLite: in memory, or in a file of its own."""

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any

from alma.errors import StorageError
from alma.types.identity import to_micros
from alma_graph.backends.backend import EntityFilter, GraphBackend, RelationshipFilter, check_ends
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

SECONDS_FOR_A_LOCK = 30

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entities (
    key TEXT PRIMARY KEY, project TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL, aliases TEXT NOT NULL,
    entity_type TEXT NOT NULL, project_id TEXT NOT NULL, agent TEXT NOT NULL, properties TEXT NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entities_by_name ON entities (project, folded);
CREATE TABLE IF NOT EXISTS relationships (
    key TEXT PRIMARY KEY, project TEXT NOT NULL, id TEXT NOT NULL,
    source_key TEXT NOT NULL REFERENCES entities ON DELETE CASCADE, target_key TEXT NOT NULL REFERENCES entities ON DELETE CASCADE,
    source_id TEXT NOT NULL, target_id TEXT NOT NULL, relation_type TEXT NOT NULL, properties TEXT NOT NULL, confidence REAL NOT NULL,
    created_at INTEGER NOT NULL, valid_from INTEGER NOT NULL, valid_to INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS relationships_by_source ON relationships (source_key);
CREATE INDEX IF NOT EXISTS relationships_by_target ON relationships (target_key);
CREATE TABLE IF NOT EXISTS positions (project TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
"""
_ENTITY = ("key", *ENTITY_COLUMNS)
_RELATIONSHIP = ("key", "source_key", "target_key", *RELATIONSHIP_COLUMNS)


class SQLiteGraphBackend(GraphBackend):
    """A graph in a SQLite file, which several processes may share; in memory if there is no `database_path`."""

    def __init__(self, database_path: str | PathLike[str] | None = None, *, project_id: str = "") -> None:
        super().__init__(project_id)
        self._lock = threading.RLock()
        path = ":memory:" if database_path is None else fspath(database_path)
        with _errors():
            self._connection = sqlite3.connect(path, SECONDS_FOR_A_LOCK, isolation_level=None, check_same_thread=False)
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.executescript(_SCHEMA)

    def write(self, entities: Sequence[Entity] = (), relationships: Sequence[Relationship] = ()) -> None:
        nodes = [entity_row(each, self.project_id) for each in entities]
        edges = [relationship_row(each, self.project_id) for each in relationships]
        with self._transaction() as connection:
            connection.executemany(_upsert("entities", _ENTITY), nodes)
            ends = self._keys([end for each in relationships for end in (each.source_id, each.target_id)])
            known = self._read("SELECT id FROM entities WHERE key IN (SELECT value FROM json_each(?))", [ends])
            check_ends(relationships, {row["id"] for row in known})
            connection.executemany(_upsert("relationships", _RELATIONSHIP), edges)

    def delete(self, entities: Sequence[str] = (), relationships: Sequence[str] = ()) -> None:
        with self._transaction() as connection:
            for table, ids in (("relationships", relationships), ("entities", entities)):
                connection.execute(f"DELETE FROM {table} WHERE key IN (SELECT value FROM json_each(?))", [self._keys(ids)])

    def select_entities(self, wanted: EntityFilter) -> list[Entity]:
        conditions: list[tuple[Any, ...]] = [("project = ?", self.project_id)]
        if wanted.ids is not None:  # a key has its project in it
            conditions = [("key IN (SELECT value FROM json_each(?))", self._keys(wanted.ids))]
        if wanted.containing is not None:
            each = " OR ".join(["instr(folded, ?) OR instr(aliases, ?)"] * len(wanted.containing))
            conditions.append((f"({each or 'FALSE'})", *(word for word in wanted.containing for _ in range(2))))
        if wanted.after is not None:
            conditions.append(("key > ?", key_of(self.project_id, wanted.after)))
        named = {"folded": wanted.name, "entity_type": wanted.entity_type, "project_id": wanted.project_id, "agent": wanted.agent}
        conditions += [(f"{column} = ?", value) for column, value in named.items() if value is not None]
        return [entity_from(row) for row in self._select("entities", conditions, wanted.limit)]

    def select_relationships(self, wanted: RelationshipFilter) -> list[Relationship]:
        conditions: list[tuple[Any, ...]] = [("project = ?", self.project_id)]
        if wanted.ids is not None:
            conditions.append(("key IN (SELECT value FROM json_each(?))", self._keys(wanted.ids)))
        if wanted.target is not None:
            conditions.append(("target_key = ?", key_of(self.project_id, wanted.target)))
        if wanted.types is not None:
            conditions.append(("relation_type IN (SELECT value FROM json_each(?))", _list(wanted.types)))
        if wanted.as_of is not None:
            at = to_micros(wanted.as_of)
            conditions += [("valid_from <= ?", at), ("valid_to > ?", at)]
        if wanted.after is not None:
            conditions.append(("key > ?", key_of(self.project_id, wanted.after)))
        if wanted.entities is not None:
            keys = self._keys(wanted.entities)
            ends = {"out": ["source_key"], "in": ["target_key"], "both": ["source_key", "target_key"]}[wanted.direction]
            either = " OR ".join(f"{end} IN (SELECT value FROM json_each(?))" for end in ends)
            conditions.append((f"({either})", *(keys for _ in ends)))
        order = (
            "key" if wanted.entities is None else "+key"
        )  # the sign keeps SQLite from walking through all in the order of the keys
        return [relationship_from(row) for row in self._select("relationships", conditions, wanted.limit, order)]

    def clear(self) -> None:
        with self._transaction() as connection:
            for table in ("relationships", "entities", "positions"):
                connection.execute(f"DELETE FROM {table} WHERE project = ?", [self.project_id])

    def read_position(self) -> int:
        rows = self._read("SELECT position FROM positions WHERE project = ?", [self.project_id])
        return rows[0]["position"] if rows else 0

    def write_position(self, position: int) -> None:
        with self._transaction() as connection:
            row = {"project": self.project_id, "position": position}
            connection.execute(_upsert("positions", ["project", "position"]), row)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _select(self, table: str, conditions: Sequence[tuple[Any, ...]], limit: int, order: str = "key") -> list[Row]:
        where = " AND ".join(each[0] for each in conditions)
        return self._read(
            f"SELECT * FROM {table} WHERE {where} ORDER BY {order} LIMIT ?",
            [*(value for each in conditions for value in each[1:]), limit],
        )

    def _read(self, statement: str, values: Sequence[Any]) -> list[Row]:
        with self._lock, _errors():
            return [dict(row) for row in self._connection.execute(statement, values)]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def _keys(self, ids: Sequence[str]) -> str:
        return _list([key_of(self.project_id, each) for each in ids])


def _upsert(table: str, columns: Sequence[str]) -> str:
    values = ", ".join(f":{column}" for column in columns)
    changed = ", ".join(f"{column} = excluded.{column}" for column in columns[1:])
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values}) ON CONFLICT ({columns[0]}) DO UPDATE SET {changed}"


def _list(values: Sequence[str]) -> str:
    return json.dumps(list(values))


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeEncodeError) as error:
        raise StorageError(f"the graph in SQLite: {error}") from error
