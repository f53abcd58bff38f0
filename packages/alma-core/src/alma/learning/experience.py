"""The ledger of an agent, or of all agents that a reader may read, as arrays: what every estimate is made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alma.learning.intervals import Floats as Floats
from alma.learning.intervals import jeffreys

Vectors = NDArray[np.float32]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Experience:
    """n tasks, k strategies, and c cells: one cell for each pair of a task and a strategy that was tried for it.

    Tasks, strategies and cells are in the order in which they were first recorded; for `pooled`, tasks in the order in which they were last
    observed. Vectors are unit vectors of d dimensions. `task_types` has `None` where the caller named no type.
    `same` (k × k, symmetric, 1 on the diagonal) is the probability that two strategies are the same way in other words.
    Of each cell: `successes` of `trials` are its lifetime counts, a partial success a half; `recent_successes` of `recent_trials` are discounted by
    what came later in the same cell, and by time;
    `vote` is the worth of the first judged outcome (NaN: none was judged); `weight` is 1 for the reader's own, less for another agent's.
    """

    tasks: Sequence[str]
    task_vectors: Vectors
    task_types: Sequence[str | None]
    strategies: Sequence[str]
    same: Floats
    cell_task: Indices
    cell_strategy: Indices
    successes: Floats
    trials: Floats
    recent_successes: Floats
    recent_trials: Floats
    vote: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class Question:
    """A task that advice is wanted for. `vector` is the unit vector of its text."""

    task: str
    vector: Vectors
    task_type: str | None = None


@dataclass(frozen=True)
class Advice:
    """The estimate relative to one question: arrays over the k strategies.

    `expected` is the rate of success on such tasks, drawn to the agent's rate where little is known. `change` (0 to 1) is how surely a
    rate has changed since: so far it moves to the rate of now, and its bounds with it.
    `successes` of `trials` are pooled counts, weighted by nearness; `recent_successes` of `recent_trials` are discounted as well, and `recent` is
    their rate, `base` where there are none.
    `whole_successes` of `whole_trials`, on `whole_tasks` tasks, are the plain counts of near tasks: those whose weight is at least a third;
    `own_trials` are those in the very words of the strategy.
    `effective_tasks` is the number of independent tasks that the pooled evidence is worth. `lift` is the difference to what else was tried on
    like tasks (Mantel–Haenszel), with its standard error `lift_error` and its bounds `lift_lower` and `lift_upper`; `others` the pooled trials
    that it is compared with, `others_rate` their rate of success; `better` the probability that it is above 0. `nearest` is the nearness (cosine
    as the kernel sees it, 1 for the same task and for the same type) of the nearest task that the strategy was tried on; −1 where it was tried on
    none. `near_successes` and `near_failures` are the same of the nearest task with a success, with a failure.
    """

    expected: Floats
    change: Floats
    successes: Floats
    trials: Floats
    recent: Floats
    recent_successes: Floats
    recent_trials: Floats
    whole_successes: Floats
    whole_trials: Floats
    whole_tasks: Floats
    own_trials: Floats
    effective_tasks: Floats
    lift: Floats
    lift_error: Floats
    lift_lower: Floats
    lift_upper: Floats
    others: Floats
    others_rate: Floats
    better: Floats
    nearest: Floats
    near_successes: Floats
    near_failures: Floats
    base: float
    """The rate that all are drawn to: the agent's, over all tasks."""

    @property
    def lower(self) -> Floats:
        """Bounds the rate from below at 95 %. Bounds are computed when they are asked for: rules are judged without."""
        return self._bounds[0]

    @property
    def upper(self) -> Floats:
        """Bounds the rate from above at 95 %."""
        return self._bounds[1]

    @property
    def recent_lower(self) -> Floats:
        """Bounds from below, at 95 %, what the rate is now."""
        return self._recent_bounds[0]

    @property
    def recent_upper(self) -> Floats:
        """Bounds from above, at 95 %, what the rate is now."""
        return self._recent_bounds[1]

    @cached_property
    def _bounds(self) -> tuple[Floats, Floats]:
        lower, upper = jeffreys(self.successes, self.trials)
        if not self.change.any():
            return lower, upper
        recent_lower, recent_upper = self._recent_bounds
        return (
            np.select([self.change >= 1.0, self.change > 0.0], [recent_lower, np.minimum(lower, recent_lower)], lower),
            np.select([self.change >= 1.0, self.change > 0.0], [recent_upper, np.maximum(upper, recent_upper)], upper),
        )

    @cached_property
    def _recent_bounds(self) -> tuple[Floats, Floats]:
        return jeffreys(self.recent_successes, self.recent_trials)
