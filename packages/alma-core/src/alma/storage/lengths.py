"""How long the texts of a project's memories are: what BM25 sets the frequency of a word against."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

OTHER_WEIGHT = 0.5
"""What a word of another speaker weighs beside one of the owner's."""

PRIOR_LENGTH = 600.0
PRIOR_COUNT = 16

LengthRow = tuple[int, float]
"""Memory and a part of its length; a memory's parts come together."""


class TextLengths:
    """The weighted length of each memory's text in bytes, by row number.

    A cache: `upto` is the newest journal `seq` in it, `newest` the greatest row number.
    """

    def __init__(self) -> None:
        self.upto = 0
        self.count = 0
        self.newest = 0
        self._sum = 0.0
        self._lengths: NDArray[np.float32] = np.zeros(1024, dtype=np.float32)

    @property
    def total(self) -> float:
        """The lengths of all together."""
        return self._sum

    @property
    def mean(self) -> float:
        """The mean length, shrunk to that of a usual text."""
        return (self._sum + PRIOR_COUNT * PRIOR_LENGTH) / (self.count + PRIOR_COUNT)

    def relative(self, memories: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """The lengths of the memories, of the mean."""
        known = np.minimum(memories, len(self._lengths) - 1)
        lengths: NDArray[np.float64] = self._lengths[known].astype(np.float64)
        return lengths / self.mean

    def take(self, rows: Sequence[LengthRow], *, upto: int) -> None:
        """Takes in the lengths of new and changed memories. A memory whose text is gone has the length 0."""
        if rows:
            parts: dict[int, float] = {}
            for memory, length in rows:
                parts[memory] = parts.get(memory, 0.0) + length
            memories, lengths = np.fromiter(parts, dtype=np.int64), np.fromiter(parts.values(), dtype=np.float64)
            newest = max(parts)
            self._reserve(newest + 1)
            before = self._lengths[memories]
            self._sum += float(lengths.sum() - before.sum(dtype=np.float64))
            self.count += int(np.count_nonzero(lengths) - np.count_nonzero(before))
            self._lengths[memories] = lengths
            self.newest = max(self.newest, newest)
        self.upto = upto

    def _reserve(self, size: int) -> None:
        if size > len(self._lengths):
            grown = np.zeros(max(size, 2 * len(self._lengths)), dtype=np.float32)
            grown[: len(self._lengths)] = self._lengths
            self._lengths = grown
