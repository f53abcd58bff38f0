"""Kinds of task: tasks that are alike in their words and in the ways that were tried on them."""

from collections.abc import Sequence

import numpy as np

from alma_learning.background import scale
from alma_learning.growing import GrowingRows
from alma_learning.linkage import NEVER, link_groups
from alma_learning.trials import Embedding, Indices, Matrix, Vector

Label = tuple[str | None, str | None]
"""The stated type and difficulty of a task."""

# Fitted on the development and tuning worlds of `benchmarks/played`, seeds 1 to 4, with all-MiniLM-L6-v2 and with hashed words: 28 November 2026.
CENTRE = 0.75
"""Share of the background that is taken away from the vectors of tasks: .5 to 1 are alike."""

BY_WAYS = 0.8
"""The weight of the ways that were tried on a task, beside its words. 1.2 brings tasks of several kinds together."""

JOIN = {Embedding.MEANING: 0.42, Embedding.WORDS: 0.3}
"""Average likeness of tasks of one kind. With .4 more rows are ways of other kinds, with .45 there are too many kinds."""

GATE = {Embedding.MEANING: 0.25, Embedding.WORDS: 0.2}
"""Cosine of a question to the mean of the kind it belongs to. In English all but 1 in 16 unrelated questions are below .25, and 1 in 15 others."""

EXACT, SURELY = 400, 0.1
"""Of more tasks than this each first joins a kind that it is more alike by this, so that few groups are left to be linked."""


class Kinds:
    """Kinds of the tasks at one size of the log, to which later tasks are added one by one."""

    def __init__(
        self,
        tasks: Indices,
        vectors: Matrix,
        ways: Matrix,
        labels: Sequence[Label],
        background: Vector,
        embedding: Embedding = Embedding.MEANING,
    ) -> None:
        """Groups n tasks, oldest first: their numbers, vectors (n, d), the unit means of the ways tried on them (n, d), labels
        and what the background has near them."""
        self._dimension, self._join = vectors.shape[1], JOIN[embedding]
        self._centre = np.float32(CENTRE) * background
        self._groups: list[list[int]] = []
        self._sizes = np.zeros(0)
        self._means: Matrix | None = None
        self.labels: list[Label] = []
        self._totals = GrowingRows(np.zeros((0, 2 * self._dimension), np.float32))
        self._group(tasks.tolist(), self._features(vectors, ways), labels)
        self.kind_of = {task: kind for kind, group in enumerate(self._groups) for task in group}

    def __len__(self) -> int:
        return len(self._groups)

    def tasks_of(self, kind: int) -> list[int]:
        """Returns the numbers of the tasks of a kind."""
        return self._groups[kind]

    def add(self, task: int, vector: Vector, ways: Vector, label: Label) -> int:
        """Adds a task to the most alike kind that it may join, or as a kind of its own; returns the kind."""
        feature = self._features(vector[None], ways[None])[0]
        alike = self._totals.rows @ feature / self._sizes
        for kind, other in enumerate(self.labels):
            if label[0] is not None and label == other:
                alike[kind] = 9
            elif are_apart(label, other):
                alike[kind] = NEVER
        kind = int(alike.argmax())
        if alike[kind] < self._join:
            kind = self._begin(label)
        self._put(kind, task, feature, label)
        self.kind_of[task] = kind
        return kind

    def rank(self, vector: Vector, task_type: str | None) -> list[tuple[float, int, bool]]:
        """Returns the kinds with the cosine of their mean to a vector, nearest first, and whether a stated type decides: such kinds come first."""
        if self._means is None:
            self._means = scale(self._totals.rows[:, : self._dimension])
        scores = (self._means @ scale(vector - self._centre)).tolist()
        found = []
        for kind, (score, (name, _)) in enumerate(zip(scores, self.labels, strict=True)):
            if task_type is None or name is None or name == task_type:
                found.append((score, kind, task_type is not None and name == task_type))
        return sorted(found, key=lambda each: (not each[2], -each[0]))

    def _features(self, tasks: Matrix, ways: Matrix) -> Matrix:
        """Returns a vector for each task, (n, 2d): its words, and the ways that were tried on it."""
        return np.hstack([scale(tasks - self._centre), np.float32(BY_WAYS**0.5) * ways])

    def _begin(self, label: Label) -> int:
        self._groups.append([])
        self._sizes = np.append(self._sizes, 0.0)
        self.labels.append(label)
        self._totals.append(np.zeros(2 * self._dimension, np.float32))
        return len(self._groups) - 1

    def _put(self, kind: int, task: int, feature: Vector, label: Label) -> None:
        self._groups[kind].append(task)
        self._sizes[kind] += 1
        self._means = None
        self._totals.rows[kind] += feature
        self.labels[kind] = merge_labels(self.labels[kind], label)

    def _group(self, tasks: Sequence[int], features: Matrix, labels: Sequence[Label]) -> None:
        """Puts the tasks into kinds: one stated type together, of many tasks each first with what is surely alike, then by average linkage."""
        first: dict[Label, int] = {}
        is_large = len(features) > EXACT
        for task, feature, label in zip(tasks, features, labels, strict=True):
            kind = first.get(label) if label[0] is not None else None
            if kind is None and is_large and label == (None, None) and self._groups:
                alike = self._totals.rows @ feature / self._sizes
                best = int(alike.argmax())
                kind = best if alike[best] >= self._join + SURELY and self.labels[best] == (None, None) else None
            if kind is None:
                kind = self._begin(label)
                first.setdefault(label, kind)
            self._put(kind, task, feature, label)
        sizes = self._sizes
        totals = self._totals.rows.astype(np.float64)
        alike = totals @ totals.T / sizes[:, None] / sizes if len(sizes) else np.zeros((0, 0))
        if any(label != (None, None) for label in self.labels):
            alike[np.array([[are_apart(a, b) for b in self.labels] for a in self.labels])] = NEVER
        linked = link_groups(alike, self._join, sizes=sizes.tolist())
        old, names, rows = self._groups, self.labels, self._totals.rows
        self._groups = [sorted(task for kind in group for task in old[kind]) for group in linked]
        self._sizes = np.array([float(len(group)) for group in self._groups])
        self.labels = []
        for group in linked:
            merged: Label = (None, None)
            for kind in group:
                merged = merge_labels(merged, names[kind])
            self.labels.append(merged)
        summed = [rows[group].sum(axis=0) for group in linked]
        self._totals = GrowingRows(np.stack(summed) if summed else rows)


def are_apart(one: Label, other: Label) -> bool:
    """Returns True if two tasks state different types or difficulties."""
    return any(a is not None and b is not None and a != b for a, b in zip(one, other, strict=True))


def merge_labels(one: Label, other: Label) -> Label:
    """Returns what is stated by either."""
    return one[0] or other[0], one[1] or other[1]
