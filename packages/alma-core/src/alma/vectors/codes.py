"""Codes of two bits a dimension: a small image of unit vectors that is read first, so that few of the vectors have to be read.

A rotation by fixed signs and a cosine transform makes the coordinates of any unit vector look normally distributed with a variance of
1 / dimension. Each is then rounded to one of the four levels that are best for a normal distribution (Max 1960, "Quantizing for minimum
distortion", table I). Nothing is learned from the vectors, so a code depends on its vector alone. An inner product of a unit query with
a rounded vector deviates from the exact one by `deviation`, as a normal variable: measured .0176 for 384 dimensions, .0175 by the formula.
"""

from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma.vectors.blocks import Bytes, Halves, Integers, Matrix, Vector, widened

LEVELS = np.array([-1.5104, -0.4528, 0.4528, 1.5104], dtype=np.float32)
DISTORTION = 0.1175
"""Mean square error of the four levels for a variance of 1."""
NOT_A_UNIT = 0.01
"""A vector whose squared length differs by more from 1 would be rounded badly."""
LEAST_DIMENSION = 32
"""Estimates of shorter vectors are rough, and FAISS leaves out some of many that are equal."""
LANES = 32
NIBBLE = np.uint8(0x0F)

_SEED = 20_260_101


@lru_cache(maxsize=4)
def rotation(dimension: int) -> Matrix:
    """Returns an orthogonal matrix, the same in every process: a cosine transform of coordinates with random signs."""
    places = np.arange(dimension)
    cosines = np.cos(np.pi / dimension * (places + 0.5) * places[:, np.newaxis]) * sqrt(2 / dimension)
    cosines[0] /= sqrt(2)
    signs = np.random.default_rng(_SEED).choice([-1.0, 1.0], dimension)
    return np.ascontiguousarray((cosines * signs).T, dtype=np.float32)


class Codes:
    """The codes of the vectors of a block, by position, in a FAISS index that compares 32 of them at once. Not thread-safe.

    Two dimensions share one of 16 centroids, the pairs of levels, so it is a product quantiser that needs no training (Guo et al. 2020 and
    André et al. 2021 describe its search). Takes a quarter of a byte a dimension.
    """

    __slots__ = ("_faiss", "_index", "_packer", "_places", "_rotation", "_shifts", "deviation")

    def __init__(self, faiss: Any, dimension: int) -> None:
        padded = dimension + dimension % 2
        self._faiss = faiss
        self._rotation = rotation(padded)
        self.deviation = sqrt(DISTORTION / padded)
        self._index = faiss.IndexPQFastScan(padded, padded // 2, 4, faiss.METRIC_INNER_PRODUCT)
        pairs = np.stack([np.repeat(LEVELS, 4), np.tile(LEVELS, 4)], axis=1) / np.float32(sqrt(padded))
        faiss.copy_array_to_vector(np.tile(pairs.ravel(), padded // 2), self._index.pq.centroids)
        self._index.is_trained = True
        self._packer = self._index.get_CodePacker()
        self._places, self._shifts = _layout(self._packer)

    @classmethod
    def unpacked(cls, faiss: Any, dimension: int, packed: Bytes, count: int) -> "Codes | None":
        """Returns the codes of `count` vectors that were packed before; `None` if they are not as many."""
        codes = cls(faiss, dimension)
        if len(packed) != (count + -count % LANES) // LANES * codes._packer.block_size:
            return None
        codes._resize(count)
        codes._blocks().reshape(-1)[:] = packed
        return codes

    def packed(self) -> Bytes:
        """Returns the codes as FAISS keeps them, whose layout may depend on its version, as a view."""
        return self._blocks().reshape(-1)

    def __len__(self) -> int:
        """Returns the number of codes."""
        return int(self._index.ntotal)

    def append(self, vectors: Halves, /) -> bool:
        """Appends the codes of vectors, and returns True. Returns False, and appends nothing, if one of them is no unit vector."""
        whole = widened(vectors)
        if (np.abs(np.vecdot(whole, whole) - 1) > NOT_A_UNIT).any():
            return False
        self._index.add(self._rotated(whole))
        return True

    def nearest(self, query: Vector, count: int, /) -> tuple[Vector, Integers]:
        """Returns the `count` greatest products with the rounded vectors, descending, and their positions. Of products that are all equal
        FAISS may leave out some."""
        products, positions = self._index.search(self._rotated(query[np.newaxis]), count)
        found = positions[0] >= 0
        return products[0][found], positions[0][found]

    def refill(self, holes: Integers, movers: Integers, /, *, length: int) -> None:
        """Copies the codes at `movers` over those at `holes` and drops all positions from `length` on."""
        self._put(holes, self._at(movers))
        self.cut(length)

    def cut(self, length: int, /) -> None:
        """Drops all positions from `length` on."""
        left = np.arange(length, min(len(self), length + -length % LANES))
        self._put(
            left, np.zeros((len(left), self._places.shape[1]), dtype=np.uint8)
        )  # FAISS appends by setting bits of what is 0
        self._resize(length)

    def _resize(self, length: int) -> None:
        end = length + -length % LANES
        self._index.ntotal = length
        self._index.ntotal2 = end
        self._index.codes.resize(end // LANES * self._packer.block_size)

    def _rotated(self, vectors: Matrix) -> Matrix:
        missing = len(self._rotation) - vectors.shape[1]
        return (np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors) @ self._rotation

    def _at(self, positions: Integers) -> NDArray[np.uint8]:
        """Returns the numbers of the centroids at some positions."""
        lanes = positions % LANES
        found = self._blocks()[positions[:, np.newaxis] // LANES, self._places[lanes]]
        return (found >> self._shifts[lanes, np.newaxis]) & NIBBLE

    def _put(self, positions: Integers, numbers: NDArray[np.uint8]) -> None:
        """Writes the numbers of the centroids at some positions."""
        blocks, lanes = self._blocks(), positions % LANES
        for shift in (0, 4):  # two lanes share a byte
            chosen = self._shifts[lanes] == shift
            rows, places = positions[chosen, np.newaxis] // LANES, self._places[lanes[chosen]]
            blocks[rows, places] = (blocks[rows, places] & (NIBBLE << (4 - shift))) | numbers[chosen] << shift

    def _blocks(self) -> NDArray[np.uint8]:
        """Returns the packed codes as a view, a row for each block of 32."""
        codes = self._index.codes
        packed: NDArray[np.uint8] = self._faiss.rev_swig_ptr(codes.get(), codes.size())
        return packed.reshape(-1, self._packer.block_size)


def _layout(packer: Any) -> tuple[Integers, NDArray[np.uint8]]:
    """Returns where FAISS puts the code of each lane of a block: its bytes, ascending, and by how much they are shifted."""
    places, shifts = [], []
    for lane in range(LANES):
        block = np.zeros((1, packer.block_size), dtype=np.uint8)
        packer.pack_1(np.full(packer.code_size, 0xFF, dtype=np.uint8), lane, block)
        places.append(np.flatnonzero(block[0]))
        shifts.append(4 if block.max() > NIBBLE else 0)
    return np.array(places), np.array(shifts, dtype=np.uint8)
