"""The index inside the process, as a candidate search: a reference beside those outside of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from alma.protocols import VectorChanges, VectorsRequest
from alma.vectors import ProjectIndex, ascending
from alma.vectors.index import RECALL


class InProcessSearch:
    """Implements `alma.protocols.CandidateSearch` by a `ProjectIndex`, which is empty in each new process."""

    def __init__(self, request: VectorsRequest) -> None:
        self._dimension = request.fingerprint.dimension
        self.clear()

    @property
    def recall(self) -> float:
        """Exact in small partitions; in large ones nearly so."""
        return RECALL

    @property
    def upto(self) -> int:
        """Newest journal `seq` held."""
        return self._index.upto

    def apply(self, changes: VectorChanges, /) -> None:
        """Takes changes in journal order."""
        self._index.apply(changes)

    def search(self, query: NDArray[np.float32], /, *, partitions: Sequence[int], limit: int) -> NDArray[np.int64]:
        """Returns the memories of the `limit` nearest passages of each partition, ascending."""
        return ascending(self._index.search(query, partitions=partitions, limit=limit).memories)

    def clear(self) -> None:
        """Empties the index."""
        self._index = ProjectIndex(self._dimension)

    def close(self) -> None:
        """Nothing to release."""
