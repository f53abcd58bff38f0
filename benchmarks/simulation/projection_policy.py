"""A policy that chooses by `alma_learning` alone, as the public calls of ALMA would, without a store."""

from collections.abc import Sequence

import numpy as np

from alma_learning import Projection, Question
from benchmarks.simulation.policies import Embed
from benchmarks.trials import make_trial


class ProjectionPolicy:
    """Chooses the strategy that is expected to do best, ties at random; one that was never tried on such tasks does as all do.

    `typed` tasks are recorded with their types, and asked for with these if they are `asked_with_types`.
    """

    def __init__(self, embed: Embed, chance: np.random.Generator, *, typed: bool = False, asked_with_types: bool = True) -> None:
        self._chance, self._typed, self._asked_with_types = chance, typed, typed and asked_with_types
        self._projection = Projection(embed)

    def choose(self, task: str, intent: int, offered: Sequence[str]) -> str:
        """Returns one of the strategies that are offered."""
        task_type = f"class {intent}" if self._asked_with_types else None
        table = self._projection.table(Question(task, task, task_type))
        rows = [table.find(strategy) for strategy in offered]
        expected = np.array([table.base if row is None else row.mean for row in rows])
        return offered[int(self._chance.choice(np.flatnonzero(expected >= expected.max() - 1e-9)))]

    def record(self, task: str, intent: int, strategy: str, succeeded: bool) -> None:
        """Adds what became of a choice."""
        number, task_type = len(self._projection), f"class {intent}" if self._typed else None
        self._projection.extend([make_trial(number, task, strategy, float(succeeded), task_type=task_type)])
