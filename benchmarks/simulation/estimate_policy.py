"""Policies that choose by an estimate: a pure function from an `Experience` and a `Question` to `Advice`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulation.policies import Embed
from benchmarks.simulation.prototype import prototype_advice

if TYPE_CHECKING:
    from alma.learning.experience import Advice, Experience, Question
    from alma.learning.kernels import Calibration
    from alma.protocols import Embedder

DISCOUNT = 0.93
NOT_SAME, SPAN = 0.35, 0.4

Floats = NDArray[np.float64]
Advise = Callable[["Experience", "Question"], "Advice"]


class Sameness(Protocol):
    """The probability that two strategies are the same way in other words, k × k; `previous` is the answer for the first of them."""

    def __call__(self, texts: Sequence[str], vectors: NDArray[np.float32], previous: Floats | None = None, /) -> Floats: ...


def by_cosine(texts: Sequence[str], vectors: NDArray[np.float32], previous: Floats | None = None, /) -> Floats:
    """A ramp of the cosine, whatever the words say."""
    same: Floats = np.clip((vectors @ vectors.T - NOT_SAME) / SPAN, 0.0, 1.0).astype(np.float64)
    np.fill_diagonal(same, 1.0)
    return same


class Ledger:
    """What was tried, as the arrays of an `Experience`: one cell for each pair of a task and a strategy."""

    def __init__(self, embed: Embed, same: Sameness) -> None:
        self._embed, self._sameness = embed, same
        self._tasks: dict[tuple[str, str | None], int] = {}
        self._strategies: dict[str, int] = {}
        self._same = np.zeros((0, 0))
        self._cells: dict[tuple[int, int], int] = {}
        self._counts: list[list[float]] = []

    def place_of(self, strategy: str) -> int:
        """The place of a strategy, which is added if it is new."""
        if strategy not in self._strategies:
            self._strategies[strategy] = len(self._strategies)
            texts = list(self._strategies)
            self._same = self._sameness(texts, self._embed(texts), self._same)
        return self._strategies[strategy]

    def learn(self, task: str, task_type: str | None, strategy: str, worth: float) -> None:
        """Counts one outcome, 1 for a success. Earlier ones of the same cell are discounted where recent ones are counted."""
        where = self._tasks.setdefault((task, task_type), len(self._tasks)), self.place_of(strategy)
        if where not in self._cells:
            self._cells[where] = len(self._counts)
            self._counts.append([0.0, 0.0, 0.0, 0.0, worth])
        counts = self._counts[self._cells[where]]
        counts[:4] = [counts[0] + worth, counts[1] + 1, counts[2] * DISCOUNT + worth, counts[3] * DISCOUNT + 1]

    def experience(self) -> "Experience":
        """All that was learned so far."""
        from alma.learning.experience import Experience

        tasks = [task for task, _ in self._tasks]
        counts = np.array(self._counts, np.float64).reshape(-1, 5).T
        cells = np.array(list(self._cells), np.intp).reshape(-1, 2)
        return Experience(
            tasks=tasks,
            task_vectors=self._embed(tasks),
            task_types=[task_type for _, task_type in self._tasks],
            strategies=list(self._strategies),
            same=self._same,
            cell_task=cells[:, 0],
            cell_strategy=cells[:, 1],
            successes=counts[0],
            trials=counts[1],
            recent_successes=counts[2],
            recent_trials=counts[3],
            vote=counts[4],
            weight=np.ones(len(cells)),
        )


class EstimatePolicy:
    """Follows the first row: the strategy with the highest expected success, ties at random. What was never tried has its own estimate, too.

    `typed` tasks are recorded with their types, and asked for with these if they are `asked_with_types`.
    """

    def __init__(
        self,
        advise: Advise,
        embed: Embed,
        same: Sameness,
        chance: np.random.Generator,
        *,
        typed: bool = False,
        asked_with_types: bool = True,
    ) -> None:
        self._advise, self._embed, self._chance = advise, embed, chance
        self._typed, self._asked_with_types = typed, typed and asked_with_types
        self._ledger = Ledger(embed, same)

    def choose(self, task: str, intent: int, offered: Sequence[str]) -> str:
        from alma.learning.experience import Question

        places = [self._ledger.place_of(strategy) for strategy in offered]
        question = Question(task, self._embed([task])[0], f"class {intent}" if self._asked_with_types else None)
        expected = self._advise(self._ledger.experience(), question).expected[places]
        best = np.flatnonzero(expected >= expected.max() - 1e-12)
        return offered[int(self._chance.choice(best))]

    def record(self, task: str, intent: int, strategy: str, succeeded: bool) -> None:
        self._ledger.learn(task, f"class {intent}" if self._typed else None, strategy, float(succeeded))


def has_estimate() -> bool:
    """Whether ALMA has the pure function by now."""
    return find_spec("alma.learning.pooling") is not None


def current_estimate(embedder: "Embedder") -> tuple[Callable[[], Advise], Sameness]:
    """What makes the estimate for a world, and the sameness of strategies: ALMA's, or the prototype's where ALMA has none yet."""
    if not has_estimate():
        return lambda: prototype_advice, by_cosine
    from alma.learning.alike import same_weights
    from alma.learning.kernels import calibrated

    calibration = calibrated(embedder.fingerprint, embedder.embed)
    scale = calibration.scale if calibration else None
    advise = partial(advice_with, calibration, embedder.embed)
    return advise, lambda texts, vectors, _=None: same_weights(texts, vectors, scale=scale)


def advice_with(calibration: "Calibration | None", embed: Embed) -> Advise:
    """The estimate as a ledger makes it, for one growing experience. Which strategies are one is judged beside what came of them."""
    from alma.learning.alike import AlikeStrategies
    from alma.learning.pooling import LEAST_WEIGHT, Cells, outcomes_of, pooled, usual_rates
    from alma.learning.task_kernels import TaskKernels

    kernels: TaskKernels | None = None
    alike = AlikeStrategies(calibration.scale if calibration else None)

    def advise(experience: "Experience", question: "Question") -> "Advice":
        nonlocal kernels
        kernels = kernels or TaskKernels(calibration, experience.task_vectors.shape[1])
        for place in range(len(kernels), len(experience.tasks)):
            kernels.add(experience.tasks[place], experience.task_types[place], experience.task_vectors[place])
        near = kernels.nearness(question, partial(of_first, experience))
        weights = np.where(near.weights >= LEAST_WEIGHT, near.weights, 0.0)[experience.cell_task] * experience.weight
        texts, counts = list(experience.strategies), (experience.successes, experience.trials)
        likeness = alike.likeness(range(len(texts)), texts, embed(texts))
        same = likeness.weights(outcomes_of(Cells(experience.cell_strategy, experience.cell_task, *counts, weights), len(texts)))
        usual = usual_rates(*counts, experience.weight, experience.cell_strategy, same)
        return pooled(replace(experience, same=same), near, usual)

    return advise


def of_first(experience: "Experience", tasks: int) -> "Experience":
    """What was tried on the first tasks."""
    kept = experience.cell_task < tasks
    counts = ("successes", "trials", "recent_successes", "recent_trials", "vote", "weight")
    return replace(
        experience,
        tasks=experience.tasks[:tasks],
        task_vectors=experience.task_vectors[:tasks],
        task_types=experience.task_types[:tasks],
        cell_task=experience.cell_task[kept],
        cell_strategy=experience.cell_strategy[kept],
        **{name: getattr(experience, name)[kept] for name in counts},
    )
