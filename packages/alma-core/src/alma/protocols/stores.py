"""The store, and optional abilities of a store: small protocols that are found by `isinstance`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from alma.protocols.project import Project
from alma.protocols.vectors import CandidateSearch
from alma.types.identity import Fingerprint
from alma.types.reports import VerifyReport
from alma.types.stored import Copied, Moved, StoreRequest, Unembedded, VectorsRequest


class Maintained(Protocol):
    """Measures, checks and compacts what is stored."""

    def size(self) -> int:
        """Returns the bytes on disk."""

    def compact(self) -> bool:
        """Rewrites what is on disk without deleted content. Returns False if a part could not be, because others were reading."""

    def verify(self) -> VerifyReport:
        """Reports damage to what is stored. Reads only."""


class Store(Maintained, Protocol):
    """The truth: every memory of every project, its vectors, and the journals. Shared by threads and processes."""

    @property
    def id(self) -> str:
        """Unique id of the database."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The embedder that the database was created with."""

    def project(self, name: str) -> Project:
        """Returns one project; its first write creates it."""

    def close(self) -> None:
        """Closes the database. Using it afterwards is a `StorageError`."""


StorageFactory = Callable[[StoreRequest], Store]
"""Opens a store, and creates it if necessary; two callers that create it at once get the same one. An entry point of the group
`alma.storage`."""


@runtime_checkable
class ListsProjects(Protocol):
    """A store that can list its projects."""

    def project_names(self) -> Sequence[str]:
        """Returns the names of the projects that hold anything, in order."""


@runtime_checkable
class CachesVectors(Protocol):
    """A store whose vectors may be lost, and whose row numbers are valid for one opening only: no index snapshot outlives it."""

    def use_embedder(self, embed: Callable[[Sequence[str]], Sequence[bytes]], /) -> None:
        """Makes missing float16 vectors with this function, now and later."""


@runtime_checkable
class Movable(Protocol):
    """A store that can be copied into another store of this sort, on whatever database."""

    def copy_from(self, source: Any, progress: Callable[[int, int], None] | None = None) -> Moved:
        """Copies a `Movable` source into this new store. Resumes an interrupted copy. `StorageError` if the two differ afterwards."""

    def is_copy_of_another(self, source: Any) -> bool:
        """Returns True if the copy that was begun here is of something else than the source's present content."""

    def take_place(self) -> None:
        """Closes a draft and moves it to its destination. `ConflictError` if a store exists there meanwhile."""

    def discard(self) -> None:
        """Closes a draft and deletes it."""


@runtime_checkable
class Encryptable(Protocol):
    """A store that can encrypt its content."""

    @property
    def is_encrypted(self) -> bool:
        """True if no file may contain readable content, caches included."""


class NextVectors(Protocol):
    """The vectors of a store under another embedder, stored as they are made, so that an interrupted run can resume."""

    def progress(self) -> tuple[int, int]:
        """Returns the number of texts that have their vector, and of all texts, in all projects."""

    def missing(self, *, after: int, limit: int) -> Sequence[Unembedded]:
        """Returns at most `limit` passages without a vector, ascending by row, those after a row. Archived ones too: they may be restored."""

    def put(self, vectors: Mapping[Unembedded, bytes]) -> int:
        """Stores float16 vectors and returns the number of new texts. `ConflictError` if a change to another embedder was begun meanwhile."""

    def compared(self) -> Sequence[tuple[int, str]]:
        """Returns the texts of strategies that have no vector yet, each with its project."""

    def put_compared(self, vectors: Mapping[tuple[int, str], bytes]) -> None:
        """Stores the float16 vectors of such texts."""

    def switch(self) -> bool:
        """Makes them the store's vectors, in one transaction. Returns False, and changes nothing, while any is missing."""


@runtime_checkable
class Reembeddable(Protocol):
    """A store that can change its embedder."""

    def next_vectors(self, fingerprint: Fingerprint) -> NextVectors:
        """Returns the vectors made for this embedder so far, or a new set; one begun for another embedder is discarded."""

    def drop_left_over(self) -> int:
        """Deletes vectors of former embedders, and returns their number."""

    def renewed(self) -> Store:
        """Returns the same open store with its present embedder. Closing either closes both."""


@runtime_checkable
class Rebuildable(Protocol):
    """A store that can rebuild what follows from its journals."""

    def unembedded(self) -> Sequence[str]:
        """Returns the texts that need a vector and have no valid one."""

    def rebuild(self, vectors: Mapping[str, bytes], *, at: int) -> VerifyReport:
        """Rebuilds what is damaged, in one transaction, with float16 vectors of texts that have none, and reports what it could and could not
        rebuild.

        A rebuilt project gets a journal record, and every process reads its rows again. `at` is in microseconds since 1970.
        """


@runtime_checkable
class Copyable(Protocol):
    """A store in a file that can copy itself while others write to it."""

    @property
    def file(self) -> str:
        """The path of the file."""

    def backup(self, target: str, progress: Callable[[int, int], None] | None = None) -> Copied:
        """Copies a consistent view of all of it into an empty file. `progress` receives the amount done and the total. `StorageError` if it
        fails."""


@runtime_checkable
class SearchesVectors(Protocol):
    """A store that searches vectors itself, such as a database with a vector index."""

    def candidate_search(self, request: VectorsRequest) -> CandidateSearch | None:
        """Returns the search of a project; `None` if this database has none and each process must hold an index."""
