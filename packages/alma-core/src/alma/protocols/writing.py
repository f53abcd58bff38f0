"""Protocols for writing to a project: one call of the façade is one write, in one transaction, with one journal record."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import EllipsisType
from typing import Any, Protocol

from alma.protocols.reading import Lookups
from alma.types.memories import Memory
from alma.types.passages import Passage
from alma.types.stored import Change, Entry


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
