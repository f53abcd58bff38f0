"""Tasks as vectors of what is wanted: without what names add, and by which other tasks they are like."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alma.learning.experience import Vectors
from alma.learning.names import Names, names_in

LANDMARKS = 200
"""The tasks that profiles are made of, the newest distinct ones."""

RIDGE = 1.0
"""A name that stands in this number of tasks gets half of the effect that is seen in them."""

_TINY = 1e-6


@dataclass(frozen=True, slots=True)
class TaskSpace:
    """Turns vectors of tasks into cores and profiles.

    A *core* is the unit vector of a task without `mean` and without the `effects` of its names (one row a name). A *profile* says how near a core is
    to each of the `landmarks`, less the `mean_profile`, as a unit vector: two tasks in other words are alike if they are near to the same tasks.
    """

    names: Names
    mean: Vectors
    effects: Vectors
    landmarks: Vectors
    mean_profile: Vectors

    def cores(self, tasks: Sequence[str], vectors: Vectors) -> Vectors:
        """The cores of n tasks (n × d)."""
        rest = vectors - self.mean
        for row, task in enumerate(tasks):
            for number in self.names.within(task):
                rest[row] -= self.effects[number]
        return _unit(rest)

    def profiles(self, cores: Vectors) -> Vectors:
        """The profiles of n cores (n × landmarks)."""
        return _unit(_likeness(cores, self.landmarks) - self.mean_profile)


def task_space(tasks: Sequence[str], vectors: Vectors) -> TaskSpace:
    """The space of tasks, from their texts and unit vectors. Deterministic; of distinct tasks, at least one."""
    names, mean = names_in(tasks), vectors.mean(axis=0)
    present = np.zeros((len(tasks), len(names.numbers)), np.float32)
    for row, task in enumerate(tasks):
        present[row, names.within(task)] = 1
    none = np.zeros((0, vectors.shape[1]), np.float32)
    bare = TaskSpace(names, mean, _effects(present, vectors - mean), none, none)
    landmarks = bare.cores(tasks[-LANDMARKS:], vectors[-LANDMARKS:])
    return TaskSpace(names, mean, bare.effects, landmarks, _likeness(landmarks, landmarks).mean(axis=0))


def _likeness(cores: Vectors, landmarks: Vectors) -> Vectors:
    likeness: Vectors = np.maximum(cores @ landmarks.T, 0.0)
    return likeness


def _effects(present: Vectors, centred: Vectors) -> Vectors:
    """What each name adds to a vector (names × d): a ridge regression of vectors on the names in their tasks."""
    gram = present.T @ present + RIDGE * np.eye(present.shape[1], dtype=np.float32)
    effects: Vectors = np.linalg.solve(gram, present.T @ centred)
    return effects


def _unit(rows: Vectors) -> Vectors:
    unit: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _TINY)
    return unit
