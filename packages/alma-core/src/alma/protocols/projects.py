"""One project of a store."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from alma.protocols.reading import Figures, Journaled, Log, Lookups, Memories, Searchable, Snapshot
from alma.protocols.writing import NextWrite, Write
from alma.types.stored import Erased


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

        A record is named "kind/key"; "kind/key/" stands for all whose key is that and a number. Returns `None` if none of them ever existed.
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
