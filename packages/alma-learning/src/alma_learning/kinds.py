"""Kinds of task: tasks that are alike in their words and in the ways that were tried on them."""

from collections.abc import Sequence

import numpy as np

from alma_learning.background import Background, scale
from alma_learning.growing import GrowingRows
from alma_learning.linkage import NEVER, link_groups
from alma_learning.trials import Floats, Indices, Matrix

Label = tuple[str | None, str | None]
"""The stated type and difficulty of a task."""

CENTRE = 0.75
BY_WAYS = 0.8
JOIN = 0.45
EXACT, SURELY = 400, 0.1
GATE, GATE_SHARE, GATE_TASKS = 0.2, 0.6, 256
CANDIDATES, WHOLE = 16, 1_024


class Kinds:
    """Kinds of the tasks at one size of the log, to which later tasks are added one by one."""

    def __init__(self, tasks: Indices, vectors: Matrix, ways: Matrix, labels: Sequence[Label], background: Background) -> None:
        """Groups n tasks, oldest first: their numbers, vectors (n, d), the unit means of the ways tried on them (n, d) and labels."""
        self._centre = np.float32(CENTRE) * background.near(vectors)
        self._places = {int(task): place for place, task in enumerate(tasks.tolist())}
        self._tasks = tasks.tolist()
        self._vectors = GrowingRows(scale(vectors - self._centre))
        self._groups: list[list[int]] = []
        self.labels: list[Label] = []
        self._totals = GrowingRows(np.zeros((0, 2 * vectors.shape[1]), np.float32))
        features = self._features(self._vectors.rows, ways)
        self._group(features, labels)
        self._order: tuple[Indices, Indices] | None = None
        self.kind_of = {self._tasks[place]: kind for kind, group in enumerate(self._groups) for place in group}
        self.gate = self._find_gate()

    def __len__(self) -> int:
        return len(self._groups)

    def tasks_of(self, kind: int) -> list[int]:
        """Returns the numbers of the tasks of a kind."""
        return [self._tasks[place] for place in self._groups[kind]]

    def add(self, task: int, vector: Matrix, ways: Matrix, label: Label) -> int:
        """Adds a task to the most alike kind that it may join, or as a kind of its own; returns the kind."""
        centred = scale(vector - self._centre)
        feature = self._features(centred[None], ways[None])[0]
        alike = self._totals.rows @ feature / np.array([len(group) for group in self._groups])
        for kind, other in enumerate(self.labels):
            if label[0] is not None and label == other:
                alike[kind] = 9
            elif are_apart(label, other):
                alike[kind] = NEVER
        kind = int(alike.argmax())
        if alike[kind] < JOIN:
            kind = self._begin(label)
        place = len(self._tasks)
        self._tasks.append(task)
        self._places[task] = place
        self._vectors.append(centred)
        self._put(kind, place, feature, label)
        self.kind_of[task] = kind
        self._order = None
        return kind

    def rank(self, vector: Matrix, task_type: str | None) -> list[tuple[float, int, bool]]:
        """Returns the kinds, nearest first, with the mean of their best two cosines to a vector, and whether a stated type decides."""
        scores = self._score(scale(vector - self._centre)[None])[0]
        stated = [kind for kind, label in enumerate(self.labels) if task_type and label[0] == task_type]
        others = [k for k, (name, _) in enumerate(self.labels) if k not in stated and not (task_type and name)]
        ranked = [(kind, True) for kind in sorted(stated, key=lambda k: -scores[k])]
        ranked += [(kind, False) for kind in sorted(others, key=lambda k: -scores[k])]
        return [(float(scores[kind]), kind, is_stated) for kind, is_stated in ranked if scores[kind] > NEVER]

    def _features(self, tasks: Matrix, ways: Matrix) -> Matrix:
        return np.hstack([tasks, np.float32(np.sqrt(BY_WAYS)) * ways]).astype(np.float32)

    def _begin(self, label: Label) -> int:
        self._groups.append([])
        self.labels.append(label)
        self._totals.append(np.zeros(self._totals.rows.shape[1], np.float32))
        return len(self._groups) - 1

    def _put(self, kind: int, place: int, feature: Matrix, label: Label) -> None:
        self._groups[kind].append(place)
        self._totals.rows[kind] += feature
        self.labels[kind] = merge_labels(self.labels[kind], label)

    def _group(self, features: Matrix, labels: Sequence[Label]) -> None:
        """Puts the tasks into kinds: one stated type together, of many tasks each first with what is surely alike, then by average linkage."""
        first: dict[Label, int] = {}
        is_large = len(features) > EXACT
        for place, (feature, label) in enumerate(zip(features, labels, strict=True)):
            kind = first.get(label) if label[0] is not None else None
            if kind is None and is_large and label == (None, None) and self._groups:
                alike = self._totals.rows @ feature / self._sizes[: len(self._groups)]
                best = int(alike.argmax())
                kind = best if alike[best] >= JOIN + SURELY and self.labels[best] == (None, None) else None
            if kind is None:
                kind = self._begin(label)
                first.setdefault(label, kind)
            self._put(kind, place, feature, label)
        sizes = np.array([len(group) for group in self._groups], np.float64)
        totals = self._totals.rows.astype(np.float64)
        alike = totals @ totals.T / sizes[:, None] / sizes if len(sizes) else np.zeros((0, 0))
        if any(label != (None, None) for label in self.labels):
            alike[np.array([[are_apart(a, b) for b in self.labels] for a in self.labels])] = NEVER
        linked = link_groups(alike, JOIN, sizes=sizes.tolist())
        old, names, rows = self._groups, self.labels, self._totals.rows
        self._groups = [sorted(place for kind in group for place in old[kind]) for group in linked]
        self.labels = []
        for group in linked:
            merged: Label = (None, None)
            for kind in group:
                merged = merge_labels(merged, names[kind])
            self.labels.append(merged)
        summed = [rows[group].sum(axis=0) for group in linked]
        self._totals = GrowingRows(np.stack(summed) if summed else rows)

    @property
    def _sizes(self) -> Floats:
        return np.array([len(group) for group in self._groups], np.float64)

    def _score(self, queries: Matrix) -> Floats:
        """Returns the mean of the best two cosines of m vectors to each kind, (m, kinds)."""
        if self._order is None:
            order = np.array([place for group in self._groups for place in group], np.intp)
            sizes = np.array([len(group) for group in self._groups], np.intp)
            self._order = order, np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        order, starts = self._order
        cosines = (queries @ self._vectors.rows.T)[:, order]
        best = np.maximum.reduceat(cosines, starts, axis=1)
        sizes = np.diff(np.append(starts, len(order)))
        cosines[cosines >= np.repeat(best, sizes, axis=1)] = -1
        second = np.maximum.reduceat(cosines, starts, axis=1)
        return np.where(sizes > 1, (best + second) / 2, best)

    def _find_gate(self) -> float:
        if len(self._groups) < 2:
            return GATE
        newest = range(max(len(self._tasks) - GATE_TASKS, 0), len(self._tasks))
        scores = self._score(self._vectors.rows[newest.start :])
        scores[np.arange(len(newest)), [self.kind_of[self._tasks[place]] for place in newest]] = -1
        return max(GATE, float(np.quantile(scores.max(axis=1), GATE_SHARE)))


def are_apart(one: Label, other: Label) -> bool:
    """Returns True if two tasks state different types or difficulties."""
    return any(a is not None and b is not None and a != b for a, b in zip(one, other, strict=True))


def merge_labels(one: Label, other: Label) -> Label:
    """Returns what is stated by either."""
    return one[0] or other[0], one[1] or other[1]
