"""Vectors beside those of passages: of the texts by which strategies are compared, and a second set, made beside the serving one."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from alma.errors import ConflictError, CorruptStoreError
from alma.protocols import Unembedded
from alma.storage.relational.applying import sealed_vector
from alma.storage.relational.logical import View
from alma.storage.relational.rows import TEXT, UNREADABLE, text_hash
from alma.storage.relational.session import Database, Seal, Session, check_whole, note_checksum
from alma.text import matched_text
from alma.types.identity import Fingerprint


def compared_texts(session: Session, seal: Seal) -> Iterator[tuple[int, str]]:
    """Yields the texts by which strategies are compared, each with its project."""
    for project, _ in list(session.all("projects")):
        for _, _, strategy in _named_strategies(View(session, project, seal)):
            yield project, matched_text(strategy)


def drop_unused(session: Session, seal: Seal) -> None:
    """Deletes the vectors that no passage has and no strategy is compared by."""
    compared = {(project, seal.hide(text_hash(text), place=TEXT)) for project, text in compared_texts(session, seal)}
    unused = [row for row, *text in session.all("vectors_unused") if tuple(text) not in compared]
    session.run_many("vector_delete", [{"of_row": row} for row in unused])


def owned_strategies(view: View, *, without: Collection[str] = ()) -> set[tuple[str, str]]:
    """Returns the strategies that outcomes of a project name, each with the owner of an outcome. `without` has ids of outcomes that do not count."""
    named = _named_strategies(view)
    return {(view.partition_key(partition)[1], strategy) for memory_id, partition, strategy in named if memory_id not in without}


def _named_strategies(view: View) -> Iterator[tuple[str, int, str]]:
    """Yields id and partition of each outcome that names a strategy, and this. One whose body is damaged has none; `verify` reports it."""
    for memory_id, partition, body in view.session.all("outcome_bodies", {"project": view.project}):
        with suppress(*UNREADABLE):
            opened = json.loads(view.seal.open(body, place="memory.body", row=(view.project, memory_id)))
            if strategy := str(opened.get("strategy_used", "")):
                yield memory_id, partition, strategy


SERVING = ("embedder", "embedder_number")
NEXT = ("next_embedder", "next_embedder_number")
LEFT_OVER_CHUNK = 5_000


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
        """Returns the set that was begun for this embedder before, or a new one; a set begun for another embedder is given up."""
        with database.transaction() as session:
            check_whole(session)
            serving, under_way = (_embedder(session, keys) for keys in (SERVING, NEXT))
            if under_way is not None and under_way[1] == fingerprint:
                return cls(database, seal, under_way[0], fingerprint)
            number = 1 + max(embedder[0] for embedder in (serving, under_way) if embedder is not None)
            _keep(session, NEXT, number, fingerprint)
        return cls(database, seal, number, fingerprint)

    def progress(self) -> tuple[int, int]:
        """Returns how many texts have their vector, and how many there are."""
        with self.database.snapshot() as session:
            ((made, texts),) = session.all("texts_made", {"embedder": self.number})
        return int(made), int(texts)

    def missing(self, *, after: int, limit: int) -> Sequence[Unembedded]:
        """At most `limit` passages whose text has no vector yet, ascending by row, those of a row above `after`. `CorruptStoreError` for a
        damaged text."""
        with self.database.reading() as session:
            given = {"after": after, "limit": limit, "embedder": self.number}
            found = list(session.all("texts_missing", given))
        return [Unembedded(row, project, self._text(row, project, *text)) for row, project, *text in found]

    def _text(self, row: int, project: int, memory: int, position: int, sealed: bytes, digest: bytes) -> str:
        """The text of a passage. `CorruptStoreError` if it is not the one that was stored: its vector would be of no use."""
        text = self.seal.open(sealed, place="passage.text", row=(project, memory, position)).decode(errors="replace")
        if text_hash(text) != self.seal.reveal(digest, place=TEXT):
            raise CorruptStoreError(f"the text of passage {row} is damaged; see `alma verify`")
        return text

    def put(self, vectors: Mapping[Unembedded, bytes]) -> int:
        """Keeps the float16 vectors of passages, but of those that were purged meanwhile, and says how many texts are new.

        `ConflictError` if the set was given up.
        """
        with self.database.transaction() as session:
            there = dict(session.all("passage_hashes", {"rows": json.dumps([one.row for one in vectors])}))
            kept = (one for one in vectors if there.get(one.row) == self.seal.hide(text_hash(one.text), place=TEXT))
            return self._put(session, {(one.project, one.text): vectors[one] for one in kept})

    def _put(self, session: Session, vectors: Mapping[tuple[int, str], bytes]) -> int:
        self._check(session)
        rows = [
            {"project": project, "embedder": self.number}
            | sealed_vector(self.seal, project, text_hash(text), self.number, vector)
            for (project, text), vector in vectors.items()
        ]
        return session.run_many("next_vector_insert", rows)

    def compared(self) -> Sequence[tuple[int, str]]:
        """The texts by which strategies are compared, each with its project, that have no vector yet."""
        with self.database.reading() as session:
            return list(self._uncompared(session))

    def _uncompared(self, session: Session) -> Iterator[tuple[int, str]]:
        for project, text in sorted(set(compared_texts(session, self.seal))):
            digest = self.seal.hide(text_hash(text), place=TEXT)
            given = {"project": project, "text_hash": digest, "embedder": self.number}
            if next(session.all("vector_known", given), None) is None:
                yield project, text

    def put_compared(self, vectors: Mapping[tuple[int, str], bytes]) -> None:
        """Keeps the float16 vectors of such texts."""
        with self.database.transaction() as session:
            self._put(session, vectors)

    def switch(self) -> bool:
        """Makes this the embedder of the database, in one transaction; `False`, and nothing done, while any text lacks its vector."""
        with self.database.transaction() as session:
            self._check(session)
            given = {"after": 0, "limit": 1, "embedder": self.number}
            if any(True for _ in chain(session.all("texts_missing", given), self._uncompared(session))):
                return False
            _keep(session, SERVING, self.number, self.fingerprint)
            session.run_many("store_delete", [{"of_key": key} for key in NEXT])
            note_checksum(session)
            return True

    def _check(self, session: Session) -> None:
        check_whole(session)
        under_way = _embedder(session, NEXT)
        if under_way is None or under_way[0] != self.number:
            raise ConflictError(
                "another process re-embedded this store, or began to do so with another embedder, in the meantime"
            )


def drop_left_over(database: Database) -> int:
    """Deletes vectors that no embedder of the database made, a few thousand at a time, and says how many."""
    dropped, after = 0, 0
    while True:
        with database.transaction() as session:
            numbers = json.dumps([*dimensions_of(session)])
            given = {"after": after, "numbers": numbers, "limit": LEFT_OVER_CHUNK}
            rows = [row for (row,) in session.all("vector_left_over", given)]
            session.run_many("vector_delete", [{"of_row": row} for row in rows])
        if not rows:
            return dropped
        dropped, after = dropped + len(rows), rows[-1]


def dimensions_of(session: Session) -> dict[int, int]:
    """The lengths of vectors by the number of their embedder: the one that serves, then the one under way, if any."""
    found = (_embedder(session, keys) for keys in (SERVING, NEXT))
    return {number: fingerprint.dimension for number, fingerprint in filter(None, found)}


def _embedder(session: Session, keys: tuple[str, str]) -> tuple[int, Fingerprint] | None:
    values = dict(session.all("store_values"))
    if keys[0] not in values and keys[1] not in values:
        return None
    return int(values[keys[1]]), Fingerprint.model_validate_json(values[keys[0]])


def _keep(session: Session, keys: tuple[str, str], number: int, fingerprint: Fingerprint) -> None:
    values = zip(keys, (fingerprint.model_dump_json(), str(number)), strict=True)
    session.run_many("store_put", [{"key": key, "value": value} for key, value in values])
    note_checksum(session)
