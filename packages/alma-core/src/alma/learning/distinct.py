"""Distinct small numbers of an array, at the cost of its length and of the largest number."""

import numpy as np

from alma.learning.experience import Indices


def distinct(numbers: Indices) -> tuple[Indices, Indices]:
    """Returns the numbers that occur, ascending, and the place of each element's number among them. No number may be below 0."""
    occurring = np.flatnonzero(np.bincount(numbers))
    place = np.zeros(occurring[-1] + 1 if len(occurring) else 0, np.intp)
    place[occurring] = np.arange(len(occurring))
    return occurring, place[numbers]
