"""Protocols for searching vectors, in this process and outside of it."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from alma.types.stored import PassageScores, TextLengths, VectorChanges, VectorsRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from alma.types.stored import Integers, Vector


class ExactScorer(Protocol):
    """Scores memories by the vectors that the store holds, exactly. Thread-safe."""

    def score(self, query: "Vector", /, *, memories: "Integers") -> PassageScores:
        """Returns all live passages of the given memories with their exact cosine. Unknown memories are skipped."""

    def ties(self, memories: "Integers", /) -> tuple["Integers", "Integers"]:
        """Returns those of the memories (given ascending) that have a live passage, and the tie of each."""

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple["Integers", int]:
        """Returns memories that represent the partitions, and the number of all.

        All of them, if there are at most `all_up_to`; else the `otherwise` ones with the smallest ties, a sample that hardly changes as memories
        are added.
        """


class VectorIndex(ExactScorer, Protocol):
    """Finds near passages of one project. A cache: it may be dropped and rebuilt from the store. Thread-safe."""

    @property
    def upto(self) -> int:
        """Newest journal `seq` held; 0 for an empty index."""

    def apply(self, changes: VectorChanges, /) -> None:
        """Applies changes in journal order. Changes at or before `upto` are ignored. All or nothing."""

    def search(self, query: "Vector", /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """Returns the `limit` live passages of *each* partition with the greatest cosine: best first within a partition, equal ones by tie.

        An index that knows the kinds of partitions does so for each kind.
        """


class CandidateSearch(Protocol):
    """Finds passages near a question, often outside of the process, and may miss some. A cache of one project: it follows the journal, and may be
    dropped and filled again. `StorageError` from any method if it cannot be reached. Thread-safe.
    """

    @property
    def recall(self) -> float:
        """Average share of the true nearest passages that a search finds, at least; 1.0 for an exact search."""

    @property
    def upto(self) -> int:
        """Newest journal `seq` up to which it is complete; 0 if it is empty, or holds another project's or embedder's vectors."""

    def apply(self, changes: VectorChanges, /) -> None:
        """Applies changes in journal order, then stores their `upto`. Changes at or before `upto` are ignored; interrupted ones may be repeated."""

    def search(self, query: "Vector", /, *, partitions: Sequence[int], limit: int) -> "Integers":
        """Returns the memories of about the `limit` nearest passages of *each* partition, and of no other partition, ascending."""

    def clear(self) -> None:
        """Deletes all that it holds; `upto` is 0 afterwards."""

    def close(self) -> None:
        """Releases connections. May be called twice."""


@runtime_checkable
class StoredVectors(Protocol):
    """A project that returns its stored vectors by memory, so that no process must hold all of them."""

    def vectors_of(self, memories: Sequence[int]) -> VectorChanges:
        """Returns the live passages of memories with their vectors, as of `upto`."""

    def vectors_in(self, partitions: Sequence[int]) -> Iterator[VectorChanges]:
        """Returns all live passages of partitions with their vectors, in batches of some thousand, as a consistent view."""

    def ties_of(self, memories: Sequence[int]) -> tuple["Integers", "Integers"]:
        """Returns those of the memories that have a live passage with a vector, ascending, and the tie of each."""

    def smallest_ties(self, partitions: Sequence[int], limit: int) -> "Integers":
        """Returns the memories of partitions with the smallest ties, equal ones by row, of those that have a live passage with a vector."""

    def population(self, partitions: Sequence[int]) -> int:
        """Returns the number of memories of these partitions that have a live passage with a vector."""

    def touched(self, *, after: int) -> "Integers | None":
        """Returns the memories whose passages changed after a `seq`; `None` if rows were deleted since."""


@runtime_checkable
class Snapshotable(Protocol):
    """A project whose caches may be saved, so that a new process need not read all vectors and texts."""

    def vectors_at(self, passages: Sequence[int]) -> tuple["Integers", "NDArray[np.float16]"]:
        """Returns those of the passages that exist, archived ones too, in any order, and their vectors."""

    def text_lengths(self) -> TextLengths:
        """Returns the lengths of the texts as of now; `upto` is 0 if this process has not read any yet."""

    def hold_text_lengths(self, lengths: TextLengths) -> None:
        """Takes lengths that another process knew, unless this one has read some. It catches up from their `upto`."""


CandidateFactory = Callable[[VectorsRequest], CandidateSearch]
"""Opens the vectors of one project outside of the process, and may connect later. An entry point of the group `alma.vectors`."""
