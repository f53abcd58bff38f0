"""Distinct numbers of an array. Small ones are not sorted."""

import numpy as np
from numpy.typing import NDArray

SMALL = 4_096


def distinct(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the numbers that occur, ascending, and the place of each element's number among them. No number may be below 0.

    Unless one is large beside the length of the array, this takes time by the length and the largest number alone.
    """
    top = int(numbers.max(initial=0))
    if top > max(len(numbers), SMALL):
        return np.unique(numbers, return_inverse=True)
    occurs = np.zeros(top + 1, dtype=np.bool_)
    occurs[numbers] = True
    return np.flatnonzero(occurs), (occurs.cumsum() - 1)[numbers]
