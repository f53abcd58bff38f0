"""Flat float16 FAISS, with codes where there are many vectors. The only module that imports FAISS, when `FlatFaiss` is first created."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from alma.errors import MissingDependencyError
from alma.vectors.blocks import Block, Bytes, Comparison, Exact, Halves, Integers, Scan, Stored, Vector, not_beaten, widened
from alma.vectors.codes import LEAST_DIMENSION, Codes

SPARE_PLACES = 16
RESCORED = 4
"""At least this many candidates for each place are compared exactly."""
MARGIN = 3.0
"""The last place must be better than the estimate of the last candidate by this many deviations of an estimate."""
ENCODED_AT_ONCE = 512
"""Takes a few milliseconds. For so long a write may wait."""
MOST_RESCORED = 16
"""If more than one in this many vectors had to be compared exactly, all are."""


class FlatFaiss:
    """Method for projects that are too large for numpy. Raises `MissingDependencyError` where FAISS is not installed."""

    def __init__(self, *, codes_above: int = sys.maxsize) -> None:
        self.codes_above = codes_above
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
        """Returns the `count` greatest products, descending, and their positions."""
        with self.one_thread():
            products, positions = index.search(query[np.newaxis], count)
        return products[0], positions[0]

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Runs FAISS in one thread: the scan of one query gains nothing from OpenMP, whose idle threads would spin on cores that other work
        needs. The setting belongs to the calling thread and is restored afterwards."""
        threads = self.faiss.omp_get_max_threads()
        self.faiss.omp_set_num_threads(1)
        try:
            yield
        finally:
            self.faiss.omp_set_num_threads(threads)


def codes_layout() -> str:
    """Names the layout of saved codes. Raises `MissingDependencyError` where FAISS is not installed."""
    return f"codes of FAISS {FlatFaiss().faiss.__version__}"


class FlatFaissBlock:
    """Float16 numbers in a FAISS scalar quantizer, which compares all of them with each query.

    Above `codes_above` unit vectors there may be codes, too, so that a query is compared exactly with a few hundred candidates only. They
    are made on demand, follow all changes, and stay until half of that is left or a vector comes that is no unit vector. When many
    vectors are added at once, theirs have to be made before the codes are used again.
    """

    __slots__ = ("_dimension", "_index", "_is_codable", "_length", "_made", "_method", "_peak", "_view", "codes")

    def __init__(self, method: FlatFaiss, dimension: int) -> None:
        self._method = method
        self._dimension = dimension
        self._length = 0
        self._peak = 0
        self._view: Halves | None = None
        self._is_codable = True
        self._made: Codes | None = None
        self.codes: Codes | None = None
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
        if self.codes is not None and len(vectors) <= ENCODED_AT_ONCE:
            self._encode(self.codes, vectors)
        elif self.codes is not None:
            self.codes, self._made = None, self.codes

    def refill(self, holes: Integers, movers: Integers, /, *, length: int) -> None:
        halves = self.stored()
        halves[holes] = halves[movers]
        self._view = None if length else halves[:0].copy()
        self._index.codes.resize(length * self._index.code_size)
        self._index.ntotal = self._length = length
        if length <= self._method.codes_above // 2:
            self.codes = self._made = None
        if self.codes is not None:
            self.codes.refill(holes, movers, length=length)
        if self._made is not None:  # what moved is encoded again
            self._made.cut(min(len(self._made), length, *holes.tolist()))

    def scan(self, query: Vector, /) -> Scan:
        return CodedScan(self._method, self, query)

    def best_of_all(self, query: Vector, limit: int) -> tuple[Integers, Vector]:
        """Returns what a scan does, without codes.

        FAISS adds in another order than numpy, so its products differ in the last bits. They select, with some to spare, and numpy computes the
        products that are returned.
        """
        count = self._length
        fetched = min(count, limit + SPARE_PLACES)
        if not fetched:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        products, positions = self._method.search(self._index, query, fetched)
        while fetched < count and products[-1] == products[limit - 1]:
            fetched = min(count, 8 * fetched)
            products, positions = self._method.search(self._index, query, fetched)
        return not_beaten(positions, self._method.comparison(self.at(positions))(query), limit)

    def at(self, positions: Integers, /) -> Halves:
        return self.stored()[positions]

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

    @property
    def is_unfinished(self) -> bool:
        return self.codes is None and self._is_codable and self._length > self._method.codes_above

    def finish_some(self) -> bool:
        if not self._is_codable:
            return False
        made = self._made = Codes(self._method.faiss, self._dimension) if self._made is None else self._made
        return self._encode(made, self.stored()[len(made) : len(made) + ENCODED_AT_ONCE]) and len(made) < self._length

    def finish(self) -> None:
        while self.finish_some():
            pass
        self.codes, self._made = self._made, None

    def drop_unfinished(self) -> None:
        self._made = None

    def packed_codes(self) -> Bytes | None:
        if self.is_unfinished:
            self.finish()
        return None if self.codes is None else self.codes.packed()

    def _encode(self, codes: Codes, vectors: Halves) -> bool:
        """Appends codes of vectors, and returns True. From a vector on that is no unit vector the block has no codes, and it returns False."""
        with self._method.one_thread():
            self._is_codable = codes.append(vectors)
        if not self._is_codable:
            self.codes = self._made = None
        return self._is_codable

    def _empty(self) -> None:
        self.codes = self._made = None
        self._is_codable = self._dimension >= LEAST_DIMENSION
        self._index = self._method.new_index(self._dimension)
        self._length = self._peak = 0
        self._view = np.empty((0, self._dimension), dtype=np.float16)


class CodedBlock(Block, Protocol):
    """What a `CodedScan` scans."""

    @property
    def codes(self) -> Codes | None:
        """The codes of all vectors; `None` where there are none."""

    def best_of_all(self, query: Vector, limit: int) -> tuple[Integers, Vector]:
        """Returns what a scan does, without codes."""


class CodedScan:
    """Compares on demand: to order all products would take longer than to find the greatest.

    Codes select candidates, and numpy computes the products that are returned. One of the best may be missed: measured, fewer than one in
    a hundred of the best 50.
    """

    __slots__ = ("_block", "_method", "_query")

    def __init__(self, method: FlatFaiss, block: CodedBlock, query: Vector) -> None:
        self._method, self._block, self._query = method, block, query

    def best(self, limit: int, /) -> tuple[Integers, Vector]:
        found = None if self._block.codes is None else self._best_by_codes(self._block.codes, limit)
        return found or self._block.best_of_all(self._query, limit)

    def _best_by_codes(self, codes: Codes, limit: int) -> tuple[Integers, Vector] | None:
        """Returns the best of the candidates that the codes select; `None` if these would be too many."""
        fetched = RESCORED * limit
        margin = MARGIN * codes.deviation * float(np.linalg.norm(self._query))
        while MOST_RESCORED * fetched <= len(codes):
            with self._method.one_thread():
                estimates, candidates = codes.nearest(self._query, fetched)
            positions, products = not_beaten(candidates, self.at(candidates), limit)
            if len(products) >= limit and products.min() >= estimates[-1] + margin:
                return positions, products
            fetched *= 4
        return None

    def at(self, positions: Integers, /) -> Vector:
        return self._method.comparison(self._block.at(positions))(self._query)


def _as_codes(vectors: Stored) -> Any:
    return np.ascontiguousarray(vectors, dtype="<f2").view(np.uint8)
