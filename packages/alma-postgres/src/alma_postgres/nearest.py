"""The vectors of a project in a table of pgvector, beside the store's own tables. A cache, as every `alma.protocols.CandidateSearch`."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.errors import StorageError
from alma.protocols import VectorChanges, VectorsRequest
from alma_postgres.database import PostgresDatabase
from alma_postgres.session import PostgresSession
from alma_postgres.vector_index import VectorIndex

UPTO = "nearest_upto"
"""The table of watermarks."""
BATCH = 500
MOST_NUMBERS = 4_000
"""The index takes no longer vectors."""
OLDEST = (0, 8)
"""From this version on, pgvector goes on searching until enough entries pass a filter."""
MOST_AT_ONCE = 50
"""Partitions of a statement."""

_EXTENSION = """
    SELECT e.extversion, quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'vector'
"""


def table_name(dimension: int) -> str:
    """The table for vectors of a length."""
    return f"nearest_{dimension}"


def vector_tables(schema: str, dimension: int, extension: str) -> Iterator[str]:
    """The statements that make the tables, without the index of vectors. An entry leaves with its passage."""
    table = f"{schema}.{table_name(dimension)}"
    yield (
        f'CREATE TABLE {table} (passage BIGINT PRIMARY KEY REFERENCES {schema}.passage ("row") ON DELETE CASCADE, '
        f"project BIGINT NOT NULL, memory BIGINT NOT NULL, partition BIGINT NOT NULL, vector {extension}.halfvec({dimension}) NOT NULL)"
    )
    yield f"CREATE INDEX {table_name(dimension)}_place ON {table} (project, partition)"
    yield (
        f'CREATE TABLE IF NOT EXISTS {schema}.{UPTO} (project BIGINT PRIMARY KEY REFERENCES {schema}.project ("row") ON DELETE CASCADE, '
        "watermark TEXT NOT NULL)"
    )


def nearest_of(database: PostgresDatabase, request: VectorsRequest) -> "NearestTable | None":
    """The search of a project. `None` without pgvector 0.8, for longer vectors, and where the tables are missing and may not be made."""
    dimension = request.fingerprint.dimension
    with database.reading() as session:
        found = session.execute(_EXTENSION, {}).fetchone()
        if found is None or _version(str(found[0])) < OLDEST or dimension > MOST_NUMBERS:
            return None
        extension, is_there = str(found[1]), _is_there(session, database.schema, dimension)
    if not is_there and not _make(database, dimension, extension):
        return None
    index = VectorIndex(database, f"{database.schema}.{table_name(dimension)}", extension, dimension)
    index.fit(request.project)
    return NearestTable(database, request, index)


def _make(database: PostgresDatabase, dimension: int, extension: str) -> bool:
    try:
        with database.transaction() as session:
            if not _is_there(session, database.schema, dimension):
                _drop_others(session, database.schema)
                for statement in vector_tables(database.schema, dimension, extension):
                    session.execute(statement, {})
    except StorageError:  # the role may not make tables
        return False
    return True


def _drop_others(session: PostgresSession, schema: str) -> None:
    """Deletes the tables of former embedders."""
    text = "SELECT tablename FROM pg_tables WHERE schemaname = %(schema)s AND tablename ~ '^nearest_[0-9]+$'"
    for (name,) in session.execute(text, {"schema": schema}).fetchall():
        session.execute(f"DROP TABLE {schema}.{name}", {})


def _is_there(session: PostgresSession, schema: str, dimension: int) -> bool:
    found = session.execute("SELECT to_regclass(%(table)s) IS NOT NULL", {"table": f"{schema}.{table_name(dimension)}"})
    return bool(found.fetchone()[0])  # type: ignore[index] # one row, always


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


@dataclass(frozen=True, slots=True)
class NearestTable:
    """Implements `alma.protocols.CandidateSearch`: a row for each live passage."""

    database: PostgresDatabase
    request: VectorsRequest
    index: VectorIndex

    @property
    def recall(self) -> float:
        """At least nine of ten; of 20,000 real sentences more than .99 by HNSW."""
        return 0.9

    @property
    def upto(self) -> int:
        """Newest journal `seq` held: at present, also where this thread reads an older moment."""
        with self.database.snapshot_apart() as session:
            watermark = self._watermark(session)
        return self.request.upto_of(watermark) or 0

    def apply(self, changes: VectorChanges, /) -> None:
        """Takes changes in journal order, in one transaction. A passage that is gone meanwhile is left out."""
        mark = self.request.watermark(changes.upto)
        with self._writing() as session:
            held = self.request.upto_of(self._watermark(session))
            if held is not None and changes.upto <= held:
                return
            if held is None:
                self._delete(session)
            gone = {"passages": changes.removed.tolist()}
            session.execute(f"DELETE FROM {self._table} WHERE passage = ANY (%(passages)s::bigint[])", gone)
            for start in range(0, len(changes.passages), BATCH):
                self._insert(session, changes, slice(start, start + BATCH))
            session.execute(
                f"INSERT INTO {self._schema}.{UPTO} (project, watermark) VALUES ({self._project}, %(mark)s) "
                "ON CONFLICT (project) DO UPDATE SET watermark = excluded.watermark",
                {"name": self.request.project, "mark": mark},
            )
        if self.index.grows:
            self.index.fit(self.request.project)

    def search(self, query: NDArray[np.float32], /, *, partitions: Sequence[int], limit: int) -> NDArray[np.int64]:
        """Returns the memories of the `limit` nearest passages of each partition, ascending."""
        if not partitions or limit < 1:
            return np.empty(0, dtype=np.int64)
        wanted = list(dict.fromkeys(map(int, partitions)))
        given = {"query": _written(np.asarray(query, dtype=np.float32)), "limit": int(limit)}
        with self.database.snapshot_apart() as session:  # a moment that this thread reads may be older than the last changes
            if self.request.upto_of(self._watermark(session)) is None:
                return np.empty(0, dtype=np.int64)
            self.index.set_for_search(session, limit)
            project = self._row(session)
            found = [
                memory
                for start in range(0, len(wanted), MOST_AT_ONCE)
                for (memory,) in session.execute(self._nearest(project, wanted[start : start + MOST_AT_ONCE]), given).fetchall()
            ]
        return np.unique(np.array(found, dtype=np.int64))

    def clear(self) -> None:
        """Deletes all rows of the project."""
        with self._writing() as session:
            self._delete(session)

    def close(self) -> None:
        """The connections are the store's."""

    @property
    def _schema(self) -> str:
        return self.database.schema

    @property
    def _table(self) -> str:
        return self.index.table

    @property
    def _project(self) -> str:
        return f'(SELECT "row" FROM {self._schema}.project WHERE name = %(name)s)'

    def _writing(self) -> AbstractContextManager[PostgresSession]:
        return self.database.transaction(f"{self.request.project}/nearest")

    def _watermark(self, session: PostgresSession) -> str | None:
        text = f"SELECT watermark FROM {self._schema}.{UPTO} WHERE project = {self._project}"
        found = session.execute(text, {"name": self.request.project}).fetchone()
        return None if found is None else str(found[0])

    def _row(self, session: PostgresSession) -> int:
        found = session.execute(f"SELECT {self._project}", {"name": self.request.project}).fetchone()
        return int(found[0])  # type: ignore[index] # there is a watermark, so there is the project

    def _nearest(self, project: int, partitions: Sequence[int]) -> str:
        """The nearest of each partition. With numbers in place of parameters the planner knows which partitions are small, and compares all there."""
        return " UNION ALL ".join(
            f"(SELECT memory FROM {self._table} WHERE project = {project:d} AND partition = {partition:d} "
            f"ORDER BY vector OPERATOR({self.index.extension}.<#>) %(query)s::{self.index.extension}.halfvec LIMIT %(limit)s)"
            for partition in partitions
        )

    def _delete(self, session: PostgresSession) -> None:
        for table in (self._table, f"{self._schema}.{UPTO}"):
            session.execute(f"DELETE FROM {table} WHERE project = {self._project}", {"name": self.request.project})

    def _insert(self, session: PostgresSession, changes: VectorChanges, places: slice) -> None:
        session.execute(
            f"INSERT INTO {self._table} (passage, project, memory, partition, vector) "
            f'SELECT held."row", held.project, given.memory, given.partition, given.vector::{self.index.extension}.halfvec '
            "FROM unnest(%(passages)s::bigint[], %(memories)s::bigint[], %(partitions)s::bigint[], %(vectors)s::text[]) "
            "AS given (passage, memory, partition, vector) "
            f'JOIN {self._schema}.passage AS held ON held."row" = given.passage AND held.is_live = 1 '
            f"WHERE held.project = {self._project} AND given.passage <> ALL (%(removed)s::bigint[]) "
            "ON CONFLICT (passage) DO UPDATE SET memory = excluded.memory, partition = excluded.partition, vector = excluded.vector",
            {
                "name": self.request.project,
                "passages": changes.passages[places].tolist(),
                "memories": changes.memories[places].tolist(),
                "partitions": changes.partitions[places].tolist(),
                "vectors": [_written(vector) for vector in changes.vectors[places].astype(np.float32)],
                "removed": changes.removed.tolist(),
            },
        )


def _written(vector: NDArray[np.float32]) -> str:
    return f"[{','.join(map(repr, vector.tolist()))}]"
