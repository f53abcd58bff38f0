"""One project of a store: what the use cases read and write."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma.errors import CorruptStoreError, EmbedderMismatchError
from alma.journal import GENESIS, entombed
from alma.protocols import (
    Candidate,
    CommonWords,
    DayCount,
    Entry,
    Erased,
    JournalEntry,
    PartitionCount,
    PartitionDay,
    Sizes,
    StoredRow,
    TextLists,
    UsageTotals,
    VectorChanges,
)
from alma.storage import compiled, fulltext, insight, readback
from alma.storage.database import Database
from alma.storage.evidence import EvidenceReader
from alma.storage.lists import ScopedWords
from alma.storage.logical import View, read_rows
from alma.storage.lookups import Lookups
from alma.storage.partitions import Partitions
from alma.storage.seal import Seal
from alma.storage.traces import traces
from alma.storage.transfer import Snapshot, listed
from alma.storage.words import KnownWords
from alma.storage.writing import Write
from alma.types.identity import from_micros
from alma.types.partition import Partition
from alma.types.passages import Passage

CHUNK = 4096

NOTHING = TextLists(
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.float32),
    0,
    0.0,
    np.empty(0, dtype=np.int32),
    np.empty(0, dtype=np.float32),
    (),
    (),
)

ChangeRow = tuple[int, int, int, int, int, bytes, int, bytes | None]
"""Seq, passage, memory, partition, is_own, content hash, is_live, vector."""


class _NothingWrittenError(Exception):
    """Rolls back a write that would leave a project without anything in it."""


class SQLProject(Lookups):
    """A project's tables. It exists in the file from its first write on; until then it reads as empty."""

    def __init__(self, database: Database, name: str, *, dimension: int, embedder: int, seal: Seal) -> None:
        super().__init__(name, self._reading, self._holding, {})
        self._database = database
        self._embedder = embedder
        self._dimension = dimension
        self._seal = seal
        self._row: int | None = None
        self._known = Partitions({}, {}, 0)
        self.learned = EvidenceReader(self._viewing)
        self._words = KnownWords()

    def moment(self) -> AbstractContextManager[object]:
        """Inside, all that this thread reads is of one moment."""
        return self._database.snapshot()

    def head(self) -> int:
        """The newest journal `seq`, 0 if nothing was ever written. One cheap look."""
        with self._database.reading() as connection:
            row = self._find(connection)
            return 0 if row is None else self._head(connection, row)

    @contextmanager
    def _reading(self) -> Iterator[View | None]:
        """The rows as they are stored; `None` while the project does not exist."""
        with self._database.reading() as connection:
            row = self._find(connection)
            yield None if row is None else View(connection, row, self._seal)

    @contextmanager
    def _viewing(self) -> Iterator[View | None]:
        """A look at the rows, in the middle of a write at those of the write; `None` while the project does not exist."""
        with self._database.within() as connection:
            row = self._find(connection)
            yield None if row is None else View(connection, row, self._seal)

    def head_at(self, seq: int) -> str:
        """The hash of a journal record in hexadecimal, "" if there is none."""
        with self._database.reading() as connection:
            found = connection.execute(compiled.JOURNAL_HASH, {"project": self._find(connection), "seq": seq}).fetchone()
        return "" if found is None else found[0].hex()

    def partitions(self) -> Mapping[int, Partition]:
        """All partitions by row, those that other processes made too."""
        with self._database.reading() as connection:
            row = self._find(connection)
            if row is not None:
                return self._all_partitions(connection, row).by_row
        return {}

    def changes(self, *, after: int) -> Iterator[VectorChanges]:
        """What the vector index must take in that holds everything up to `after`, in journal order, some thousand passages at a time."""
        with self._database.snapshot() as connection:
            project = self._find(connection)
            upto = 0 if project is None else self._head(connection, project)
            since = {"project": project, "after": after, "upto": upto}
            gone = [passage for (passage,) in connection.execute(compiled.REMOVED_SINCE, since)] if after else []
            cursor = connection.execute(compiled.VECTOR_CHANGES, since)
            rows: list[ChangeRow] = []
            while found := cursor.fetchmany(CHUNK):
                rows += found
                whole = next((at for at in range(len(rows) - 1, 0, -1) if rows[at][0] != rows[at - 1][0]), 0)
                if whole:
                    yield self._vector_changes(rows[:whole], rows[whole - 1][0], gone)
                    rows, gone = rows[whole:], []
            yield self._vector_changes(rows, upto, gone)

    def rows(self) -> Iterator[StoredRow]:
        """Every logical row of the project, archived ones too, all of one moment, one at a time."""
        with self._database.snapshot() as connection:
            project = self._find(connection)
            if project is not None:
                yield from read_rows(View(connection, project, self._seal))

    def candidates(self, memories: Sequence[int]) -> list[Candidate]:
        """What ranking needs of the memories that are not archived, in no order."""
        with self._database.reading() as connection:
            found = connection.execute(compiled.CANDIDATES, {"rows": json.dumps(memories)}).fetchall()
        return list(map(Candidate._make, found))

    def counts(self) -> list[PartitionCount]:
        """How many memories each partition holds, archived ones left out, with the times of the oldest and the newest."""
        with self._database.reading() as connection:
            rows = connection.execute(compiled.COUNTS, {"project": self._find(connection)}).fetchall()
        partitions = self._holding(row for row, *_ in rows)
        return [
            PartitionCount(partitions[row], count, from_micros(oldest), from_micros(newest))
            for row, count, oldest, newest in rows
        ]

    def records(self, kind: str, *, newest: int | None = None) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """Key, version and body of the small records of a kind, all of one moment: every one, by key, or so many that changed last, newest first."""
        with self._database.snapshot() as connection:
            given = {"project": self._find(connection), "kind": kind, "newest": newest}
            statement = compiled.RECORDS_OF_KIND if newest is None else compiled.RECORDS_NEWEST
            found = connection.execute(statement, given).fetchall()
        for key, version, body in found:
            yield key, version, json.loads(self._seal.open(body, place="record.body"))

    def passages(self, rows: Sequence[int]) -> dict[int, Passage]:
        """Passages by row. Unknown rows are left out."""
        with self._database.reading() as connection:
            return insight.passages(connection, rows, self._seal)

    def growth(self) -> list[PartitionDay]:
        """How many memories, archived ones left out, were made in each partition on each day, by day."""
        with self._database.snapshot() as connection:
            project = self._find(connection)
            known = self._known if project is None else self._all_partitions(connection, project)
            return insight.growth(connection, project, known.by_row)

    def activity(self) -> list[DayCount]:
        """How many journal records of each operation there are on each day, by day."""
        with self._database.reading() as connection:
            return insight.activity(connection, self._find(connection))

    def newest_records(self, limit: int) -> list[JournalEntry]:
        """The newest journal records, newest first."""
        with self._database.reading() as connection:
            return insight.newest_records(connection, self._find(connection), limit)

    def telling(self, limit: int) -> list[int]:
        """The memories with the most evidence, best first."""
        with self._database.reading() as connection:
            return insight.telling(connection, self._find(connection), limit)

    def usage_totals(self) -> UsageTotals:
        """What was used of what was shown, over all memories that are not archived."""
        with self._database.reading() as connection:
            return insight.usage_totals(connection, self._find(connection))

    def sizes(self) -> Sizes:
        """How much each sort of content takes."""
        with self._database.reading() as connection:
            return insight.sizes(connection, self._find(connection))

    def text_lists(self, words: Sequence[str], *, partitions: Sequence[int], common: CommonWords) -> TextLists:
        """Where the words of a question stand in the memories of these partitions, and nothing of others. All of one moment.

        Words that are `common` there are left out if a rarer one occurs.
        """
        with self._database.snapshot() as connection:
            project = self._find(connection)
            if project is None or not words:
                return NOTHING
            return ScopedWords(View(connection, project, self._seal), words, partitions, common, self._words).lists()

    def entries(self, *, after: int = 0, memory_ids: Sequence[str] | None = None) -> Iterator[Entry]:
        """The journal records after a `seq`, oldest first; with memories, those that changed one of them or what hangs on it."""
        with self._database.snapshot() as connection:
            project = self._find(connection)
            if project is not None:
                yield from readback.entries(View(connection, project, self._seal), after=after, keys=memory_ids)

    def was_purged(self, memory_id: str) -> bool:
        """Whether a memory of this id was purged."""
        with self._database.snapshot() as connection:
            project = self._find(connection)
            if project is None:
                return False
            return any(entombed(memory_id, made) for _, made in readback.purges(View(connection, project, self._seal)))

    def stale(self, partitions: Sequence[int], *, seen_before: int | None, below: float | None) -> list[str]:
        """The ids of the memories of these partitions, not archived, that were last seen before a time and are of a confidence below."""
        given = {"rows": json.dumps(list(partitions)), "seen_before": seen_before, "below": below}
        with self._database.reading() as connection:
            rows = connection.execute(compiled.STALE, {"project": self._find(connection), **given}).fetchall()
        return [memory_id for (memory_id,) in rows]

    def purge(self, memory_ids: Sequence[str], *, records: Sequence[str], actor: str, at: int) -> Erased | None:
        """Erases memories and small records for good. `None` if nothing of that name was ever there."""
        with self.write(actor=actor, operation="purge", at=at) as write:
            made = write.purge(memory_ids, records)
        if made is None:
            return None
        self._words.forget()
        with self._database.snapshot() as connection:  # searching all rows takes long; nobody shall wait for it
            found = traces(View(connection, self._find(connection) or 0, self._seal), made.signs)
        return replace(made.erased, left=list(dict.fromkeys([*made.erased.left, *found])))

    @contextmanager
    def snapshot(self, *, owner: str | None = None) -> Iterator[Snapshot]:
        """Everything that the project, or one agent in it, holds, all of one moment. What this thread does meanwhile is of the present."""
        with self._database.snapshot_apart() as connection:
            project = self._find(connection)
            if project is not None:
                self._head(connection, project)  # vectors of another embedder than ours would go by a wrong name
            yield Snapshot(View(connection, project or 0, self._seal), owner)

    def listed(self, partitions: Sequence[int], *, since: int | None, limit: int, newest_first: bool) -> list[int]:
        """Rows of the memories of some partitions, by the time they were made; archived ones are left out."""
        with self._database.reading() as connection:
            project = self._find(connection)
            return listed(connection, project, partitions, since=since, limit=limit, newest_first=newest_first)

    @contextmanager
    def write(self, *, actor: str, operation: str, at: int) -> Iterator[Write]:
        """One call's write: everything done to it lands together with its journal record, or nothing does."""
        with suppress(_NothingWrittenError), self._database.transaction() as connection:
            write = self._begin(connection, actor, operation, at)
            yield write
            if write.finish() is None and write.seq == 1:
                raise _NothingWrittenError

    @contextmanager
    def writes(self, *, actor: str, operation: str, at: int) -> Iterator[Callable[[], AbstractContextManager[Write]]]:
        """As `write`, for a call too large for one journal record: each write begun has a record of its own, and all land or none."""
        with self._database.transaction() as connection:
            write = self._begin(connection, actor, operation, at)
            ended: bytes | None = None

            @contextmanager
            def next_write() -> Iterator[Write]:
                nonlocal write, ended
                if ended is not None:
                    write = replace(write, seq=write.seq + 1, previous=ended, changes=[])
                yield write
                ended = write.finish()

            yield next_write

    def _begin(self, connection: sqlite3.Connection, actor: str, operation: str, at: int) -> Write:
        found = connection.execute(compiled.PROJECT_BEGIN, {"name": self.name}).fetchone()
        if found is None:
            self._create(connection)
            return self._begin(connection, actor, operation, at)
        row, seq, head, learned, unindexed, embedder, newest_partition = found
        self._check_embedder(embedder)
        known = self._all_partitions(connection, row, newest=newest_partition)
        waiting = json.loads(unindexed)
        return Write(
            *(connection, self.name, row, seq + 1, head, learned, waiting, self._embedder),
            *(actor, operation, at, self._seal, known, self._defined),
        )

    def _create(self, connection: sqlite3.Connection) -> None:
        new = {"name": self.name, "head_seq": 0, "head_hash": GENESIS, "learned_seq": 0, "unindexed": "[]"}
        row = connection.execute(compiled.PROJECT_INSERT, new).lastrowid
        assert row is not None
        fulltext.create(connection, row)

    def _head(self, connection: sqlite3.Connection, row: int) -> int:
        found = connection.execute(compiled.PROJECT_HEAD, {"project": row}).fetchone()
        if found is None:
            raise CorruptStoreError(
                f"project {self.name!r} is no longer in {self._database.path}: the file was replaced or damaged while it was open"
            )
        head, embedder = found
        self._check_embedder(embedder)
        return int(head)

    def _check_embedder(self, number: int | None) -> None:
        """`EmbedderMismatchError` if the database was re-embedded since it was opened here: our vectors do not compare with its own."""
        if number != self._embedder:
            raise EmbedderMismatchError(
                f"{self._database.path} was re-embedded with another embedder since it was opened here (`alma reindex`): open it again"
            )

    def _find(self, connection: sqlite3.Connection) -> int | None:
        if self._row is None:
            found = connection.execute(compiled.PROJECT_BY_NAME, {"name": self.name}).fetchone()
            self._row = None if found is None or connection.in_transaction else found[0]
            return None if found is None else int(found[0])
        return self._row

    def _all_partitions(self, connection: sqlite3.Connection, project: int, *, newest: int | None = None) -> Partitions:
        """Those known and those made since, also in other projects up to `newest`.

        A new value each time it grows, for other threads may be going through the last one.
        """
        known = self._known
        if newest is not None and newest == known.upto:
            return known
        rows = connection.execute(compiled.PARTITIONS, {"project": project, "after": known.upto}).fetchall()
        upto = newest or max((row for row, *_ in rows), default=known.upto)
        if upto > known.upto:
            made = [Partition(row, bool(is_user), owner, kind) for row, is_user, owner, kind in rows]
            by_row = {partition.row: partition for partition in made}
            by_key = {(partition.is_user, partition.owner, partition.kind): partition.row for partition in made}
            known = self._known = Partitions({**known.by_row, **by_row}, {**known.by_key, **by_key}, upto)
        return known

    def _holding(self, rows: Iterable[int]) -> Mapping[int, Partition]:
        """Partitions by row, these among them. They never change, so the database is asked only for one that is new."""
        known = self._known.by_row
        return known if all(row in known for row in rows) else self.partitions()

    def _vector_changes(self, rows: Sequence[ChangeRow], upto: int, gone: Sequence[int]) -> VectorChanges:
        live = [row for row in rows if row[6]]
        vectors = b"".join(self._vector(row) for row in live)
        return VectorChanges(
            upto=upto,
            passages=_integers(row[1] for row in live),
            memories=_integers(row[2] for row in live),
            partitions=_integers(row[3] for row in live),
            is_own=np.array([bool(row[4]) for row in live], dtype=np.bool_),
            ties=_integers(int.from_bytes(row[5][:8], "big", signed=True) for row in live),
            vectors=np.frombuffer(vectors, dtype="<f2").reshape(len(live), self._dimension),
            removed=_integers(iter([*gone, *(row[1] for row in rows if not row[6])])),
        )

    def _vector(self, row: ChangeRow) -> bytes:
        if row[7] is None:
            raise CorruptStoreError(f"the vector of passage {row[1]} in project {self.name!r} is missing; see `alma verify`")
        vector = self._seal.open(row[7], place="vector.vector")
        if len(vector) != 2 * self._dimension:
            raise CorruptStoreError(
                f"the vector of passage {row[1]} in project {self.name!r} has {len(vector)} bytes; see `alma verify`"
            )
        return vector


def _integers(values: Iterator[int]) -> NDArray[np.int64]:
    return np.fromiter(values, dtype=np.int64)
