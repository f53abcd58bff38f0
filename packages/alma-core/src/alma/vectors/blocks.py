"""Blocks of vectors of one partition, stored without gaps and addressed by position."""

from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from alma.vectors.columns import grown_capacity

Integers = NDArray[np.int64]
Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Halves = NDArray[np.float16]
Bytes = NDArray[np.uint8]
Stored = NDArray[np.float32] | NDArray[np.float16]
Comparison = Callable[[Vector], Vector]
"""Returns the inner products of a query with a fixed set of vectors, in their order."""


class Scan(Protocol):
    """Comparison of one query with the vectors of a block. Valid until the block's next change."""

    def best(self, limit: int, /) -> tuple[Integers, Vector]:
        """Returns positions and inner products of every vector that fewer than `limit` others beat, in no order. These are more than
        `limit` when the last place is shared. `limit` is at least 1."""

    def at(self, positions: Integers, /) -> Vector:
        """Returns the inner products of the vectors at these positions, equal bit for bit to those of `best`."""


class Block(Protocol):
    """Dense vectors that can be searched. Equal vectors get equal scores, bit for bit, at any position. Not thread-safe."""

    def __len__(self) -> int:
        """Returns the number of vectors."""

    def append(self, vectors: Halves, /) -> None:
        """Appends vectors, shape (n, dimension), at the positions from `len` on."""

    def refill(self, holes: Integers, movers: Integers, /, *, length: int) -> None:
        """Copies the vectors at `movers` over those at `holes` and drops all positions from `length` on."""

    def scan(self, query: Vector, /) -> Scan:
        """Compares a query with the vectors."""

    def at(self, positions: Integers, /) -> Stored:
        """Returns the vectors at these positions, as a copy."""

    def stored(self) -> Stored:
        """Returns all vectors by position, as a view that is valid until the next change."""

    def compact(self) -> None:
        """Releases spare memory."""


@runtime_checkable
class Coded(Protocol):
    """A block that is searched by codes. Codes that are not made yet, or vectors that are not read yet, would make later searches faster."""

    @property
    def is_unfinished(self) -> bool:
        """True when something that would speed a search up is not made or read yet."""

    def finish_some(self) -> bool:
        """Makes or reads some of it and returns True while some is left. Other threads may scan the block meanwhile, none may change it."""

    def finish(self) -> None:
        """Makes or reads what is left. The next scan uses it."""

    def drop_unfinished(self) -> None:
        """Drops the codes made so far, unless they are all: in a forked child, where the thread that made them does not go on."""

    def packed_codes(self) -> Bytes | None:
        """Returns the codes of all vectors as they are written to a file, making those that are left; `None` if the block has none."""


class Method(Protocol):
    """A way to store and compare vectors."""

    def new_block(self, dimension: int, /) -> Block:
        """Returns an empty block."""

    def comparison(self, stored: Stored, /) -> Comparison:
        """Returns a callback for inner products with rows that its blocks store, equal bit for bit to a scan's. The rows must not change
        afterwards."""


class ExactScan:
    """All inner products of one query, by position."""

    __slots__ = ("_products",)

    def __init__(self, products: Vector) -> None:
        self._products = products

    def best(self, limit: int, /) -> tuple[Integers, Vector]:
        return not_beaten(None, self._products, limit)

    def at(self, positions: Integers, /) -> Vector:
        return self._products[positions]


def not_beaten(positions: Integers | None, products: Vector, limit: int) -> tuple[Integers, Vector]:
    """Returns the positions, all if none are given, whose products fewer than `limit` others beat, and these products."""
    count = len(products)
    if count <= limit:
        return np.arange(count) if positions is None else positions, products
    places = np.flatnonzero(products >= np.partition(products, count - limit)[count - limit])
    return places if positions is None else positions[places], products[places]


def widened(halves: Stored) -> Matrix:
    """Returns the same numbers as float32. They must be finite. Seven times as fast as numpy's own conversion.

    Sign, exponent and fraction move to their places in float32. The exponent is then 112 too small, also for subnormal numbers, and a
    multiplication by 2**112 corrects it.
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
    """Float32 matrix in numpy, searched row by row. A matrix product would be faster, but its sums depend on a row's position."""

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

    def at(self, positions: Integers, /) -> Stored:
        return self._matrix[positions]

    def stored(self) -> Stored:
        return self._matrix[: self._length]

    def compact(self) -> None:
        self._reserve(self._length)

    def _reserve(self, capacity: int) -> None:
        matrix = np.empty((capacity, self._matrix.shape[1]), dtype=np.float32)
        matrix[: self._length] = self._matrix[: self._length]
        self._matrix = matrix


class Exact:
    """Method for small projects: numpy."""

    def new_block(self, dimension: int, /) -> Block:
        return ExactBlock(dimension)

    def comparison(self, stored: Stored, /) -> Comparison:
        return partial(np.vecdot, stored)
