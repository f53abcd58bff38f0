"""The passages of one owner and kind."""

import numpy as np
from numpy.typing import NDArray

from alma.vectors.blocks import Block, Halves
from alma.vectors.columns import Column
from alma.vectors.smallest import SmallestTies
from alma.vectors.table import PassageTable

Integers = NDArray[np.int64]

RESERVE = 2


class Partition:
    """Live passages only: `rows[position]` is the table row of the vector at that position of the block.

    `memory_count` counts the distinct memories; a memory belongs to one partition.
    """

    __slots__ = ("_smallest", "block", "memory_count", "rows")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.rows = Column(np.int64)
        self.memory_count = 0
        self._smallest: SmallestTies | None = None

    def append(self, rows: Integers, vectors: Halves) -> Integers:
        """Adds passages; returns their positions."""
        start = len(self.rows)
        self.block.append(vectors)
        self.rows.append(rows)
        return np.arange(start, start + len(rows))

    def remove(self, positions: Integers, table: PassageTable) -> None:
        """Drops the passages at these positions. The last ones move into the gaps, so that it costs what is removed, not what is held."""
        rows = self.rows.values
        length = len(rows) - len(positions)
        holes = positions[positions < length]
        is_leaving = np.zeros(len(positions), dtype=np.bool_)
        is_leaving[positions[positions >= length] - length] = True
        movers = length + np.flatnonzero(~is_leaving)
        self.block.refill(holes, movers, length=length)
        rows[holes] = rows[movers]
        table.position.values[rows[holes]] = holes
        self.rows.cut(length)

    def count_memories(self, *, gone: Integers, memories: Integers, ties: Integers) -> None:
        """Learns which memories have left, and which have come or stayed with what tie."""
        self.memory_count += len(memories) - len(gone)
        if self._smallest is not None:
            self._smallest.update(gone, memories, ties)

    def smallest_ties(self, count: int, table: PassageTable) -> SmallestTies:
        """At least the `count` memories with the smallest ties, or all. Only the first call reads all passages."""
        needed = min(count, self.memory_count)
        if self._smallest is None or not self._smallest.suffices(needed):
            rows = self.rows.values
            memories, first = np.unique(table.memory.values[rows], return_index=True)
            self._smallest = SmallestTies(memories, table.tie.values[rows[first]], capacity=RESERVE * count)
        return self._smallest
