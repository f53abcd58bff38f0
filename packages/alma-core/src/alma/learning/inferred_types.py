"""Which type a question without one is probably of: that of the tasks whose mean it is nearest to.

Callers name the type of what they record more often than that of what they ask. What was tried on tasks of one type then counts for a question as
far as it is of that type, and as far as types predict outcomes better than words do: a type may be as broad as "coding".
"""

import numpy as np

from alma.learning.experience import Floats, Indices, Vectors
from alma.learning.growing_array import GrowingArray
from alma.learning.kernels import UNTYPED, Curve

TEMPERATURE = 0.1
"""A type whose mean is nearer by this cosine is e times as probable. Chosen on the development vocabularies of `benchmarks.simulation`."""

LEAST_TYPES = 2
"""Of a single type nothing parts the question from the others."""


class TypeMeans:
    """The tasks of each type, as sums of their vectors. Not thread-safe."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._sums, self._counts = GrowingArray(dimension, dtype=np.float64), GrowingArray(dtype=np.float64)
        self._whole = np.zeros(dimension)
        self._tasks = 0
        self._centres: tuple[Floats, Floats] | None = None
        """The mean of all tasks, and the unit vectors of the types around it, until a task comes."""

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, code: int, vector: Vectors) -> None:
        """Takes in a task with the code of its type, `UNTYPED` for none."""
        self._centres = None
        self._tasks += 1
        self._whole += vector
        if code == UNTYPED:
            return
        while code >= len(self._sums):
            self._sums.append(np.zeros(self._dimension))
            self._counts.append(0.0)
        self._sums.rows[code] += vector
        self._counts.rows[code] += 1

    def replace(self, code: int, before: Vectors, now: Vectors) -> None:
        """Gives a task that was added another vector."""
        self._centres = None
        self._whole += now - before
        if code != UNTYPED:
            self._sums.rows[code] += now - before

    def probabilities(self, vector: Vectors) -> Floats:
        """How probable each type is for a unit vector, one of them taken to be right: from the cosines of the means, without that of all tasks."""
        if self._centres is None:
            self._centres = self._around_mean()
        mean, centres = self._centres
        cosines = centres @ (vector - mean)
        if not centres.any():
            return np.zeros(len(self))
        odds = np.exp((cosines - cosines.max()) / TEMPERATURE)
        found: Floats = odds / odds.sum()
        return found

    def _around_mean(self) -> tuple[Floats, Floats]:
        mean = self._whole / max(self._tasks, 1)
        centres = self._sums.rows - self._counts.rows[:, None] * mean
        norms = np.linalg.norm(centres, axis=1, keepdims=True)
        return mean, np.divide(centres, norms, out=np.zeros_like(centres), where=norms > 0)


def of_types(means: TypeMeans, vector: Vectors, codes: Indices, plain: Vectors, near: Curve) -> Floats:
    """How probable it is that a question is of each type. `codes` and `plain` are the types and the cosines of tasks; a type of which no task is near
    is not probable."""
    nearest = np.full(len(means), -1.0)
    is_typed = codes != UNTYPED
    np.maximum.at(nearest, codes[is_typed], plain[is_typed])
    return means.probabilities(vector) * near.weights(nearest)
