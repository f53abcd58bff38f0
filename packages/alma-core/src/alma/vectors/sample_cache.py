"""Cache of the vectors of recent samples, side by side. Every query is compared with them, and in their blocks they lie far apart."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from alma.protocols import PassageScores
from alma.vectors.blocks import Comparison, Integers, Vector

SAMPLES = 4
"""A sample of a thousand vectors takes about a megabyte."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Passages by table row, without scores, and a callback that compares a query with their vectors."""

    rows: Integers
    passages: PassageScores
    compare: Comparison

    def scored(self, query: Vector) -> PassageScores:
        """Returns the passages with their scores."""
        found = self.passages
        return PassageScores(found.passages, found.memories, found.partitions, found.ties, found.is_own, self.compare(query))


class KeptVectors:
    """Cache of a few samples and their gathered vectors. The content of a row never changes, so an entry is valid while rows keep their
    numbers."""

    def __init__(self) -> None:
        self._kept: list[tuple[Integers | None, Gathered]] = []

    def of(self, memories: Integers) -> Gathered | None:
        """Returns the entry for this very array of memories if nothing invalidated it."""
        return next((found for known, found in self._kept if known is memories), None)

    def with_rows(self, rows: Integers) -> Gathered | None:
        """Returns an entry with these rows that was gathered for an earlier array."""
        return next((found for _, found in self._kept if np.array_equal(found.rows, rows)), None)

    def keep(self, memories: Integers, found: Gathered) -> None:
        """Adds an entry and evicts the oldest."""
        others = [(known, kept) for known, kept in self._kept if kept is not found]
        self._kept = [(memories, found), *others][:SAMPLES]

    def invalidate(self, unchanged: Collection[int]) -> None:
        """Invalidates entries after a change, since their memories may have other rows now. Keeps arrays whose `id` is in `unchanged`."""
        self._kept = [(known if id(known) in unchanged else None, found) for known, found in self._kept]
