"""Tasks as vectors of what is wanted: without what names add, and by which other tasks they are like."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from alma.learning.experience import Vectors
from alma.learning.names import Names, names_in

LANDMARKS = 200
"""The tasks that profiles are made of, the newest distinct ones."""

HIGHEST = 0.5
"""So near, and nearer, is all the same to a profile: tasks in the same words but for names would outweigh all others."""

RIDGE = 1.0
"""A name that stands in this number of tasks gets half of the effect that is seen in them."""

_TINY = 1e-6


@dataclass(frozen=True, slots=True)
class Sight:
    """How near unit vectors are to `landmarks`, less the `mean` of these among themselves, as unit vectors."""

    landmarks: Vectors
    mean: Vectors

    @classmethod
    def of(cls, landmarks: Vectors) -> "Sight":
        """The sight of some landmarks."""
        return cls(landmarks, _likeness(landmarks, landmarks).mean(axis=0))

    def profiles(self, rows: Vectors) -> Vectors:
        """The profiles of n unit vectors (n × landmarks)."""
        return _unit(_likeness(rows, self.landmarks) - self.mean)


@dataclass(frozen=True, slots=True)
class TaskSpace:
    """Turns vectors of tasks into cores and profiles.

    A *core* is the unit vector of a task without `mean` and without the `effects` of its names (one row a name). A *profile* says how near a task is
    to each landmark: first its core, then that profile to those of the landmarks. Two tasks in other words are alike if they are near to the same
    tasks, which again are near to the same tasks.
    """

    names: Names
    mean: Vectors
    effects: Vectors
    sights: Sequence[Sight] = ()

    def cores(self, tasks: Sequence[str], vectors: Vectors) -> Vectors:
        """The cores of n tasks (n × d)."""
        rest = vectors - self.mean
        for row, task in enumerate(tasks):
            for number in self.names.within(task):
                rest[row] -= self.effects[number]
        return _unit(rest)

    def profiles(self, cores: Vectors) -> Vectors:
        """The profiles of n cores (n × landmarks)."""
        for sight in self.sights:
            cores = sight.profiles(cores)
        return cores


def task_space(tasks: Sequence[str], vectors: Vectors) -> TaskSpace:
    """The space of tasks, from their texts and unit vectors. Deterministic; of distinct tasks, at least one."""
    names, mean = names_in(tasks), vectors.mean(axis=0)
    present = np.zeros((len(tasks), len(names.numbers)), np.float32)
    for row, task in enumerate(tasks):
        present[row, names.within(task)] = 1
    bare = TaskSpace(names, mean, _effects(present, vectors - mean))
    first = Sight.of(bare.cores(tasks[-LANDMARKS:], vectors[-LANDMARKS:]))
    return replace(bare, sights=(first, Sight.of(first.profiles(first.landmarks))))


def _likeness(rows: Vectors, landmarks: Vectors) -> Vectors:
    likeness: Vectors = np.clip(rows @ landmarks.T, 0.0, HIGHEST)
    return likeness


def _effects(present: Vectors, centred: Vectors) -> Vectors:
    """Returns what each name adds to a vector (names × d): a ridge regression of vectors on the names in their tasks."""
    gram = present.T @ present + RIDGE * np.eye(present.shape[1], dtype=np.float32)
    effects: Vectors = np.linalg.solve(gram, present.T @ centred)
    return effects


def _unit(rows: Vectors) -> Vectors:
    unit: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _TINY)
    return unit
