"""Flat float16 FAISS. The only module that imports FAISS, and it does so only when `FlatFaiss` is first created."""

from typing import Any

import numpy as np

from alma.errors import MissingDependencyError
from alma.vectors.blocks import Block, Comparison, Exact, Halves, Integers, Scan, Stored, Vector, not_beaten, widened

SPARE_PLACES = 16


class FlatFaiss:
    """Method for projects that are too large for numpy. Raises `MissingDependencyError` where FAISS is not installed."""

    def __init__(self) -> None:
        try:
            import faiss  # type: ignore[import-untyped, unused-ignore] # FAISS ships no types
        except ImportError as error:
            message = f"an index of this size needs FAISS, which cannot be imported ({error}): install faiss-cpu"
            raise MissingDependencyError(message) from error
        self.faiss: Any = faiss

    def new_block(self, dimension: int, /) -> Block:
        return FlatFaissBlock(self, dimension)

    def comparison(self, stored: Stored, /) -> Comparison:
        return Exact().comparison(widened(stored))

    def new_index(self, dimension: int) -> Any:
        """Returns an empty float16 index for inner products."""
        return self.faiss.IndexScalarQuantizer(dimension, self.faiss.ScalarQuantizer.QT_fp16, self.faiss.METRIC_INNER_PRODUCT)

    def search(self, index: Any, query: Vector, count: int) -> tuple[Vector, Integers]:
        """Returns the `count` greatest products, descending, and their positions.

        Runs in one thread: the scan of one query gains nothing from OpenMP, whose idle threads would spin on cores that other work needs.
        The setting belongs to the calling thread and is restored afterwards.
        """
        threads = self.faiss.omp_get_max_threads()
        self.faiss.omp_set_num_threads(1)
        try:
            products, positions = index.search(query[np.newaxis], count)
        finally:
            self.faiss.omp_set_num_threads(threads)
        return products[0], positions[0]


class FlatFaissBlock:
    """Float16 codes in a FAISS scalar quantizer, which compares all of them with each query."""

    __slots__ = ("_dimension", "_index", "_length", "_method", "_peak", "_view")

    def __init__(self, method: FlatFaiss, dimension: int) -> None:
        self._method = method
        self._dimension = dimension
        self._length = 0
        self._peak = 0
        self._view: Halves | None = None
        self._empty()

    def __len__(self) -> int:
        return self._length

    def append(self, vectors: Halves, /) -> None:
        if not len(vectors):
            return
        self._view = None
        self._index.add_sa_codes(_as_codes(vectors))
        self._length += len(vectors)
        self._peak = max(self._peak, self._length)

    def refill(self, holes: Integers, movers: Integers, /, *, length: int) -> None:
        halves = self.stored()
        halves[holes] = halves[movers]
        self._view = None if length else halves[:0].copy()
        self._index.codes.resize(length * self._index.code_size)
        self._index.ntotal = self._length = length

    def scan(self, query: Vector, /) -> Scan:
        return FlatFaissScan(self._method, self, self._index, query)

    def stored(self) -> Halves:
        if self._view is None:
            codes = self._method.faiss.rev_swig_ptr(self._index.codes.data(), self._length * self._index.code_size)
            self._view = codes.view(np.float16).reshape(-1, self._dimension)
        return self._view

    def compact(self) -> None:
        if self._peak > 2 * self._length:
            vectors = self.stored().copy()
            self._empty()
            self.append(vectors)

    def _empty(self) -> None:
        self._index = self._method.new_index(self._dimension)
        self._length = self._peak = 0
        self._view = np.empty((0, self._dimension), dtype=np.float16)


class FlatFaissScan:
    """Compares on demand: to order all products would take longer than to find the greatest.

    FAISS adds in another order than numpy, so its products differ in the last bits. They select candidates, with some to spare, and numpy
    computes the products that are returned.
    """

    __slots__ = ("_block", "_index", "_method", "_query")

    def __init__(self, method: FlatFaiss, block: FlatFaissBlock, index: Any, query: Vector) -> None:
        self._method, self._block, self._index, self._query = method, block, index, query

    def best(self, limit: int, /) -> tuple[Integers, Vector]:
        count = len(self._block)
        fetched = min(count, limit + SPARE_PLACES)
        if not fetched:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        products, positions = self._method.search(self._index, self._query, fetched)
        while fetched < count and products[-1] == products[limit - 1]:
            fetched = min(count, 8 * fetched)
            products, positions = self._method.search(self._index, self._query, fetched)
        return not_beaten(positions, self.at(positions), limit)

    def at(self, positions: Integers, /) -> Vector:
        return self._method.comparison(self._block.stored()[positions])(self._query)


def _as_codes(vectors: Stored) -> Any:
    return np.ascontiguousarray(vectors, dtype="<f2").view(np.uint8)
