"""One project of a store: protocols for reading it and for writing to it.

One call of the façade is one write, in one transaction, with one journal record.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import EllipsisType
from typing import Any, Protocol

from alma.text import CommonWords
from alma.types.exported import ExportedCounts, ExportedMemory, ExportedPurge, ExportedRecord
from alma.types.identity import Partition
from alma.types.memories import AnyMemory, Memory, Passage
from alma.types.stored import (
    Candidate,
    Change,
    DayCount,
    Entry,
    Erased,
    JournalEntry,
    PartitionCount,
    PartitionDay,
    Place,
    RecordedOutcome,
    Sizes,
    StoredRow,
    TextLists,
    UsageTotals,
    VectorChanges,
)


class Outcomes(Protocol):
    """Reads outcomes as learning does."""

    def rows_in(self, partitions: Iterable[int]) -> Sequence[int]:
        """Returns the rows of the memories of partitions, ascending: the order in which they were recorded, archived ones included."""

    def outcomes(self, partitions: Iterable[int], *, since: int = 0) -> Iterator[RecordedOutcome]:
        """Returns the outcomes of partitions from the row `since` on, in the order in which they were recorded, archived ones included."""

    def outcomes_named(self, memory_ids: Iterable[str]) -> Iterator[RecordedOutcome]:
        """Returns those of the memories that are outcomes, in the order in which they were recorded, archived ones included."""


class Records(Protocol):
    """Looks up small records."""

    def record(self, kind: str, keys: Iterable[str]) -> Mapping[str, tuple[int, dict[str, Any]]]:
        """Returns version and body of small records, by key, in the order of the keys; version 0 and an empty body where there is none."""

    def records(
        self, kind: str, *, newest: int | None = None, under: str | None = None
    ) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """Returns key, version and body of the small records of a kind, as a consistent view: all, by key, or the `newest` that changed last,
        newest first.

        `under` selects those whose key begins with it and a slash, without reading others. It is not combined with `newest`.
        """


class Lookups(Outcomes, Records, Protocol):
    """Looks up any number of things by their keys."""

    def partitions(self) -> Mapping[int, Partition]:
        """Returns all partitions by row, those that other processes made included; in a write, those that existed when it began."""

    def find(self, memory_ids: Iterable[str]) -> Mapping[str, Place]:
        """Returns where memories are kept, by id, in the order of the ids. Ids that this project does not have are skipped."""

    def memories(self, rows: Sequence[int]) -> Mapping[int, AnyMemory]:
        """Returns memories by row. Unknown rows are skipped."""

    def named(self, memory_ids: Iterable[str]) -> Mapping[str, AnyMemory]:
        """Returns memories by id. Ids that this project does not have are skipped."""

    def vectors(self, texts: Iterable[str]) -> Mapping[str, bytes]:
        """Returns the stored float16 vectors of texts. Texts without one are skipped."""


class Memories(Protocol):
    """Reads a project as a whole."""

    def counts(self) -> Sequence[PartitionCount]:
        """Returns the number of memories of each partition, archived ones excluded."""


class Searchable(Protocol):
    """Reads a project for retrieval."""

    def moment(self) -> AbstractContextManager[object]:
        """Within the context all reads of this thread are one consistent view, and the store is checked for changes once. Not for long work."""

    def changes(self, *, after: int) -> Iterator[VectorChanges]:
        """Returns the changes that a vector index which holds everything up to `after` needs, in journal order, as a consistent view."""

    def candidates(self, memories: Sequence[int]) -> Sequence[Candidate]:
        """Returns what ranking needs of the memories that are not archived, in no order."""

    def within(
        self,
        partitions: Sequence[int],
        *,
        since: int | None = None,
        until: int | None = None,
        known_by: int | None = None,
        among: Sequence[int] | None = None,
    ) -> Sequence[int]:
        """Returns the rows of memories of these partitions, ascending, archived ones excluded: last seen from `since` to `until`, created by
        `known_by`; if `among` is given, only of those that are among these.

        Times are in microseconds since 1970 and inclusive; `None` means no limit.
        """

    def passages(self, rows: Sequence[int]) -> Mapping[int, Passage]:
        """Returns passages by row. Unknown rows are skipped."""

    def text_lists(self, words: Sequence[str], *, partitions: Sequence[int], common: CommonWords) -> TextLists:
        """Returns the posting lists of a question's words in the memories of these partitions, for `alma.retrieval.fusion`, as a consistent view.

        One list for each different stem, in the order of the question. Words that are `common` in the partitions are left out if any other word
        occurs; if none does, the first of them is included. Memories of other partitions change nothing.
        """


class Log(Protocol):
    """Reads facts about a project's journal without reading all of it."""

    def head(self) -> int:
        """Returns the newest journal `seq`, 0 if nothing was written yet. One cheap query."""

    def learned_seq(self) -> int:
        """Returns the newest journal `seq` that may change what is learned, 0 if there is none."""

    def head_at(self, seq: int) -> str:
        """Returns the hash of a journal record in hexadecimal, "" if there is none. It distinguishes two histories of one project.

        In the middle of a moment it may know records that were written since.
        """

    def activity(self) -> Sequence[DayCount]:
        """Returns the number of journal records of each operation on each day, by day."""

    def newest_records(self, limit: int) -> Sequence[JournalEntry]:
        """Returns the newest journal records, newest first."""


class Figures(Protocol):
    """Reads figures of a project that are shown to a person."""

    def growth(self) -> Sequence[PartitionDay]:
        """Returns the number of memories in each partition by day, archived ones excluded. The day is that of `seen_at`, or of `created_at`
        if that is earlier: what was imported counts on the day on which it happened."""

    def telling(self, limit: int) -> Sequence[int]:
        """Returns the memories with the most evidence, best first: used and praised, then tried most often, then newest. Archived ones are
        excluded."""

    def usage_totals(self) -> UsageTotals:
        """Returns how often memories were used and ignored, summed over all that are not archived."""

    def sizes(self) -> Sizes:
        """Returns the size of each sort of content."""


class Journaled(Protocol):
    """Reads a project's rows and its journal, for history, export and forgetting."""

    def rows(self) -> Iterator[StoredRow]:
        """Returns every logical row, archived ones included, one at a time, memories first, as a consistent view. Until it is exhausted, this
        thread cannot write."""

    def entries(self, *, after: int = 0, memory_ids: Sequence[str] | None = None) -> Iterator[Entry]:
        """Returns the journal records after a `seq`, oldest first, as a consistent view. `memory_ids` selects those that changed one of these
        memories, or rows that belong to one."""

    def was_purged(self, memory_id: str) -> bool:
        """Returns True if a memory of this id was purged. No other id is mistaken for it."""

    def stale(self, partitions: Sequence[int], *, seen_before: int | None, below: float | None) -> Sequence[str]:
        """Returns the ids of memories of these partitions, not archived, last seen before a time (in microseconds) with a confidence below a
        limit."""


class Snapshot(Protocol):
    """A consistent view of a project, or of one agent in it, for export. `CorruptStoreError` if a row cannot be read."""

    def head(self) -> tuple[int, str]:
        """Returns number and hash of the newest journal record."""

    def counts(self) -> ExportedCounts:
        """Returns the number of rows of each sort."""

    def records(self) -> Iterator[ExportedRecord]:
        """Returns the small records by kind and key, without the leases of episodes; for an agent, its own episodes and the definitions of
        kinds."""

    def memories(self, *, vectors: bool) -> Iterator[ExportedMemory]:
        """Returns each memory in order of creation, archived ones included, with its passages by position and its usage."""

    def purged(self) -> Iterator[ExportedPurge]:
        """Returns the digests of what was purged; none for one agent or one user."""


class MemoryWrites(Protocol):
    """Writes memories and their counts."""

    def add(self, memory: Memory, passages: Sequence[Passage], vectors: Mapping[str, bytes]) -> None:
        """Stores a memory with its passages. A passage whose text is in `vectors` gets that float16 vector. `ConflictError` if the id exists."""

    def replace(
        self,
        memory: Memory,
        passages: Sequence[Passage],
        vectors: Mapping[str, bytes],
        *,
        archived_at: int | EllipsisType | None = ...,
    ) -> None:
        """Replaces the memory of the same id, as `add` would store it; its usage stays, and whether it is archived, unless `archived_at` is
        given. `MemoryNotFoundError` if there is none."""

    def change_memory(self, memory_id: str, **columns: Any) -> None:
        """Changes columns of a memory's row, and single fields of `body`. `archived_at` removes it from every search, or restores it."""

    def count_usage(self, counts: Mapping[str, Mapping[str, float]]) -> None:
        """Adds to used, ignored, thumbs_up, thumbs_down, credited_successes or credited_trials of memories, by id. Negative numbers subtract,
        never below 0.

        `MemoryNotFoundError`, and nothing is counted, if an id is unknown.
        """


class RecordWrites(Protocol):
    """Writes small versioned records."""

    def put_record(self, kind: str, key: str, body: Mapping[str, Any], *, version: int, at: int | None = None) -> None:
        """Stores a small record whose newest version is `version`, 0 for none. `ConflictError` if another version is stored meanwhile.

        `at` is the time of its creation in microseconds since 1970; by default that of this write.
        """

    def put_records(self, records: Mapping[tuple[str, str], tuple[int, Mapping[str, Any]]], *, at: int | None = None) -> None:
        """Stores small records as `put_record` does, by kind and key, each with its newest version and its new body. After a `ConflictError` the
        write has to be given up."""

    def drop_record(self, kind: str, key: str, body: Mapping[str, Any], *, version: int) -> None:
        """Deletes a small record whose newest version is `version` with this `body`. `ConflictError` if it differs or does not exist."""


class VectorWrites(Protocol):
    """Writes vectors that no passage has."""

    def keep_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Stores the float16 vectors of texts without a passage, for later comparisons."""


class JournalWrites(Protocol):
    """The write as a record of the journal."""

    @property
    def seq(self) -> int:
        """The number that the journal record will have."""

    @property
    def stored(self) -> Lookups:
        """The stored rows, as this write sees them. Reads through the write's own session, as every read of a write does."""

    def entries(self, *, after: int) -> Iterator[Entry]:
        """Returns the journal records after a `seq`, oldest first, without this write's own."""

    def apply(self, changes: Iterable[Change], vectors: Mapping[str, bytes] | None = None) -> None:
        """Applies changes to logical rows, each at most once, and updates full text, vectors and index changes with them.

        Each new embedded text needs its float16 vector in `vectors`; a strategy that is tried again should have it there. `ConflictError` if a
        row is not what its change expects. Changes of the table `PURGE` change no row: they note what another project purged.
        """


class Write(MemoryWrites, RecordWrites, VectorWrites, JournalWrites, Protocol):
    """The changes of one call. They are stored together with the journal record that lists them, or not at all."""


NextWrite = Callable[[], AbstractContextManager[Write]]
"""Begins the next write of a transaction that has several."""


class Portable(Protocol):
    """Lists a project's content and moves it."""

    def snapshot(self, *, agent: str | None = None, user: str | None = None) -> AbstractContextManager[Snapshot]:
        """Opens a consistent view of everything, or of what belongs to one agent or one user. Other reads of this thread meanwhile see the
        present, and it may write."""

    def listed(self, partitions: Sequence[int], *, since: int | None, limit: int, newest_first: bool) -> Sequence[int]:
        """Returns rows of memories of some partitions, by time of creation, archived ones excluded."""

    def writes(self, *, actor: str, operation: str, at: int) -> AbstractContextManager[NextWrite]:
        """As `Project.write`, for a call too large for one journal record: each write has its own record, and all are stored or none."""


class Erasable(Protocol):
    """Erases content for good."""

    def purge(
        self,
        memory_ids: Sequence[str],
        *,
        records: Sequence[str],
        actor: str,
        at: int,
        then: Callable[[NextWrite, Erased], object] | None = None,
    ) -> Erased | None:
        """Erases memories and small records in one transaction: their rows, and the payload of every journal record that changed them.

        A record is named "kind/key"; "kind/key/" names all records of this key and a number. Returns `None` if none of them ever existed.
        `then` writes more in the same transaction, for example a replacement, given what was erased; it is not called if nothing was. Each of
        its writes has a journal record.
        """


class Project(Lookups, Memories, Searchable, Log, Figures, Journaled, Portable, Erasable, Protocol):
    """One project of a store. Its first write creates it; until then it reads as empty. Thread-safe."""

    @property
    def name(self) -> str:
        """The project's name."""

    def write(self, *, actor: str, operation: str, at: int) -> AbstractContextManager[Write]:
        """Opens one call's write, under the project's lock. `at` is in microseconds since 1970. An exception inside rolls all of it back."""
