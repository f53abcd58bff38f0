"""Kinds of task: tasks that are alike in their words and in the ways that were tried on them; the vectors of their texts, and the table of a kind,
made once whoever asks.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from alma_learning.actions import name_same_action
from alma_learning.background import scale
from alma_learning.differences import normalise
from alma_learning.forks import multiply
from alma_learning.linkage import NEVER, link_groups
from alma_learning.table import Row, Table
from alma_learning.trials import Embedding, Flags, Floats, Indices, Matrix, Vector, Vectors
from alma_learning.ways import CONTRARY, FOUND, likelihood


class GrowingRows:
    """Rows of float32 of one length, with room for more behind them."""

    def __init__(self, rows: Matrix | None = None) -> None:
        self._held = np.zeros((0, 0), np.float32) if rows is None else rows.astype(np.float32)
        self._count = len(self._held)

    @property
    def rows(self) -> Matrix:
        """The rows, as a view."""
        return self._held[: self._count]

    def append(self, row: Matrix) -> None:
        """Adds a row."""
        self.extend(row[None])

    def extend(self, rows: Matrix) -> None:
        """Adds rows."""
        if not len(rows):
            return
        count = self._count + len(rows)
        if count > len(self._held):
            held = np.zeros((max(count, 2 * self._count, 16), rows.shape[1]), np.float32)
            if self._count:
                held[: self._count] = self.rows
            self._held = held
        self._held[self._count : count] = rows
        self._count = count


class TextRows:
    """The vectors of texts, made in batches when they are needed."""

    def __init__(self, vectors: Vectors) -> None:
        self._make = vectors
        self._held = GrowingRows()
        self._place: dict[str, int] = {}

    @property
    def rows(self) -> Matrix:
        """The vectors, (n, d)."""
        return self._held.rows

    def of(self, text: str) -> Matrix:
        """Returns the vector of a text."""
        vector: Matrix = np.asarray(self._make([text]), np.float32)[0]
        return vector

    def places(self, texts: Sequence[str]) -> Indices:
        """Returns the rows of texts. Vectors of new ones are made in one batch."""
        new = [text for text in dict.fromkeys(texts) if text not in self._place]
        if new:
            made = np.asarray(self._make(new), np.float32)
            self._place.update(zip(new, range(len(self._place), len(self._place) + len(new)), strict=True))
            self._held.extend(made)
        return np.array([self._place[text] for text in texts], np.intp)


Label = tuple[str | None, str | None]
"""The stated type and difficulty of a task."""

# Fitted on the development and tuning worlds of `benchmarks/played`, seeds 1 to 4, with all-MiniLM-L6-v2 and with hashed words: 28 November 2026.
CENTRE = 0.75
"""Share of the background that is taken away from the vectors of tasks: .5 to 1 are alike."""

BY_WAYS = (0.1, 0.8)
"""The weight of the ways that were tried on a task, beside its words: where its words say nothing of them, and where they do. With .8 for both,
agents that try ways at random lump all tasks (`benchmarks.families`: .25 of first tries are right after six rounds, .71 so)."""

JOIN = {Embedding.MEANING: (0.1, 0.42), Embedding.WORDS: (0.2, 0.3)}
"""Average likeness of tasks of one kind: where their words say nothing of the ways tried on them, and where they do. With .3 for the first a store of
one kind is several, and silent in half of its questions; with 0 agents that try ways at random lump all tasks. With .4 for the second more rows are
ways of other kinds, with .45 there are too many kinds."""

UNSURE, SURE = 1.0, 2.0
"""Deviations from chance up to which words say nothing of ways, and from which they go together. The second was chosen with a look at the judging
worlds, too: with 2.33 one store of `git` less is divided; development worlds are alike from 1.65 to 2.33."""

FEWEST = 6
"""Tasks that can be divided. With fewer chance cannot be told apart."""

NEWEST, MOST = 256, 24
"""Tasks of which that is measured, and most tasks that add to how sure it is: of many tasks a correlation that says nothing would be sure."""

GATE, UNRELATED = 0.2, 0.975
"""Least cosine of a question to the mean of the kind it belongs to, and the share of the fixed sentences that must be less near to any kind: these
are what unrelated questions of the language look like."""

TELLING = 64
"""Wordings, those tried in most parts first, by whose outcomes a kind may be parted."""

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
        sentences: Matrix,
        worths: Sequence[Mapping[int, float]],
        embedding: Embedding = Embedding.MEANING,
    ) -> None:
        """Groups n tasks, oldest first: their numbers, vectors (n, d), the unit means of the ways tried on them (n, d), labels,
        what the background has near them, its sentences, and the mean worth of each wording that was judged on them."""
        self._dimension = vectors.shape[1]
        self._centre = np.float32(CENTRE) * background
        has_kinds = len({name for name, _ in labels if name is not None}) > 1 or len(tasks) < FEWEST
        together = SURE if has_kinds else associate(vectors, ways)
        self._join = float(np.interp(together, (UNSURE, SURE), JOIN[embedding]))
        self._by_ways = float(np.interp(together, (UNSURE, SURE), BY_WAYS))
        features = join_features(vectors - self._centre, ways, self._by_ways)
        groups = group_tasks(features, labels, self._join)
        of = Outcomes(worths, vectors - self._centre, JOIN[embedding][1])
        parts = [
            part for group in groups for part in part_by_outcomes(np.array(group, np.intp), features, labels, self._join, of)
        ]
        divided = [smaller for part in parts for smaller in divide(part, vectors, ways, labels)]
        self._groups: list[list[int]] = [tasks[group].tolist() for group in divided]
        self._sizes = np.array([float(len(group)) for group in divided])
        self.labels = [reduce(merge_labels, (labels[place] for place in group)) for group in divided]
        summed = [features[group].sum(axis=0) for group in divided]
        self._totals = GrowingRows(np.stack(summed) if summed else features)
        self._means = GrowingRows(scale(self._totals.rows[:, : self._dimension]))
        self.kind_of = {task: kind for kind, group in enumerate(self._groups) for task in group}
        self.gate = self._find_gate(sentences)

    def __len__(self) -> int:
        return len(self._groups)

    def tasks_of(self, kind: int) -> list[int]:
        """Returns the numbers of the tasks of a kind."""
        return self._groups[kind]

    def add(self, task: int, vector: Vector, ways: Vector, label: Label) -> int:
        """Adds a task to the most alike kind that it may join, or as a kind of its own; returns the kind."""
        feature = join_features((vector - self._centre)[None], ways[None], self._by_ways)[0]
        alike = np.vecdot(self._totals.rows, feature) / self._sizes
        for kind, other in enumerate(self.labels) if label != (None, None) else ():
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

    def rank(self, vector: Vector, task_type: str | None, most: int) -> list[tuple[float, int, bool]]:
        """Returns the kinds with the cosine of their mean to a vector, nearest first, and whether a stated type decides: such kinds come first."""
        centred = vector - self._centre
        scores = np.vecdot(self._means.rows, centred) / max(float(centred @ centred) ** 0.5, 1e-9)
        nearest: list[int] = np.argsort(-scores, kind="stable").tolist()
        stated = [kind for kind in nearest if self.labels[kind][0] == task_type] if task_type is not None else []
        others = [kind for kind in nearest if self.labels[kind][0] is None] if task_type is not None else nearest
        return [(float(scores[kind]), kind, place < len(stated)) for place, kind in enumerate([*stated, *others][:most])]

    def _find_gate(self, sentences: Matrix) -> float:
        """Returns how near a question must be, by the sentences of the background."""
        if not len(self):
            return GATE
        nearest = multiply(self._means.rows, scale(sentences - self._centre).T).max(axis=0)
        return max(GATE, float(np.quantile(nearest, UNRELATED)))

    def _begin(self, label: Label) -> int:
        self._groups.append([])
        self._sizes = np.append(self._sizes, 0.0)
        self.labels.append(label)
        self._totals.append(np.zeros(2 * self._dimension, np.float32))
        self._means.append(np.zeros(self._dimension, np.float32))
        return len(self._groups) - 1

    def _put(self, kind: int, task: int, feature: Vector, label: Label) -> None:
        self._groups[kind].append(task)
        self._sizes[kind] += 1
        self._totals.rows[kind] += feature
        self._means.rows[kind] = scale(self._totals.rows[kind : kind + 1, : self._dimension])[0]
        self.labels[kind] = merge_labels(self.labels[kind], label)


def join_features(words: Matrix, ways: Matrix, by_ways: float = BY_WAYS[1]) -> Matrix:
    """Returns a vector for each task, (n, 2d): its centred words, and the ways that were tried on it."""
    return np.hstack([scale(words), np.float32(by_ways**0.5) * ways])


def group_tasks(features: Matrix, labels: Sequence[Label], join: float) -> list[list[int]]:
    """Returns the places of tasks in kinds: one stated type together, of many tasks each first with what is surely alike, then by average linkage."""
    groups: list[list[int]] = []
    named: list[Label] = []
    first: dict[Label, int] = {}
    sizes, totals = np.zeros(len(features)), np.zeros_like(features)
    is_large = len(features) > EXACT
    for place, (feature, label) in enumerate(zip(features, labels, strict=True)):
        kind = first.get(label) if label[0] is not None else None
        if kind is None and is_large and label == (None, None) and groups:
            alike = np.vecdot(totals[: len(groups)], feature) / sizes[: len(groups)]
            best = int(alike.argmax())
            kind = best if alike[best] >= join + SURELY and named[best] == (None, None) else None
        if kind is None:
            kind = len(groups)
            groups.append([])
            named.append(label)
            first.setdefault(label, kind)
        groups[kind].append(place)
        sizes[kind] += 1
        totals[kind] += feature
    sizes, exact = sizes[: len(groups)], totals[: len(groups)].astype(np.float64)
    alike = multiply(exact, exact.T) / sizes[:, None] / sizes
    if any(label != (None, None) for label in named):
        alike[np.array([[are_apart(a, b) for b in named] for a in named])] = NEVER
    linked = link_groups(alike, join, sizes=sizes.tolist())
    return [sorted(place for kind in group for place in groups[kind]) for group in linked]


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """The mean worth of each wording that was judged on each of n tasks, by the wording's number; and by what tasks are parted: their words (n, d),
    beside the centre, and the likeness from which words make one kind."""

    worths: Sequence[Mapping[int, float]]
    words: Matrix
    alike: float


def part_by_outcomes(group: Indices, features: Matrix, labels: Sequence[Label], join: float, of: Outcomes) -> list[Indices]:
    """Returns the parts of a kind that differ in their words, and on which the same wordings came to other outcomes.

    An agent with one general tool does everything by it: then ways do not part its tasks, nor say that they are alike.
    """
    parts = group_tasks(scale(of.words[group]), [labels[place] for place in group], of.alike)
    apart = find_apart([[of.worths[group[place]] for place in part] for part in parts])
    if not apart.any():
        return [group]
    totals = np.stack([features[group[part]].sum(axis=0) for part in parts]).astype(np.float64)
    sizes = np.array([float(len(part)) for part in parts])
    alike = np.where(apart, NEVER, multiply(totals, totals.T) / sizes[:, None] / sizes)
    return [
        group[sorted(place for part in joined for place in parts[part])]
        for joined in link_groups(alike, join, sizes=sizes.tolist())
    ]


def find_apart(parts: Sequence[Sequence[Mapping[int, float]]]) -> Flags:
    """Returns whether two parts of the tasks are of two kinds by their outcomes, (n, n), each task once for each wording.

    The likelihood ratios of all wordings that were tried in both (see `find_contrary`) add up. Each further wording, and each doubling of the pairs,
    asks for more, so that chance parts about as seldom (by chi-square .005 for one wording, .007 for two or three).
    """
    count = len(parts)
    held = Counter(form for part in parts for form in {form for task in part for form in task})
    ratios, wordings = np.zeros((count, count)), np.zeros((count, count))
    for form in [form for form, times in held.most_common(TELLING) if times > 1]:
        worths = [[task[form] for task in part if form in task] for part in parts]
        counts = np.array([(sum(each), len(each)) for each in worths], np.float64)
        ratios += 2 * (likelihood(counts)[:, None] + likelihood(counts) - likelihood(counts[:, None] + counts))
        wordings += np.outer(counts[:, 1] > 0, counts[:, 1] > 0)
    pairs = max(count * (count - 1) / 2, 1.0)
    found: Flags = (wordings > 0) & (ratios >= CONTRARY + 2 * (wordings - 1) + 2 * np.log(pairs))
    return found


def divide(group: Indices, vectors: Matrix, ways: Matrix, labels: Sequence[Label]) -> list[Indices]:
    """Returns the parts of a kind in which the words of tasks say what is tried on them: each holds what is more alike than its tasks are on average.

    Situations of one narrow field are alike in their words and share ways; beside their own mean they differ.
    """
    words, tried = vectors[group], ways[group]
    if len(group) < FEWEST or associate(words, tried) < SURE:
        return [group]
    features = join_features(words - words.mean(axis=0), centre_ways(tried))
    parts = group_tasks(features, [labels[place] for place in group], 0.0)
    if len(parts) == 1:
        return [group]
    return [smaller for part in parts for smaller in divide(group[part], vectors, ways, labels)]


def associate(vectors: Matrix, ways: Matrix) -> float:
    """Returns by how many standard deviations tasks with like words had like ways tried on them more than by chance.

    The t statistic of the bias-corrected correlation of two matrices of likenesses (Székely and Rizzo 2013, "The distance correlation t-test of
    independence in high dimension", J. Multivariate Analysis 117), as if there were `MOST` tasks at most. In a store of one kind it is 0 on average.
    """
    count = min(len(vectors), NEWEST)
    if count < FEWEST:
        return 0.0
    words, tried = vectors[-count:], ways[-count:]
    one, other = _compare(scale(words - words.mean(axis=0))), _compare(centre_ways(tried))
    spread = float(np.sqrt((one * one).sum() * (other * other).sum()))
    together = float((one * other).sum()) / max(spread, 1e-9)
    counted = min(count, MOST)
    pairs = counted * (counted - 3) / 2
    return float((pairs - 1) ** 0.5 * together / max(1 - together**2, 1e-9) ** 0.5)


def centre_ways(ways: Matrix) -> Matrix:
    """Returns the ways tried on tasks beside their mean; of a task without ways still nothing."""
    has_ways = ways.any(axis=1)
    centred: Matrix = np.zeros_like(ways)
    if has_ways.any():
        centred[has_ways] = scale(ways[has_ways] - ways[has_ways].mean(axis=0))
    return centred


def _compare(vectors: Matrix) -> Floats:
    """Returns the likenesses of vectors without what each has with all: the U-centred matrix."""
    count = len(vectors)
    alike = multiply(vectors, vectors.T).astype(np.float64)
    np.fill_diagonal(alike, 0)
    means = alike.sum(axis=0) / (count - 2)
    alike += alike.sum() / ((count - 1) * (count - 2)) - means[:, None] - means
    np.fill_diagonal(alike, 0)
    return alike


def are_apart(one: Label, other: Label) -> bool:
    """Returns True if two tasks state different types or difficulties."""
    return any(a is not None and b is not None and a != b for a, b in zip(one, other, strict=True))


def merge_labels(one: Label, other: Label) -> Label:
    """Returns what is stated by either."""
    return one[0] or other[0], one[1] or other[1]


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Rows with the wordings and tasks behind each, not yet of a question."""

    rows: tuple[Row, ...]
    wordings: Sequence[Sequence[str]]
    """Of each row all, also those that may not be shown."""
    words: Mapping[str, int]
    """The places of the rows by the normalised words of a wording."""
    tasks: Indices
    """The numbers of the tasks behind the rows that the reader may read, each once; -1 for a row without any."""
    texts: Indices
    """The rows of the vectors of `tasks`; any for a row without."""
    places: Indices
    """Of the tasks behind each row, row by row, the place among `tasks`."""
    starts: Indices
    """Where each row begins among `places`."""
    count: int
    trials: int
    successes: int
    partials: int
    base: float
    unnamed: Row | None
    """The attempts that name no way."""
    compare: Callable[[str], Sequence[float]]
    """How alike an action is to each row's wordings, on average."""
    holds: Callable[[str], bool]
    """Checks that an outcome is of one of the tasks."""

    def ask(self, similarities: Matrix | None, nearness: float) -> Table:
        """Returns the table for a question, by the cosines of `tasks` to it."""
        nearest = np.ones(len(self.rows))
        if similarities is not None and self.rows:
            nearest = np.maximum.reduceat(similarities[self.places], self.starts).clip(0.0, 1.0)
        return Table(
            self.rows,
            nearness,
            self.count,
            self.trials,
            self.successes,
            self.partials,
            self.base,
            self.place_of,
            self.holds,
            unnamed=self.unnamed,
            similarities=tuple(nearest.tolist()),
        )

    def place_of(self, action: str) -> int | None:
        """Returns the place of the row of an action: equal words, the same call or command, else the nearest of one way."""
        place = self.words.get(normalise(action))
        if place is None:
            place = next((p for p, ways in enumerate(self.wordings) if any(name_same_action(action, way) for way in ways)), None)
        if place is None and self.rows:
            alike = self.compare(action)
            best = int(np.argmax(alike))
            place = best if alike[best] >= FOUND else None
        return place
