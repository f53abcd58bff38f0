"""One project of a store: what the use cases read and write."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from itertools import islice, starmap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alma.errors import ConfigurationError, CorruptStoreError, EmbedderMismatchError, StorageError
from alma.journal import GENESIS, entombed
from alma.protocols import (
    Candidate,
    CommonWords,
    DayCount,
    Entry,
    Erased,
    JournalEntry,
    NextWrite,
    PartitionCount,
    PartitionDay,
    Sizes,
    StoredRow,
    TextLists,
    UsageTotals,
    VectorChanges,
)
from alma.storage.relational import readback
from alma.storage.relational.logical import PASSAGE_TEXTS, View, passage_from, read_rows
from alma.storage.relational.lookups import Lookups, Partitions
from alma.storage.relational.purging import traces
from alma.storage.relational.rows import CONTENT, ChangeRow, VectorRows, integers
from alma.storage.relational.session import COMMITS, OPERATION, Session, forget_keys, reveal_key, revealed_hash
from alma.storage.relational.text_index import NO_LISTS, ProjectTexts
from alma.storage.relational.transfer import Snapshot
from alma.storage.relational.writing import Write
from alma.types.identity import Partition, from_micros
from alma.types.memories import Passage
from alma.types.stored import TextLengths

if TYPE_CHECKING:
    from alma.storage.relational.store import RelationalStore

CHUNK = 4096
MICROS_A_DAY = 86_400_000_000


class _NothingWrittenError(Exception):
    """Rolls back a write that would leave a project without anything in it."""


class SQLProject(Lookups):
    """A project's tables. It exists in the file from its first write on; until then it reads as empty."""

    def __init__(self, store: "RelationalStore", name: str) -> None:
        """Takes the store, with the embedder and the number of migrations that it had when it was opened."""
        self.name = name
        self._database, self._text, self._seal = store.sessions, store.text, store.seal
        self._embedder, self._migrations = store.embedder, store.migrations
        self._vectors = VectorRows(name, store.seal, store.embedder, store.fingerprint.dimension)
        self._row = 0
        self._known = Partitions({}, {}, 0)
        self._defined = {}
        self._texts = ProjectTexts(store.text)

    def learned_seq(self) -> int:
        """The newest journal record that may change what is learned, 0 if there is none."""
        with self._database.reading() as session:
            return next((learned for *_, learned in session.all("project_ends", {"project": self._find(session)})), 0)

    def moment(self) -> AbstractContextManager[object]:
        """A consistent read: inside, this thread sees one state of the database."""
        return self._database.snapshot()

    def head(self) -> int:
        """The newest journal `seq`, 0 if nothing was ever written. One cheap look."""
        with self._database.reading() as session:
            return self._locate(session)[1]

    @contextmanager
    def _reading(self, *, of_one_state: bool = False) -> Iterator[View]:
        """The rows as they are stored, of one state in a consistent read; none while the project does not exist."""
        with self._database.snapshot() if of_one_state else self._database.reading() as session:
            yield View(session, self._find(session), self._seal)

    def head_at(self, seq: int) -> str:
        """The hash of a journal record in hexadecimal, "" if there is none; in the middle of a moment, that of a later record, too."""
        for reading in (self._database.reading, self._database.snapshot_apart):
            with reading() as session:
                found = next(session.all("journal_hash", {"project": self._find(session), "seq": seq}), None)
            if found is not None:
                return str(found[0].hex())
        return ""

    def partitions(self) -> Mapping[int, Partition]:
        """All partitions by row, those that other processes made too."""
        with self._database.reading() as session:
            return self._all_partitions(session, self._find(session)).by_row

    def changes(self, *, after: int) -> Iterator[VectorChanges]:
        """Returns the changes after a `seq` for the vector index, in journal order, some thousand passages at a time."""
        with self._database.snapshot() as session:
            project, upto = self._locate(session)
            since = {"project": project, "after": after, "upto": upto}
            gone = [passage for (passage,) in session.all("removed_since", since)] if after else []
            cursor = session.all("vector_changes", since)
            rows: list[ChangeRow] = []
            while found := list(islice(cursor, CHUNK)):
                rows += found
                whole = next((at for at in range(len(rows) - 1, 0, -1) if rows[at][0] != rows[at - 1][0]), 0)
                if whole:
                    yield self._vectors.changes(project, rows[:whole], rows[whole - 1][0], gone)
                    rows, gone = rows[whole:], []
            yield self._vectors.changes(project, rows, upto, gone)

    def vectors_of(self, memories: Sequence[int]) -> VectorChanges:
        """The live passages of memories with their vectors, as of `upto`."""
        with self._database.snapshot() as session:
            project, upto = self._locate(session)
            return self._vectors.changes(
                project, list(session.all("vectors_of", {"project": project, "rows": json.dumps(memories)})), upto, ()
            )

    def vectors_in(self, partitions: Sequence[int]) -> Iterator[VectorChanges]:
        """All live passages of partitions with their vectors, some thousand at a time, as a consistent view."""
        with self._database.snapshot() as session:
            project, upto = self._locate(session)
            cursor = session.all("vectors_in", {"project": project, "rows": json.dumps(list(partitions))})
            while rows := list(islice(cursor, CHUNK)):
                yield self._vectors.changes(project, rows, upto, ())

    def vectors_at(self, passages: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
        """Returns the passages that are there, archived ones too, and their vectors."""
        with self._database.reading() as session:
            project, _ = self._locate(session)  # vectors of another embedder than ours would go by a wrong name
            rows = list(session.all("vectors_at", {"project": project, "rows": json.dumps(passages)}))
        return integers(row for row, *_ in rows), self._vectors.vectors(project, rows)

    def text_lengths(self) -> TextLengths:
        """Returns whose the texts are, and their lengths; nothing if this process has not searched them yet."""
        with self._database.snapshot() as session:
            project, head = self._locate(session)
            return self._texts.lengths(View(session, project, self._seal), head)

    def hold_text_lengths(self, lengths: TextLengths) -> None:
        """Takes lengths that were read before, unless this process has read some."""
        self._texts.hold(lengths)

    def ties_of(self, memories: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the memories that have a live passage with a vector, ascending, and the tie of each."""
        rows = self._look("ties_of", rows=memories)
        return integers(row for row, _ in rows), self._vectors.ties([digest for _, digest in rows])

    def smallest_ties(self, partitions: Sequence[int], limit: int) -> NDArray[np.int64]:
        """Returns the memories of partitions with the smallest ties among memories that have a live passage with a vector."""
        return integers(row for (row,) in self._look("smallest_ties", rows=partitions, limit=limit, half=b"\x80"))

    def population(self, partitions: Sequence[int]) -> int:
        """Returns the number of memories of these partitions that have a live passage with a vector."""
        return int(self._look("population", rows=partitions)[0][0])

    def touched(self, *, after: int) -> NDArray[np.int64] | None:
        """The memories whose passages changed after a `seq`; `None` if rows were deleted since."""
        with self._database.snapshot() as session:
            project, upto = self._locate(session)
            since = {"project": project, "after": after, "upto": upto}
            if next(session.all("removed_any", since), None) is not None:
                return None
            return integers(row for (row,) in session.all("texts_touched", since))

    def rows(self) -> Iterator[StoredRow]:
        """Every logical row of the project, archived ones too, in a consistent read, one at a time."""
        with self._reading(of_one_state=True) as view:
            yield from read_rows(view)

    def candidates(self, memories: Sequence[int]) -> list[Candidate]:
        """Returns the columns that ranking needs, of the memories that are not archived, in no order."""
        with self._database.reading() as session:
            found = list(session.all("candidates", {"rows": json.dumps(memories)}))
        made = starmap(Candidate, found)
        if not self._seal.is_secret:
            return list(made)
        return [each._replace(content_hash=revealed_hash(self._seal, each.content_hash, place=CONTENT)) for each in made]

    def counts(self) -> list[PartitionCount]:
        """Returns the number of memories of each partition, archived ones left out, with the times of the oldest and the newest."""
        rows = self._look("counts")
        partitions = self._holding(row for row, *_ in rows)
        return [
            PartitionCount(partitions[row], count, from_micros(oldest), from_micros(newest))
            for row, count, oldest, newest in rows
        ]

    def passages(self, rows: Sequence[int]) -> dict[int, Passage]:
        """Passages by row. Unknown rows are left out."""
        made = {}
        for row, project, memory, position, time, is_own, *sealed in self._look("passages", rows=rows):
            texts = {
                name: self._seal.open(data, place=f"passage.{name}", row=(project, memory, position)).decode()
                for name, data in zip(PASSAGE_TEXTS, sealed, strict=True)
            }
            made[row] = passage_from({**texts, "position": position, "time": time, "is_own": bool(is_own)})
        return made

    def growth(self) -> list[PartitionDay]:
        """Returns the number of memories of each partition by the day of their event, or on which they were made, if that is earlier; archived ones
        are left out."""
        rows = self._look("growth", a_day=MICROS_A_DAY)
        partitions = self._holding(row for row, *_ in rows)
        return [
            PartitionDay(partitions[row], from_micros(day * MICROS_A_DAY).date(), count, float(trials), float(successes))
            for row, day, count, trials, successes in rows
        ]

    def activity(self) -> list[DayCount]:
        """Returns the number of journal records of each operation on each day, by day."""
        rows = self._look("activity", a_day=MICROS_A_DAY)
        named = sorted((day, reveal_key(self._seal, stored, OPERATION), count) for stored, day, count in rows)
        return [DayCount(operation, from_micros(day * MICROS_A_DAY).date(), count) for day, operation, count in named]

    def newest_records(self, limit: int) -> list[JournalEntry]:
        """The newest journal records, newest first, without their payloads."""
        return [
            JournalEntry(seq, from_micros(at), actor, reveal_key(self._seal, stored, OPERATION), bool(is_purged))
            for seq, at, actor, stored, is_purged in self._look("journal_newest", most=limit)
        ]

    def telling(self, limit: int) -> list[int]:
        """The memories with the most evidence, best first: used and praised, then tried most often, then newest."""
        return [row for (row,) in self._look("telling", most=limit)]

    def usage_totals(self) -> UsageTotals:
        """Sums the usage of what was shown, over all memories that are not archived."""
        return UsageTotals(*self._look("usage_totals")[0])

    def sizes(self) -> Sizes:
        """Returns the bytes that each sort of content takes."""
        counted = ("archived_count", "passage_size", "vector_size", "journal_size")
        return Sizes(*(value for statement in counted for value in self._look(statement)[0]))

    def text_lists(self, words: Sequence[str], *, partitions: Sequence[int], common: CommonWords) -> TextLists:
        """Where the words of a question stand in the memories of these partitions, and nothing of others. A consistent read.

        Words that are `common` there are left out if a rarer one occurs.
        """
        with self._database.snapshot() as session:  # not `_reading`: each question passes here, and may make few calls
            project, head = self._locate(session)
            if not project or not words:
                return NO_LISTS
            return self._texts.lists(View(session, project, self._seal), head, words, partitions, common)

    def entries(self, *, after: int = 0, memory_ids: Sequence[str] | None = None) -> Iterator[Entry]:
        """The journal records after a `seq`, oldest first; with memories, those that changed one of them or what hangs on it."""
        with self._reading(of_one_state=True) as view:
            yield from readback.entries(view, after=after, keys=memory_ids)

    def was_purged(self, memory_id: str) -> bool:
        """Returns True when a memory of this id was purged."""
        with self._reading(of_one_state=True) as view:
            return any(entombed(memory_id, made) for _, made in readback.purges(view))

    def stale(self, partitions: Sequence[int], *, seen_before: int | None, below: float | None) -> list[str]:
        """The ids of the memories of these partitions, not archived, that were last seen before a time and are of a confidence below."""
        found = self._look("stale", rows=partitions, seen_before=seen_before, below=below)
        return [memory_id for (memory_id,) in found]

    def within(
        self,
        partitions: Sequence[int],
        *,
        since: int | None = None,
        until: int | None = None,
        known_by: int | None = None,
        among: Sequence[int] | None = None,
    ) -> list[int]:
        """Rows of the memories of these partitions that were seen and made within these times, ascending; archived ones are left out. With
        `among`, of these memories alone, without looking at others."""
        given: dict[str, Any] = {"rows": partitions, "since": since, "until": until, "known_by": known_by}
        found = self._look("within", **given) if among is None else self._look("within_among", among=among, **given)
        return [row for (row,) in found]

    def purge(
        self,
        memory_ids: Sequence[str],
        *,
        records: Sequence[str],
        actor: str,
        at: int,
        then: Callable[[NextWrite, Erased], object] | None = None,
    ) -> Erased | None:
        """Erases memories and small records for good, and has more written then. `None` if nothing of that name was ever there."""
        with self.writes(actor=actor, operation="purge", at=at) as next_write:
            with next_write() as write:
                made = write.purge(memory_ids, records)
            if made is not None and then is not None:
                then(next_write, made.erased)
        if made is None:
            return None
        self._texts.forget()
        forget_keys()
        with self._database.snapshot() as session:  # searching all rows takes long, and holds no lock
            found = traces(View(session, self._find(session), self._seal), made.signs)
        return replace(made.erased, left=list(dict.fromkeys([*made.erased.left, *found])))

    @contextmanager
    def snapshot(self, *, agent: str | None = None, user: str | None = None) -> Iterator[Snapshot]:
        """All that the project, or one agent or one user in it, holds, in a consistent read. What this thread does meanwhile sees the present."""
        with self._database.snapshot_apart() as session:
            project, _ = self._locate(session)  # vectors of another embedder than ours would go by a wrong name
            yield Snapshot(View(session, project, self._seal), agent, user)

    def listed(self, partitions: Sequence[int], *, since: int | None, limit: int, newest_first: bool) -> list[int]:
        """Rows of the memories of some partitions, by the time they were made; archived ones are left out."""
        statement = "listed_newest" if newest_first else "listed_oldest"
        return [row for (row,) in self._look(statement, rows=partitions, since=since, limit=limit)]

    @contextmanager
    def write(self, *, actor: str, operation: str, at: int) -> Iterator[Write]:
        """One call's write: everything done to it lands together with its journal record, or nothing does."""
        with self.writes(actor=actor, operation=operation, at=at) as next_write, next_write() as write:
            yield write

    @contextmanager
    def writes(self, *, actor: str, operation: str, at: int) -> Iterator[Callable[[], AbstractContextManager[Write]]]:
        """As `write`, for a call too large for one journal record: each write begun has a record of its own, and all land or none."""
        with suppress(_NothingWrittenError), self._database.transaction(self.name) as session:
            write = self._begin(session, actor, operation, at)
            first = write.seq
            ended: bytes | None = None

            @contextmanager
            def next_write() -> Iterator[Write]:
                nonlocal write, ended
                if ended is not None:
                    write = replace(write, seq=write.seq + 1, previous=ended, changes=[])
                yield write
                ended = write.finish()

            yield next_write
            if ended is None and write.seq == 1:
                raise _NothingWrittenError
        for follow in COMMITS.followers:
            follow(self, first)

    def _begin(self, session: Session, actor: str, operation: str, at: int) -> Write:
        found = next(session.all("project_begin", {"name": self.name}), None)
        if found is None:
            new = {"name": self.name, "head_seq": 0, "head_hash": GENESIS, "learned_seq": 0}
            self._text.begin(session, session.insert("project_insert", new))
            return self._begin(session, actor, operation, at)
        row, seq, head, learned, embedder, migrations, newest_partition = found
        self._check(embedder, migrations)
        known = self._all_partitions(session, row, newest=newest_partition).extensible()
        return Write(
            *(session, self.name, row, seq + 1, head, learned, actor, operation, at),
            *(self._seal, self._text, known, self._defined),
        )

    def _check_embedder(self, number: int | None) -> None:
        self._check(number, self._migrations)

    def _check(self, embedder: int | None, migrations: int) -> None:
        """Checks that the database is what it was when it was opened here.

        `EmbedderMismatchError` if it was re-embedded since: our vectors do not compare with its own. `ConfigurationError` if a newer ALMA has
        brought it up to date: it expects other writes than ours. `StorageError` if it is now as an older ALMA left it.
        """
        if embedder == self._embedder and migrations == self._migrations:
            return
        name = self._database.name
        if migrations > self._migrations:
            raise ConfigurationError(
                f"a newer ALMA has brought {name} up to date since it was opened here: end this process, and start it with that version"
            )
        if migrations < self._migrations:
            raise StorageError(
                f"{name} was replaced by that of an older ALMA since it was opened here (a backup was restored?); nothing was stored: end "
                "this process and start it again, which brings the store up to date, and run `alma verify`"
            )
        raise EmbedderMismatchError(
            f"{name} was re-embedded with another embedder since it was opened here (`alma reindex`): open it again"
        )

    def _locate(self, session: Session) -> tuple[int, int]:
        """The project's row and its newest record, 0 if it does not exist. `EmbedderMismatchError` if the database was re-embedded since."""
        project = self._find(session)
        if not project:
            return 0, 0
        for head, embedder, migrations in session.all("project_head", {"project": project}):
            self._check(embedder, migrations)
            return project, int(head)
        raise CorruptStoreError(
            f"project {self.name!r} is no longer in {self._database.name}: the file was replaced or damaged while it was open"
        )

    def _find(self, session: Session) -> int:
        """The project's row; 0, which no row has, before the first write has landed."""
        if not self._row:
            self._row = next((int(row) for (row,) in session.all("project_by_name", {"name": self.name})), 0)
        return self._row

    def _all_partitions(self, session: Session, project: int, *, newest: int | None = None) -> Partitions:
        """Returns the known partitions and the newer ones, also of other projects up to `newest`.

        A new value each time it grows, for other threads may be going through the last one.
        """
        known = self._known
        if newest is not None and newest == known.upto:
            return known
        rows = list(session.all("partitions", {"project": project, "after": known.upto}))
        upto = newest or max((row for row, *_ in rows), default=known.upto)
        if upto > known.upto:
            if not all(kind for *_, kind in rows):  # some were dropped: see `purging`
                known, rows = Partitions({}, {}, 0), list(session.all("partitions", {"project": project, "after": 0}))
            known = self._known = known.grown(rows, upto)
        return known

    def _holding(self, rows: Iterable[int]) -> Mapping[int, Partition]:
        """Partitions by row, these among them. They never change, so the database is asked only for one that is new."""
        known = self._known.by_row
        return known if known.keys() >= set(rows) else self.partitions()
