"""Append-only numpy arrays that grow geometrically."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

SMALLEST_CAPACITY = 16


def grown_capacity(capacity: int, needed: int) -> int:
    """Returns a capacity of at least `needed`, at least doubled, so that appending one entry takes amortised constant time."""
    return max(SMALLEST_CAPACITY, needed, 2 * capacity)


class Column(Generic[Scalar]):
    """One-dimensional array with spare capacity at its end."""

    __slots__ = ("_array", "_length")

    def __init__(self, dtype: type[Scalar]) -> None:
        self._array: NDArray[Scalar] = np.empty(0, dtype=dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> NDArray[Scalar]:
        """View of the entries, shape (len,); writing to it changes the column. Valid until the next change of length."""
        return self._array[: self._length]

    def append(self, values: NDArray[Scalar]) -> None:
        needed = self._length + len(values)
        if needed > len(self._array):
            larger = np.empty(grown_capacity(len(self._array), needed), dtype=self._array.dtype)
            larger[: self._length] = self.values
            self._array = larger
        self._array[self._length : needed] = values
        self._length = needed

    def cut(self, length: int) -> None:
        """Drops the entries from `length` on."""
        self._length = length

    def replace(self, values: NDArray[Scalar]) -> None:
        """Replaces all entries, without spare capacity. Takes ownership of a fresh array."""
        self._array = values
        self._length = len(values)

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Keeps only the entries at which the mask is true."""
        self.replace(self.values[mask])
