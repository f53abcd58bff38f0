"""Flat float16 FAISS. The only module that imports FAISS, and only when the first block is made."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from alma.errors import MissingDependencyError
from alma.vectors.blocks import Halves, Integers, Vector

SPARE_PLACES = 16
SCORED_AT_ONCE = 2048


@cache
def load_faiss() -> Any:
    """The FAISS module. `MissingDependencyError` where it is not installed."""
    try:
        import faiss  # type: ignore[import-untyped, unused-ignore] # FAISS ships no types
    except ImportError as error:
        message = f"an index of this size needs FAISS, which cannot be imported ({error}): install faiss-cpu"
        raise MissingDependencyError(message) from error
    return faiss


class FlatFaissBlock:
    """Float16 codes in a FAISS scalar quantizer, searched exactly with inner products."""

    __slots__ = ("_dimension", "_faiss", "_index", "_peak")

    def __init__(self, dimension: int) -> None:
        self._faiss = load_faiss()
        self._dimension = dimension
        self._index = self._new_index()
        self._peak = 0

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def append(self, vectors: Halves, /) -> None:
        if len(vectors):
            self._index.add_sa_codes(_as_codes(vectors))
            self._peak = max(self._peak, len(self))

    def refill(self, holes: Integers, movers: Integers, /, *, length: int) -> None:
        halves = self._halves()
        halves[holes] = halves[movers]
        self._index.codes.resize(length * self._index.code_size)
        self._index.ntotal = length

    def best(self, query: Vector, /, *, limit: int) -> tuple[Integers, Vector]:
        fetched = min(len(self), limit + SPARE_PLACES)
        scores, positions = self._search(self._index, query, fetched)
        while fetched < len(self) and scores[-1] == scores[limit - 1]:
            fetched = min(len(self), 8 * fetched)
            scores, positions = self._search(self._index, query, fetched)
        if fetched > limit:
            shared = scores >= scores[limit - 1]
            return positions[shared], scores[shared]
        return positions, scores

    def score(self, query: Vector, positions: Integers, /) -> Vector:
        halves = self._halves()
        scores = np.empty(len(positions), dtype=np.float32)
        for start in range(0, len(positions), SCORED_AT_ONCE):
            chosen = halves[positions[start : start + SCORED_AT_ONCE]]
            index = self._new_index()
            index.add_sa_codes(_as_codes(chosen))
            found, places = self._search(index, query, len(chosen))
            scores[start + places] = found
        return scores

    def vectors(self) -> Halves:
        return self._halves().copy()

    def compact(self) -> None:
        if self._peak > 2 * len(self):
            vectors = self.vectors()
            self._index = self._new_index()
            self._peak = 0
            self.append(vectors)

    def _new_index(self) -> Any:
        return self._faiss.IndexScalarQuantizer(
            self._dimension, self._faiss.ScalarQuantizer.QT_fp16, self._faiss.METRIC_INNER_PRODUCT
        )

    def _halves(self) -> Halves:
        """The codes themselves, not a copy; valid until the next append."""
        if not len(self):
            return np.empty((0, self._dimension), dtype=np.float16)
        codes = self._faiss.rev_swig_ptr(self._index.codes.data(), len(self) * self._index.code_size)
        halves: Halves = codes.view(np.float16).reshape(-1, self._dimension)
        return halves

    def _search(self, index: Any, query: Vector, count: int) -> tuple[Vector, Integers]:
        if not count:
            return np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64)
        with _one_thread(self._faiss):
            scores, positions = index.search(query[np.newaxis], count)
        return scores[0], positions[0]


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    """A scan of one query gains nothing from OpenMP threads, and idle ones spin on the cores that others need. The setting is the thread's own."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _as_codes(vectors: Halves) -> Any:
    return np.ascontiguousarray(vectors, dtype="<f2").view(np.uint8)
