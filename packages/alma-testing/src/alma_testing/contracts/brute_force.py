"""Reference vector index: a dictionary with a linear search."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alma.protocols import PassageScores, VectorChanges

Vector = NDArray[np.float32]


class Held(NamedTuple):
    """A live passage."""

    passage: int
    memory: int
    partition: int
    tie: int
    is_own: bool
    vector: Vector


@dataclass(slots=True)
class BruteForce:
    """The content of an index that took the same changes."""

    upto: int = 0
    live: dict[int, Held] = field(default_factory=dict)

    def apply(self, changes: VectorChanges) -> None:
        """Takes changes as a `VectorIndex` has to."""
        if changes.upto <= self.upto:
            return
        self.upto = changes.upto
        vectors = changes.vectors.astype(np.float32)
        columns = (changes.passages, changes.memories, changes.partitions, changes.ties, changes.is_own)
        rows = zip(*(column.tolist() for column in columns), vectors, strict=True)
        for passage, memory, partition, tie, is_own, vector in rows:
            self.live[passage] = Held(passage, memory, partition, tie, is_own, vector)
        for passage in changes.removed.tolist():
            self.live.pop(passage, None)

    def best(self, query: Vector, partition: int) -> list[tuple[float, int, int]]:
        """Returns score, tie and row of all passages of a partition, best first, equal scores by tie."""
        found = [(score(query, held), held.tie, held.passage) for held in self.live.values() if held.partition == partition]
        return sorted(found, key=lambda each: (-each[0], each[1], each[2]))

    def of_memories(self, memories: Collection[int]) -> set[int]:
        """Returns the passages of the memories."""
        return {held.passage for held in self.live.values() if held.memory in memories}

    def ties(self, partitions: Iterable[int]) -> list[tuple[int, int]]:
        """Returns tie and row of each memory of the partitions, by tie."""
        chosen = set(partitions)
        return sorted({(held.tie, held.memory) for held in self.live.values() if held.partition in chosen})


def score(query: Vector, held: Held) -> float:
    """Returns the inner product of the query with the stored vector."""
    return float(np.asarray(query, np.float64) @ held.vector.astype(np.float64))


def by_partition(found: PassageScores) -> dict[int, list[tuple[float, int, int]]]:
    """Returns score, tie and row of the results for each partition, in their order."""
    lists: dict[int, list[tuple[float, int, int]]] = {}
    columns: Sequence[list[float]] = [array.tolist() for array in (found.partitions, found.scores, found.ties, found.passages)]
    for partition, value, tie, passage in zip(*columns, strict=True):
        lists.setdefault(int(partition), []).append((value, int(tie), int(passage)))
    return lists
