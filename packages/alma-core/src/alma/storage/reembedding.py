"""A second set of vectors, made beside the one that serves, and the switch from one to the other."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from alma.errors import ConflictError, CorruptStoreError
from alma.protocols import Unembedded
from alma.storage.database import Database
from alma.storage.evidence import strategies
from alma.storage.rows import text_hash, vector_checksum
from alma.storage.seal import Seal
from alma.storage.store_values import check_whole, note_checksum
from alma.types.embedding import Fingerprint

SERVING = ("embedder", "embedder_number")
NEXT = ("next_embedder", "next_embedder_number")
LEFT_OVER_CHUNK = 5_000

_WITHOUT = """
    FROM passage WHERE text_hash IS NOT NULL AND row > :after AND NOT EXISTS (
        SELECT 1 FROM vector WHERE vector.project = passage.project AND vector.text_hash = passage.text_hash AND embedder = :embedder
    )"""
_MISSING = f"SELECT row, project, text, text_hash {_WITHOUT} ORDER BY row LIMIT :limit"
_ANY_MISSING = f"SELECT EXISTS (SELECT 1 {_WITHOUT})"
_TEXTS = "SELECT count(*) FROM (SELECT DISTINCT project, text_hash FROM passage WHERE text_hash IS NOT NULL)"
_MADE = """
    SELECT count(*) FROM (SELECT DISTINCT project, text_hash FROM passage WHERE text_hash IS NOT NULL) AS text WHERE EXISTS (
        SELECT 1 FROM vector WHERE vector.project = text.project AND vector.text_hash = text.text_hash AND embedder = ?
    )"""
_PUT = """
    INSERT OR IGNORE INTO vector (project, text_hash, embedder, vector, checksum)
    SELECT project, text_hash, :embedder, :vector, :checksum FROM passage WHERE row = :row AND text_hash = :text_hash"""
_HAS_VECTOR = "SELECT 1 FROM vector WHERE project = :project AND text_hash = :text_hash AND embedder = :embedder"
_PUT_COMPARED = """
    INSERT OR IGNORE INTO vector (project, text_hash, embedder, vector, checksum)
    VALUES (:project, :text_hash, :embedder, :vector, :checksum)"""
_LEFT_OVER = "SELECT row FROM vector WHERE row > ? AND embedder NOT IN (SELECT value FROM json_each(?)) ORDER BY row LIMIT ?"


@dataclass(frozen=True, slots=True)
class NextVectors:
    """The vectors of the embedder that a database will have next. They are kept in the database, so that who was interrupted goes on.

    Archived passages are counted too, for they may come back. Two processes may make vectors for the same embedder at once.
    """

    database: Database
    seal: Seal
    number: int
    fingerprint: Fingerprint

    @classmethod
    def begin(cls, database: Database, seal: Seal, fingerprint: Fingerprint) -> "NextVectors":
        """What was begun for this embedder before, or else a new set; one begun for another embedder is given up."""
        with database.transaction() as connection:
            check_whole(connection)
            serving, under_way = (_embedder(connection, keys) for keys in (SERVING, NEXT))
            if under_way is not None and under_way[1] == fingerprint:
                return cls(database, seal, under_way[0], fingerprint)
            number = 1 + max(embedder[0] for embedder in (serving, under_way) if embedder is not None)
            _keep(connection, NEXT, number, fingerprint)
        return cls(database, seal, number, fingerprint)

    def progress(self) -> tuple[int, int]:
        """How many texts have their vector, and how many there are."""
        with self.database.snapshot() as connection:
            return (
                int(connection.execute(_MADE, (self.number,)).fetchone()[0]),
                int(connection.execute(_TEXTS).fetchone()[0]),
            )

    def missing(self, *, after: int, limit: int) -> Sequence[Unembedded]:
        """At most `limit` passages whose text has no vector yet, ascending by row, those of a row above `after`. `CorruptStoreError` for a
        damaged text."""
        with self.database.reading() as connection:
            given = {"after": after, "limit": limit, "embedder": self.number}
            found = connection.execute(_MISSING, given).fetchall()
        return [Unembedded(row, project, self._text(row, sealed, digest)) for row, project, sealed, digest in found]

    def _text(self, row: int, sealed: bytes, digest: bytes) -> str:
        """The text of a passage. `CorruptStoreError` if it is not the one that was stored: its vector would be of no use."""
        text = self.seal.open(sealed, place="passage.text").decode(errors="replace")
        if text_hash(text) != digest:
            raise CorruptStoreError(f"the text of passage {row} is damaged; see `alma verify`")
        return text

    def put(self, vectors: Mapping[Unembedded, bytes]) -> int:
        """Keeps the float16 vectors of passages, but of those that were purged meanwhile, and says how many texts are new.

        `ConflictError` if the set was given up.
        """
        rows = [
            {
                "row": passage.row,
                "text_hash": (digest := text_hash(passage.text)),
                "embedder": self.number,
                "vector": self.seal.seal(vector, place="vector.vector"),
                "checksum": vector_checksum(digest, vector),
            }
            for passage, vector in vectors.items()
        ]
        with self.database.transaction() as connection:
            self._check(connection)
            return connection.executemany(_PUT, rows).rowcount

    def compared(self) -> Sequence[tuple[int, str]]:
        """The texts by which strategies are compared, each with its project, that have no vector yet."""
        with self.database.reading() as connection:
            return list(self._uncompared(connection))

    def _uncompared(self, connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
        for project, text in sorted(set(strategies(connection, self.seal))):
            given = {"project": project, "text_hash": text_hash(text), "embedder": self.number}
            if connection.execute(_HAS_VECTOR, given).fetchone() is None:
                yield project, text

    def put_compared(self, vectors: Mapping[tuple[int, str], bytes]) -> None:
        """Keeps the float16 vectors of such texts."""
        rows = [
            {
                "project": project,
                "text_hash": (digest := text_hash(text)),
                "embedder": self.number,
                "vector": self.seal.seal(vector, place="vector.vector"),
                "checksum": vector_checksum(digest, vector),
            }
            for (project, text), vector in vectors.items()
        ]
        with self.database.transaction() as connection:
            self._check(connection)
            connection.executemany(_PUT_COMPARED, rows)

    def switch(self) -> bool:
        """Makes this the embedder of the database, in one transaction; `False`, and nothing done, while any text lacks its vector."""
        with self.database.transaction() as connection:
            self._check(connection)
            if connection.execute(_ANY_MISSING, {"after": 0, "embedder": self.number}).fetchone()[0] or any(
                True for _ in self._uncompared(connection)
            ):
                return False
            _keep(connection, SERVING, self.number, self.fingerprint)
            connection.executemany("DELETE FROM store WHERE key = ?", [(key,) for key in NEXT])
            note_checksum(connection)
            return True

    def _check(self, connection: sqlite3.Connection) -> None:
        check_whole(connection)
        under_way = _embedder(connection, NEXT)
        if under_way is None or under_way[0] != self.number:
            raise ConflictError("somebody else re-embedded this store, or began to do so with another embedder, in the meantime")


def drop_left_over(database: Database) -> int:
    """Deletes vectors that no embedder of the database made, a few thousand at a time, and says how many."""
    dropped, after = 0, 0
    while True:
        with database.transaction() as connection:
            numbers = json.dumps([*dimensions_of(connection)])
            rows = connection.execute(_LEFT_OVER, (after, numbers, LEFT_OVER_CHUNK)).fetchall()
            connection.executemany("DELETE FROM vector WHERE row = ?", rows)
        if not rows:
            return dropped
        dropped, after = dropped + len(rows), rows[-1][0]


def dimensions_of(connection: sqlite3.Connection) -> dict[int, int]:
    """The lengths of vectors by the number of their embedder: the one that serves, then the one under way, if any."""
    found = (_embedder(connection, keys) for keys in (SERVING, NEXT))
    return {number: fingerprint.dimension for number, fingerprint in filter(None, found)}


def _embedder(connection: sqlite3.Connection, keys: tuple[str, str]) -> tuple[int, Fingerprint] | None:
    values = dict(connection.execute("SELECT key, value FROM store WHERE key IN (?, ?)", keys))
    if not values:
        return None
    return int(values[keys[1]]), Fingerprint.model_validate_json(values[keys[0]])


def _keep(connection: sqlite3.Connection, keys: tuple[str, str], number: int, fingerprint: Fingerprint) -> None:
    values = zip(keys, (fingerprint.model_dump_json(), str(number)), strict=True)
    connection.executemany(
        "INSERT INTO store (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", values
    )
    note_checksum(connection)
