"""The small contracts between the rooms. Every implementation passes the contract tests in `alma.testing`.

Row numbers (`memory`, `passage`, `partition`) are handles of one database: opaque, never shown to users, never used to break a tie.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from alma.types.embedding import Fingerprint
from alma.types.partition import Partition
from alma.types.prompt import TokenCounter as TokenCounter  # one method, so a callable; its home is beside its only user

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Matrix = NDArray[np.float32]
    Vector = NDArray[np.float32]

Clock = Callable[[], datetime]
"""Gives the present, aware, in UTC."""


class Embedder(Protocol):
    """Turns texts into vectors. Thread-safe."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Which model this is, and how it prepares texts."""

    def embed(self, texts: Sequence[str], /) -> "Matrix":
        """One L2-normalised, finite row a text, in order, shape (len(texts), dimension). `EmbeddingError` if that cannot be."""


class LLM(Protocol):
    """A language model; only ever an optional extra."""

    def complete(self, prompt: str, /) -> str:
        """The model's answer."""


@dataclass(frozen=True, slots=True)
class VectorChanges:
    """What happened to the passages of one project since some `seq`, up to and with `upto`. All arrays have one entry a passage.

    `removed` are passage rows that are tombstones from now on; a passage both added and removed is removed. `ties` are 64-bit content hashes
    of the passages' memories: they order equal scores and choose the background sample.
    """

    upto: int
    passages: "Integers"
    memories: "Integers"
    partitions: "Integers"
    is_own: "NDArray[np.bool_]"
    ties: "Integers"
    vectors: "NDArray[np.float16]"
    removed: "Integers"


@dataclass(frozen=True, slots=True)
class PassageScores:
    """Scored passages, as parallel arrays. `ties` as in `VectorChanges`."""

    passages: "Integers"
    memories: "Integers"
    partitions: "Integers"
    ties: "Integers"
    is_own: "NDArray[np.bool_]"
    scores: "Vector"


@dataclass(frozen=True, slots=True)
class Candidate:
    """What ranking needs of a memory, without its text. `seen_at` is in microseconds since 1970."""

    memory: int
    partition: int
    confidence: float
    successes: float | None
    trials: float | None
    seen_at: int
    content_hash: bytes
    used: int
    ignored: int
    thumbs_up: int
    thumbs_down: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory is kept."""

    memory: int
    partition: Partition
    is_archived: bool


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """How many memories a partition holds, and when its oldest and newest were made."""

    partition: Partition
    count: int
    oldest: datetime
    newest: datetime


@dataclass(frozen=True, slots=True)
class TextScores:
    """Memories by full text, as parallel arrays. Scores are shares in [0, 1) of what a perfect match would have; one not listed has 0."""

    memories: "Integers"
    scores: "NDArray[np.float64]"


class TextQuery(Protocol):
    """The words of one question, put to the full text of one project."""

    def all(self) -> TextScores:
        """Every memory of the scope that has any of the words, in no order."""

    def candidates(self, limit: int) -> "Integers":
        """At most `limit` memories of the scope that are likely to score best."""

    def score(self, memories: "Integers") -> TextScores:
        """Those of the given memories that have any of the words, in no order, scored as `all` scores them."""


class VectorIndex(Protocol):
    """Finds near passages of one project. A cache: may be dropped and rebuilt from the store. Thread-safe."""

    @property
    def upto(self) -> int:
        """Newest journal `seq` held; 0 for an empty index."""

    def apply(self, changes: VectorChanges, /) -> None:
        """Takes changes in journal order. Changes at or before `upto` are ignored. All or nothing."""

    def search(self, query: "Vector", /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """The `limit` live passages of *each* partition with the greatest cosine; within a partition best first, equal ones by tie."""

    def score(self, query: "Vector", /, *, memories: "Integers") -> PassageScores:
        """All live passages of the given memories with their cosine, exactly. Unknown memories are left out."""

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple["Integers", int]:
        """Memories of the partitions that stand for all of them, and how many there are.

        All, if there are at most `all_up_to`; else the `otherwise` ones with the smallest tie, which stay nearly the same as others are added.
        """
