"""Blocks whose codes come from a snapshot. Their vectors stay in the store until they are needed."""

from collections.abc import Callable
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from alma.vectors.blocks import Bytes, Halves, Integers, Scan, Vector, not_beaten
from alma.vectors.codes import Codes
from alma.vectors.columns import Column, grown_capacity
from alma.vectors.flat_faiss import ENCODED_AT_ONCE, CodedScan, FlatFaiss

COMPARED_AT_ONCE = 4_096
MISSED, NOT_FETCHED, GONE = -2, -1, 0
"""Where the vector of a position is: the store did not have it, it was not asked for, it is zeros; else its place."""

Fetch = Callable[[Integers], tuple[Integers, Halves]]
"""Returns which of the positions, by their place, the store has a vector for, and these vectors."""


class FetchedBlock:
    """Codes select, as in a `FlatFaissBlock`. Vectors are fetched when a query is compared with them, and kept.

    A vector that the store does not have counts as zeros, and is asked for again when it is compared again: its passage was removed since, or is
    newer than what the calling thread may see. `finish_some` fetches the others, a few at a time. Vectors are kept in the order in which they came,
    so that few take little memory.
    """

    __slots__ = ("_count", "_fetch", "_halves", "_lock", "_method", "_places", "codes")

    def __init__(self, method: FlatFaiss, dimension: int, codes: Codes, fetch: Fetch) -> None:
        self._method, self._fetch = method, fetch
        self.codes: Codes | None = codes
        self._places = Column(np.int32)
        self._places.append(np.full(len(codes), NOT_FETCHED, dtype=np.int32))
        self._halves: Halves = np.empty(
            (len(codes) + 1, dimension), dtype=np.float16
        )  # memory that is not written to is not used
        self._halves[GONE] = 0
        self._count = 1
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._places)

    def append(self, vectors: Halves, /) -> None:
        self._places.append(self._kept(vectors))
        if self.codes is not None:
            with self._method.one_thread():
                self.codes = self.codes if self.codes.append(vectors) else None

    def refill(self, holes: Integers, movers: Integers, /, *, length: int) -> None:
        self._places.values[holes] = self._places.values[movers]
        self._places.cut(length)
        if self.codes is not None:
            self.codes.refill(holes, movers, length=length)

    def scan(self, query: Vector, /) -> Scan:
        return CodedScan(self._method, self, query)

    def best_of_all(self, query: Vector, limit: int) -> tuple[Integers, Vector]:
        """Returns what a scan does, without codes. Fetches all vectors."""
        positions = np.arange(len(self))
        parts = [
            self._method.comparison(self.at(positions[start : start + COMPARED_AT_ONCE]))(query)
            for start in range(0, len(positions), COMPARED_AT_ONCE)
        ]
        return not_beaten(None, np.concatenate([np.empty(0, dtype=np.float32), *parts]), limit)

    def at(self, positions: Integers, /) -> Halves:
        self._take(positions[self._places.values[positions] < GONE])
        places = self._places.values[positions]  # before the vectors, which may become more in another thread
        return self._halves[np.maximum(places, GONE)]

    def stored(self) -> Halves:
        return self.at(np.arange(len(self)))

    def compact(self) -> None:
        """Vectors of removed passages leave with the process."""

    @property
    def is_unfinished(self) -> bool:
        return bool((self._places.values == NOT_FETCHED).any())

    def finish_some(self) -> bool:
        missing = np.flatnonzero(self._places.values == NOT_FETCHED)
        some = missing[:ENCODED_AT_ONCE]
        self._take(some)
        left = some[self._places.values[some] == NOT_FETCHED]
        self._places.values[left] = MISSED
        return len(missing) > len(some)

    def finish(self) -> None:
        while self.finish_some():
            pass

    def fetch_again(self, positions: Integers) -> None:
        """Fetches these vectors when they are compared next: another passage stands for them now."""
        self._places.values[positions] = NOT_FETCHED

    def drop_unfinished(self) -> None:
        self._lock = RLock()

    def packed_codes(self) -> Bytes | None:
        return None if self.codes is None else self.codes.packed()

    def _take(self, positions: Integers) -> None:
        """Fetches vectors. Where several threads fetch the same, the last stays."""
        if len(positions):
            found, vectors = self._fetch(positions)
            self._places.values[positions[found]] = self._kept(vectors)

    def _kept(self, vectors: Halves) -> NDArray[np.int32]:
        """Keeps vectors and returns their places."""
        with self._lock:
            start, self._count = self._count, self._count + len(vectors)
            if self._count > len(self._halves):
                grown = np.empty((grown_capacity(len(self._halves), self._count), self._halves.shape[1]), dtype=np.float16)
                grown[:start] = self._halves[:start]
                self._halves = grown
            self._halves[start : self._count] = vectors
            return np.arange(start, self._count, dtype=np.int32)
