"""A question put to the ledger in hand: the tasks that are near, what was tried on them, and the advice that follows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alma.distinct import distinct
from alma.learning.experience import Advice, Experience, Floats, Indices, Question, Vectors
from alma.learning.ledger import OTHERS, Entry, Side
from alma.learning.pooling import (
    LEAST_COSINE,
    LEAST_WEIGHT,
    NEAR,
    SAME_WAY,
    Cells,
    NearestTasks,
    Nearness,
    nearest_tasks,
    outcomes_of,
    pooled,
    usual_rates,
)
from alma.learning.standing import Needed
from alma.types.evidence import Evidence, bare_place, text_key

MOST_STRATEGIES = 128
"""The number of strategies that are compared with each other: those with the most evidence near the question."""

OWN_ENOUGH = 3.0
"""With this number of own trials of a strategy near a question, what others tried of it counts nothing."""


@dataclass(frozen=True)
class Consulted:
    """Advice relative to a question, and what it rests on.

    `near` is how near all tasks of the side are.
    `strategies` are the numbers, in the side, of those that the rows of `advice` are about, −1 for one that was never tried; `texts` are their words.
    `same` (rows × rows) is the probability that two are one way. `cells` are the numbers of the cells that count, `cell_rows` their rows and
    `cell_weights` how near their tasks are.
    """

    side: Side
    question: Question
    near: Nearness
    strategies: Sequence[int]
    texts: Sequence[str]
    same: Floats
    cells: Indices
    cell_rows: Indices
    cell_weights: Floats
    reader: str | None
    make_advice: Callable[[], Advice]

    @cached_property
    def advice(self) -> Advice:
        """The estimate for each row. It is made when it is asked for: a rule beside which nothing was tried is judged without."""
        return self.make_advice()

    @property
    def task_weights(self) -> Floats:
        """How much each task of the side says about the question."""
        return self.near.weights

    @property
    def task_cosines(self) -> Floats:
        """The cosine of each task of the side with the question."""
        return self.near.cosines

    def row_of(self, strategy_hash: str) -> int | None:
        """The row of a strategy; `None` if it was not tried near the question."""
        number = self.side.strategies.get(strategy_hash)
        return self.strategies.index(number) if number in self.strategies else None

    def nearness_of(self, seen: Evidence) -> float | None:
        """The weight of the task of some evidence, from 0 to 1; `None` for a task that is not in hand. A rule of several users rests on none that one
        of them has tried."""
        task = self.side.task_numbers.get(bare_place(seen.task_class))
        return None if task is None else float(self.task_weights[task])

    def rules_near(self) -> list[Entry]:
        """The cells of near tasks that a rule rests on, the nearest first."""
        if not self.side.rules:
            return []
        cells = np.fromiter(self.side.rules, np.intp, len(self.side.rules))
        weights = self.task_weights[self.side.places.rows[cells, 0]]
        order = np.argsort(-weights, kind="stable")
        return [self.side.held[cell] for cell in cells[order[weights[order] >= NEAR]].tolist()]

    def entries(self, row: int, *, of_near_tasks: bool = True) -> list[tuple[Entry, float]]:
        """The cells with a strategy that is the same as that of a row, each with the nearness of its task; those of near tasks, or all that count."""
        wanted = (self.same[row] >= SAME_WAY)[self.cell_rows]
        if of_near_tasks:
            wanted &= self.is_near
        held = self.side.held
        return [
            (held[cell], weight)
            for cell, weight in zip(self.cells[wanted].tolist(), self.cell_weights[wanted].tolist(), strict=True)
        ]

    def with_trusted_success(self) -> NDArray[np.bool_]:
        """For each row, whether a near task counts a success of a strategy that is the same by more than an agent's own word."""
        trusted = self.side.counts.rows[self.cells[self.is_near], 7]
        own = np.bincount(self.cell_rows[self.is_near], trusted, len(self.texts))
        result: NDArray[np.bool_] = (self.same >= SAME_WAY) @ own > 0
        return result

    @cached_property
    def whole_counts(self) -> tuple[Floats, Floats]:
        """Plain successes and trials on near tasks, by row: those of the advice, without the rest of it."""
        cells, rows, count = self.cells[self.is_near], self.cell_rows[self.is_near], len(self.texts)
        counts, is_same = self.side.counts.rows[cells], (self.same >= SAME_WAY).astype(np.float64)
        return is_same @ np.bincount(rows, counts[:, 0], count), is_same @ np.bincount(rows, counts[:, 1], count)

    @cached_property
    def nearest(self) -> NearestTasks:
        """The nearest tasks of each row: those of the advice, without the rest of it."""
        successes, trials = self.side.counts.rows[self.cells, :2].T
        cosines = self.near.cosines[self.side.places.rows[self.cells, 0]]
        return nearest_tasks(self.cell_rows, cosines, successes=successes, trials=trials, same=self.same)

    @cached_property
    def is_near(self) -> NDArray[np.bool_]:
        """Whether the tasks of the cells are near."""
        cosines = self.near.cosines[self.side.places.rows[self.cells, 0]]
        result: NDArray[np.bool_] = (self.cell_weights >= NEAR) & (cosines >= LEAST_COSINE)
        return result


def consulted(
    side: Side,
    question: Question | None,
    *,
    reader: str | None = None,
    also: Sequence[tuple[str, Vectors]] = (),
    newest: int | None = None,
    home: int | None = None,
    wanted: Iterable[str] = (),
    is_advised: bool = True,
) -> Consulted:
    """The advice of a side relative to a question, or to all its tasks alike.

    Unless it `is_advised` at once, advice is made when it is asked for, which has to be before the counts of the side change.
    What other agents than the reader tried counts `OTHERS`. With `newest`, only that number of the newest tasks counts, or all since task `home`.
    `also` are strategies, with their vectors, that get a row even if they were not tried; those that were tried in the same words, and the hashes
    `wanted`, count however many others were tried more often.
    """
    near = _nearness(side, question, newest, home)
    found, task_weights, weight, ways = _counting(side, near, reader, also, [*wanted, *(text_key(text) for text, _ in also)])

    def make_advice() -> Advice:
        return _advice(side, near, found, weight, ways, reader)

    made = make_advice() if is_advised else None  # now, for the side may change with the next write
    return Consulted(
        side=side,
        question=question or Question("", np.zeros(side.dimension, np.float32)),
        near=near,
        strategies=ways.numbers,
        texts=ways.texts,
        same=ways.same,
        cells=found.cells,
        cell_rows=found.rows,
        cell_weights=task_weights,
        reader=reader,
        make_advice=make_advice if made is None else lambda: made,
    )


def _counting(
    side: Side, near: Nearness, reader: str | None, also: Sequence[tuple[str, Vectors]], wanted: Iterable[str]
) -> tuple["_Cells", Floats, Floats, "_Ways"]:
    """The cells that count, how near their tasks are, how much they weigh by their agents, and the ways that they are of."""
    found = _Cells.near(side, near, wanted)
    task, _, agent = side.places.rows.T
    task_weights = near.weights[task[found.cells]]
    weight = _weights(side, agent, found.cells, reader)
    ways = _Ways.of(side, found, task_weights * weight, also)
    if reader is not None:
        weight = _own_first(weight, task_weights * side.counts.rows[found.cells, 1], found.rows, ways.same)
        counts = weight > 0
        if not counts.all():  # what counts nothing is not among the plain counts either, and parts no ways
            found = replace(found, cells=found.cells[counts], rows=found.rows[counts])
            task_weights, weight = task_weights[counts], weight[counts]
            ways = _Ways.of(side, found, task_weights * weight, also)
    return found, task_weights, weight, ways


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells that count, and their `rows`; the strategies that were tried, and the row of each strategy of the side, −1 for one without."""

    cells: Indices
    rows: Indices
    tried: Indices
    place: Indices

    @classmethod
    def near(cls, side: Side, near: Nearness, keys: Iterable[str]) -> "_Cells":
        """The cells of near tasks with the strategies that were tried most there, or are among `keys`, by their hashes."""
        task, strategy, _ = side.places.rows.T
        counted = np.flatnonzero((near.weights >= LEAST_WEIGHT)[task])
        trials = side.counts.rows[counted, 1] * near.weights[task[counted]]
        wanted = [number for key in keys if (number := side.strategies.get(key)) is not None]
        tried = _tried_most(strategy[counted], trials, wanted)
        if len(tried) == len(side.strategies):
            return cls(counted, strategy[counted], tried, tried)
        place = np.full(len(side.strategies), -1)
        place[tried] = np.arange(len(tried))
        cells = counted[place[strategy[counted]] >= 0]
        return cls(cells, place[strategy[cells]], tried, place)


@dataclass(frozen=True, slots=True)
class _Ways:
    """The strategies that advice is about: numbers, −1 for one that was never tried, words, and the probabilities that two are the same."""

    numbers: list[int]
    texts: list[str]
    same: Floats

    @classmethod
    def of(cls, side: Side, found: _Cells, weights: Floats, also: Sequence[tuple[str, Vectors]]) -> "_Ways":
        """Those that were tried, beside what came of them in cells of these weights, and those that are asked about as well."""
        numbers = found.tried.tolist()
        texts = [side.strategy_texts[number] for number in numbers]
        vectors = side.strategy_vectors.rows[found.tried]
        successes, trials = side.counts.rows[found.cells, :2].T
        cells = Cells(found.rows, side.places.rows[found.cells, 0], successes, trials, weights)
        came_of = outcomes_of(cells, len(numbers))
        same = side.alike.likeness(numbers, texts, vectors).weights(came_of)
        new = {text: vector for text, vector in also if text not in texts}
        if new:  # what is only asked about changes nothing among those that were tried
            count = len(numbers)
            numbers += [-1] * len(new)
            texts += new
            vectors = np.concatenate([vectors, [*new.values()]])
            whole = side.alike.likeness(numbers, texts, vectors).weights(came_of.beside(len(new)))
            whole[:count, :count] = same
            same = whole
        return cls(numbers, texts, same)


def _advice(side: Side, near: Nearness, found: _Cells, weight: Floats, ways: _Ways, reader: str | None) -> Advice:
    """The advice from cells, given their weights."""
    counts, everything = side.counts.rows[found.cells], side.counts.rows
    tasks, cell_tasks = _by_last_observation(side.places.rows[found.cells, 0], counts[:, 6])
    experience = Experience(
        tasks=(),
        task_vectors=side.tasks.vectors[:0],
        task_types=(),
        strategies=ways.texts,
        same=ways.same,
        cell_task=cell_tasks,
        cell_strategy=found.rows,
        successes=counts[:, 0],
        trials=counts[:, 1],
        recent_successes=counts[:, 2],
        recent_trials=counts[:, 3],
        vote=counts[:, 4],
        weight=weight,
    )
    here = Nearness(near.weights[tasks], near.cosines[tasks], near.is_own[tasks], near.types[tasks])
    _, strategy, agent = side.places.rows.T
    weights = _weights(side, agent, np.arange(len(agent)), reader)
    return pooled(experience, here, usual_rates(everything[:, 0], everything[:, 1], weights, found.place[strategy], ways.same))


def rules_near(side: Side, question: Question | None, *, least: float, most: int) -> list[Entry]:
    """At most `most` cells that a rule rests on and whose task has at least this weight, the nearest first, of equally near ones the newest."""
    cells = np.fromiter(side.rules, np.intp, len(side.rules))
    if not len(cells):
        return []
    weights = side.nearness(question).weights[side.places.rows[cells, 0]]
    order = np.lexsort((-cells, -weights))[:most]
    return [side.held[cell] for cell in cells[order[weights[order] >= least]].tolist()]


def may_be_rules(side: Side, question: Question, needed: Needed, *, newest: int, home: int) -> bool:
    """Returns True if there is, or may be, any rule near a question: cheaper than to ask."""
    first = _first_task(side, newest, home)
    is_near = np.zeros(len(side.tasks), bool)
    is_near[first:] = side.nearness(question, first=first).weights >= NEAR
    places, start = side.places.rows[:, 0], side.first_cells[first]
    if side.rules and is_near[places[list(side.rules)]].any():
        return True
    successes, trials = side.counts.rows[start:][is_near[places[start:]], :2].sum(axis=0)
    return bool(successes >= needed.successes or trials - successes >= needed.failures)


def _by_last_observation(task: Indices, observed_at: Floats) -> tuple[Indices, Indices]:
    """The tasks of cells, those observed last at the end, and the place of each cell's task among them."""
    tasks, place = distinct(task)
    last = np.zeros(len(tasks))
    np.maximum.at(last, place, observed_at)
    order = np.argsort(last, kind="stable")
    rank = np.empty(len(tasks), np.intp)
    rank[order] = np.arange(len(tasks))
    return tasks[order], rank[place]


def _nearness(side: Side, question: Question | None, newest: int | None, home: int | None) -> Nearness:
    """How near all tasks of a side are; those that are not among the newest not at all."""
    first = _first_task(side, newest, home)
    near = side.nearness(question, first=first)
    if not first:
        return near
    older = np.zeros(first)
    return Nearness(
        np.concatenate([older, near.weights]),
        np.concatenate([older - 1, near.cosines]),
        np.concatenate([older > 0, near.is_own]),
        np.concatenate([older.astype(np.intp), near.types]),
    )


def _first_task(side: Side, newest: int | None, home: int | None) -> int:
    first = 0 if newest is None else max(len(side.tasks) - newest, 0)
    return first if home is None else min(first, home)


def _tried_most(strategy: Indices, trials: Floats, wanted: Sequence[int]) -> Indices:
    """The strategies with the most trials near the question, and the wanted ones, in the order in which they were first recorded."""
    if not strategy.any():  # of one strategy, or of none
        return strategy[:1]
    numbers, place = distinct(strategy)
    if len(numbers) > MOST_STRATEGIES:
        most = np.argsort(-np.bincount(place, trials), kind="stable")[:MOST_STRATEGIES]
        numbers = np.union1d(numbers[most], numbers[np.isin(numbers, wanted)])
    return numbers


def _weights(side: Side, agent: Indices, cells: Indices, reader: str | None) -> Floats:
    if reader is None:
        return np.ones(len(cells))
    return np.where(agent[cells] == side.agents.get(reader, -1), 1.0, OTHERS)


def _own_first(weight: Floats, trials: Floats, rows: Indices, same: Floats) -> Floats:
    """The weights without those of others where the reader tried the same strategy often enough itself."""
    is_own = weight == 1.0
    if is_own.all():
        return weight
    own = np.bincount(rows[is_own], trials[is_own], len(same))
    has_enough = (same >= SAME_WAY) @ own >= OWN_ENOUGH
    return np.where(~is_own & has_enough[rows], 0.0, weight)
