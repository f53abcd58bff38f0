"""Codes of two bits a dimension: a small image of unit vectors that is read first, so that few of the vectors have to be read.

A rotation by fixed signs and a cosine transform makes the coordinates of any unit vector look normally distributed with a variance of
1 / dimension. Each is then rounded to one of the four levels that are best for a normal distribution (Max 1960, "Quantizing for minimum
distortion", table I). Nothing is learned from the vectors, so a code depends on its vector alone. Rounding shortens a vector by its mean square
error, for which estimates are corrected. They deviate from the exact products by `deviation`, as normal variables.

The only module that imports FAISS, when the first codes are made.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

# Not `np.fft` and `np.random`: the thread that makes codes would import them, and a child that is forked meanwhile waits for ever.
from numpy.fft import rfft
from numpy.random import default_rng
from numpy.typing import NDArray

from alma.errors import MissingDependencyError
from alma.vectors.arrays import Halves, Integers, Matrix, Vector, widen
from alma_learning import hold_forks

LEVELS = np.array([-1.5104, -0.4528, 0.4528, 1.5104], dtype=np.float32)
DISTORTION = 0.1175
"""Mean square error of the four levels for a variance of 1."""
NOT_A_UNIT = 0.01
"""A vector whose squared length differs by more from 1 would be rounded badly."""
LEAST_DIMENSION = 32
"""Estimates of shorter vectors are rough, and FAISS leaves out some of many that are equal."""

_SEED = 20_260_101

Bits = NDArray[np.uint8]


def _faiss() -> Any:
    """Returns the module. Raises `MissingDependencyError` where FAISS is not installed."""
    try:
        with hold_forks():
            import faiss  # type: ignore[import-untyped, unused-ignore] # FAISS ships no types
    except ImportError as error:
        message = f"an index of this size needs FAISS, which cannot be imported ({error}): install faiss-cpu"
        raise MissingDependencyError(message) from error
    return faiss


def codes_layout() -> str:
    """Names the layout of saved codes, so that none is read that another version wrote, or without FAISS."""
    try:
        return f"codes of one list of FAISS {_faiss().__version__}"
    except MissingDependencyError:
        return "no codes"


@lru_cache(maxsize=4)
def _turns(dimension: int) -> tuple[Integers, Vector, NDArray[np.complex64]]:
    """Returns the order in which coordinates are transformed, their signs in this order, and the factors of the transform."""
    order = np.r_[0:dimension:2, dimension - 1 : 0 : -2]
    signs = default_rng(_SEED).choice([-1.0, 1.0], dimension)[order]
    factors = np.exp(-0.5j * np.pi / dimension * np.arange(dimension // 2 + 1)) * sqrt(2 / dimension)
    factors[0] /= sqrt(2)
    return order, signs.astype(np.float32), factors.astype(np.complex64)


def rotate(vectors: Matrix) -> Matrix:
    """Returns vectors (n, d), d even, after an orthogonal rotation, the same in every process: the cosine transform of coordinates with random
    signs.

    By the Fourier transform of a real sequence (Makhoul 1980, "A fast cosine transform in one and two dimensions"), not by a product with a matrix:
    codes are made in a thread of their own, and a fork in the middle of a product of OpenBLAS leaves the process waiting for ever. 512 vectors of
    384 dimensions take 2.9 ms for .8, of 1,536 dimensions 9.4 for 13.4 (30 November 2026).
    """
    order, signs, factors = _turns(vectors.shape[1])
    turned = rfft(vectors[:, order] * signs) * factors
    return np.concatenate([turned.real, -turned.imag[:, -2:0:-1]], axis=1)


class Codes:
    """The codes of vectors, numbered from 0, in a FAISS index that compares 32 of them at once. Not thread-safe.

    Two dimensions share one of 16 centroids, the pairs of levels, so it is a product quantiser that needs no training (Guo et al. 2020 and
    André et al. 2021 describe its search). Takes a quarter of a byte a dimension, and 8 bytes. The index is an inverted file of one list, since a
    flat one takes no selector.
    """

    __slots__ = ("_faiss", "_index", "_padding", "deviation")

    def __init__(self, dimension: int, saved: Bits | None = None) -> None:
        """Takes codes that were saved by `packed`, or begins without any."""
        self._faiss = faiss = _faiss()
        padded = dimension + dimension % 2
        self._padding, self.deviation = padded - dimension, sqrt(DISTORTION / (1 - DISTORTION) / padded)
        self._index = self._empty(padded) if saved is None else faiss.deserialize_index(saved)

    def _empty(self, dimension: int) -> Any:
        faiss = self._faiss
        middle = faiss.IndexFlat(dimension, faiss.METRIC_INNER_PRODUCT)
        middle.add(np.zeros((1, dimension), dtype=np.float32))
        index = faiss.IndexIVFPQFastScan(middle, dimension, 1, dimension // 2, 4, faiss.METRIC_INNER_PRODUCT)
        index.by_residual = False
        pairs = np.stack([np.repeat(LEVELS, 4), np.tile(LEVELS, 4)], axis=1) / np.float32(sqrt(dimension))
        faiss.copy_array_to_vector(np.tile(pairs.ravel(), dimension // 2), index.pq.centroids)
        index.is_trained = True
        index.referenced_objects = [middle]  # as FAISS's own constructor does: the list does not own its quantiser
        return index

    def packed(self) -> Bits:
        """Returns the codes as FAISS writes them, whose layout may depend on its version."""
        packed: Bits = self._faiss.serialize_index(self._index)
        return packed

    def __len__(self) -> int:
        """Returns the number of codes."""
        return int(self._index.ntotal)

    def append(self, vectors: Halves | Matrix, /) -> bool:
        """Appends the codes of vectors, and returns True. Returns False, and appends nothing, if one of them is no unit vector."""
        whole = widen(vectors)
        if (np.abs(np.vecdot(whole, whole) - 1) > NOT_A_UNIT).any():
            return False
        with self._one_thread():
            self._index.add(self._rotate(whole))
        return True

    def nearest(self, query: Vector, count: int, /, among: Bits | None) -> tuple[Vector, Integers]:
        """Returns estimates of the `count` greatest products with vectors, descending, and the numbers of these: of all, or of those whose bits are
        set. Of estimates that are all equal FAISS may leave out some."""
        parameters = None
        if among is not None:
            parameters = self._faiss.IVFSearchParameters(nprobe=1, sel=self._faiss.IDSelectorBitmap(among))
        with self._one_thread():
            products, numbers = self._index.search(self._rotate(query[np.newaxis]), count, params=parameters)
        found = numbers[0] >= 0
        return products[0][found] / np.float32(1 - DISTORTION), numbers[0][found]

    def _rotate(self, vectors: Matrix) -> Matrix:
        return rotate(np.pad(vectors, ((0, 0), (0, self._padding))) if self._padding else vectors)

    @contextmanager
    def _one_thread(self) -> Iterator[None]:
        """Runs FAISS in one thread: the scan of one query gains nothing from OpenMP, whose idle threads would spin on cores that other work
        needs. The setting belongs to the calling thread and is restored afterwards."""
        threads = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1)
        try:
            yield
        finally:
            self._faiss.omp_set_num_threads(threads)
