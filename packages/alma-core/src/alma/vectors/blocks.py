"""The vectors of one partition, without gaps, addressed by position."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from alma.vectors.columns import grown_capacity

Integers = NDArray[np.int64]
Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Halves = NDArray[np.float16]
Stored = NDArray[np.float32] | NDArray[np.float16]
Comparison = Callable[[Vector], Vector]
"""Gives the inner products of a query with some vectors, by their order."""


class Scan(Protocol):
    """A query compared with the vectors of a block, valid until the block's next change."""

    def best(self, limit: int, /) -> tuple[Integers, Vector]:
        """Positions, in no order, and inner products of every vector that is not beaten by `limit` others; so more than `limit` when the
        last place is shared. `limit` is at least 1."""

    def at(self, positions: Integers, /) -> Vector:
        """The inner products of the vectors at these positions, bit by bit as `best` finds them."""


class Block(Protocol):
    """Dense vectors that can be searched. Equal vectors get equal scores, bit by bit, wherever they stand. Not thread-safe."""

    def __len__(self) -> int:
        """How many vectors it holds."""

    def append(self, vectors: Halves, /) -> None:
        """Adds vectors, shape (n, dimension), at the positions from `len` on."""

    def refill(self, holes: Integers, movers: Integers, /, *, length: int) -> None:
        """Copies the vectors at `movers` over those at `holes` and forgets all positions from `length` on."""

    def scan(self, query: Vector, /) -> Scan:
        """Compares a query with the vectors."""

    def stored(self) -> Stored:
        """All vectors by position: not a copy, and only valid until the next change."""

    def compact(self) -> None:
        """Gives spare memory back."""


class Method(Protocol):
    """One way to store and compare vectors."""

    def new_block(self, dimension: int, /) -> Block:
        """An empty block."""

    def comparison(self, stored: Stored, /) -> Comparison:
        """Inner products with rows of what its blocks store, bit by bit as a scan of a block gives them. The rows must not change afterwards."""


class ExactScan:
    """All inner products, by position."""

    __slots__ = ("_products",)

    def __init__(self, products: Vector) -> None:
        self._products = products

    def best(self, limit: int, /) -> tuple[Integers, Vector]:
        return not_beaten(None, self._products, limit)

    def at(self, positions: Integers, /) -> Vector:
        return self._products[positions]


def not_beaten(positions: Integers | None, products: Vector, limit: int) -> tuple[Integers, Vector]:
    """Those of the positions, all if none are given, whose products are not beaten by `limit` others."""
    count = len(products)
    if count <= limit:
        return np.arange(count) if positions is None else positions, products
    places = np.flatnonzero(products >= np.partition(products, count - limit)[count - limit])
    return places if positions is None else positions[places], products[places]


def widened(halves: Stored) -> Matrix:
    """The same numbers as float32, none of which is infinite: seven times as quick as numpy's own conversion.

    Sign, exponent and fraction are moved to where float32 has them; the exponent then is 112 too small, also that of the smallest numbers.
    """
    if halves.dtype != np.float16:
        return halves.astype(np.float32, copy=False)
    bits = np.ascontiguousarray(halves).view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _KEPT_BITS
    floats = bits.view(np.float32)
    floats *= _EXPONENT_GAP
    return floats


_KEPT_BITS = np.uint32(0x8FFFE000).view(np.int32)
_EXPONENT_GAP = np.float32(2.0**112)


class ExactBlock:
    """A float32 matrix in numpy, searched row by row. (A matrix product would be faster, but its sums depend on where a row stands.)"""

    __slots__ = ("_length", "_matrix")

    def __init__(self, dimension: int) -> None:
        self._matrix: Matrix = np.empty((0, dimension), dtype=np.float32)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, vectors: Halves, /) -> None:
        needed = self._length + len(vectors)
        if needed > len(self._matrix):
            self._reserve(grown_capacity(len(self._matrix), needed))
        self._matrix[self._length : needed] = widened(vectors)
        self._length = needed

    def refill(self, holes: Integers, movers: Integers, /, *, length: int) -> None:
        self._matrix[holes] = self._matrix[movers]
        self._length = length

    def scan(self, query: Vector, /) -> Scan:
        return ExactScan(np.vecdot(self._matrix[: self._length], query))

    def stored(self) -> Stored:
        return self._matrix[: self._length]

    def compact(self) -> None:
        self._reserve(self._length)

    def _reserve(self, capacity: int) -> None:
        matrix = np.empty((capacity, self._matrix.shape[1]), dtype=np.float32)
        matrix[: self._length] = self._matrix[: self._length]
        self._matrix = matrix


class Exact:
    """The method for small projects: numpy."""

    def new_block(self, dimension: int, /) -> Block:
        return ExactBlock(dimension)

    def comparison(self, stored: Stored, /) -> Comparison:
        return partial(np.vecdot, stored)
