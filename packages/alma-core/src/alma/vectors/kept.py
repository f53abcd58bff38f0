"""The vectors of the samples that were asked for last, side by side: they are compared with every question, and lie far apart in their blocks."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from alma.protocols import PassageScores
from alma.vectors.blocks import Comparison, Integers, Vector

SAMPLES = 4
"""A sample of a thousand vectors takes about a megabyte."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Passages by table row, without scores, and how a query compares with their vectors."""

    rows: Integers
    passages: PassageScores
    compare: Comparison

    def scored(self, query: Vector) -> PassageScores:
        """The passages with their scores."""
        found = self.passages
        return PassageScores(found.passages, found.memories, found.partitions, found.ties, found.is_own, self.compare(query))


class KeptVectors:
    """A few samples with what was gathered of them. What a row holds never changes, so that it stays good for as long as rows keep their numbers."""

    def __init__(self) -> None:
        self._kept: list[tuple[Integers | None, Gathered]] = []

    def of(self, memories: Integers) -> Gathered | None:
        """What was gathered of this very array of memories since the last change."""
        return next((found for known, found in self._kept if known is memories), None)

    def with_rows(self, rows: Integers) -> Gathered | None:
        """What was gathered of these rows for an earlier array."""
        return next((found for _, found in self._kept if np.array_equal(found.rows, rows)), None)

    def keep(self, memories: Integers, found: Gathered) -> None:
        """Keeps it; what was kept longest goes."""
        others = [(known, kept) for known, kept in self._kept if kept is not found]
        self._kept = [(memories, found), *others][:SAMPLES]

    def let_go(self, unchanged: Collection[int]) -> None:
        """Something was changed: the memories of an array may have other rows now, unless its `id` is among those of the unchanged ones."""
        self._kept = [(known if id(known) in unchanged else None, found) for known, found in self._kept]
