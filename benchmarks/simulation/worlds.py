"""An agent in a world of known truth: it tries strategies whose chances we set, and learns of how it went by the public calls."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from alma import ALMA
    from alma.testing import FixedClock
    from alma.types.strategies import StrategyTable

STRATEGIES = ("amber", "bronze", "cobalt", "denim", "ebony", "fuchsia", "garnet", "hazel")
TASK_TYPE = "job"
BETWEEN_MINUTES = 10
PROJECT = "simulation"

Luck = NDArray[np.bool_]


@contextmanager
def store() -> "Iterator[Store]":
    """An empty memory, gone afterwards. Its vectors are hashed, its clock stands still until it is moved."""
    from alma import ALMA
    from alma.testing import FixedClock

    clock = FixedClock()
    with (
        TemporaryDirectory(prefix="simulation-") as folder,
        ALMA.open(Path(folder), project_id=PROJECT, embedding_provider="hash", clock=clock) as alma,
    ):
        yield Store(alma, clock)


class Store:
    """A memory and its clock, which moves ten minutes with every outcome."""

    def __init__(self, alma: "ALMA", clock: "FixedClock") -> None:
        self.alma = alma
        self.clock = clock
        self._jobs = 0

    def learn(self, agent: str, strategy: str, won: bool) -> None:
        """Learns of one more job, a task like no other."""
        self.clock.advance(minutes=BETWEEN_MINUTES)
        self.alma.learn(**self._item(agent, strategy, won))

    def learn_all(self, agent: str, events: Sequence[tuple[str, bool]], *, task_type: str = TASK_TYPE) -> None:
        """Learns of many jobs at once, ten minutes apart."""
        items = []
        for strategy, won in events:
            self.clock.advance(minutes=BETWEEN_MINUTES)
            items.append({**self._item(agent, strategy, won), "task_type": task_type, "timestamp": self.clock()})
        self.alma.learn_many(items)

    def table(self, agent: str, task_type: str = TASK_TYPE) -> "StrategyTable":
        """What was tried, the surest to work first."""
        return self.alma.strategies(task_type=task_type, agent=agent)

    def _item(self, agent: str, strategy: str, won: bool) -> dict[str, Any]:
        self._jobs += 1
        return {"agent": agent, "task": f"Job {self._jobs}", "outcome": won, "strategy_used": strategy, "task_type": TASK_TYPE}


def luck(chance: np.random.Generator, rates: Sequence[float], decisions: int) -> Luck:
    """Whether each strategy would succeed at each decision: the same for whoever decides."""
    return np.asarray(chance.random((decisions, len(rates))) < np.asarray(rates))


def in_turn(chance: np.random.Generator, rates: Sequence[float], rounds: int) -> list[tuple[int, bool]]:
    """So many rounds in which each strategy is tried once, in an order drawn anew: its place and whether it succeeded."""
    drawn = luck(chance, rates, rounds)
    return [(place, bool(drawn[number, place])) for number in range(rounds) for place in chance.permutation(len(rates)).tolist()]
