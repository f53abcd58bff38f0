"""The passages of one owner and kind, or of several that are too few for a block of their own."""

import numpy as np
from numpy.typing import NDArray

from alma.vectors.blocks import Method
from alma.vectors.shelf import Shelf
from alma.vectors.smallest import SmallestTies
from alma.vectors.table import PassageTable

Integers = NDArray[np.int64]

RESERVE = 2


class Partition:
    """A shelf, the method that stores and compares its vectors, and its memories with the smallest ties (computed on first use)."""

    __slots__ = ("_smallest", "method", "shelf")

    def __init__(self, method: Method, dimension: int) -> None:
        self.method = method
        self.shelf = Shelf(method.new_block(dimension))
        self._smallest: SmallestTies | None = None

    def switch(self, method: Method, dimension: int) -> None:
        """Moves the vectors to another method."""
        block = method.new_block(dimension)
        block.append(self.shelf.block.stored().astype(np.float16, copy=False))
        self.method, self.shelf.block = method, block

    def count_memories(self, *, gone: Integers, memories: Integers, ties: Integers) -> None:
        """Updates the smallest ties after memories left, arrived or changed their tie."""
        if self._smallest is not None:
            self._smallest.update(gone, memories, ties)

    def smallest_ties(self, count: int, table: PassageTable) -> SmallestTies:
        """Returns at least the `count` memories with the smallest ties, or all if there are fewer. Only the first call reads all
        passages."""
        if self._smallest is None or not self._smallest.suffices(count):
            rows = self.shelf.all_rows()
            memories, ties = table.memory.values[rows], table.tie.values[rows]
            if not (memories[1:] > memories[:-1]).all():
                memories, first = np.unique(memories, return_index=True)
                ties = ties[first]
            self._smallest = SmallestTies(memories, ties, capacity=RESERVE * count)
        return self._smallest
