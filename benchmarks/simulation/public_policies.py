"""Policies that choose by the public calls of ALMA, each in a store of its own, with real vectors and a clock that moves ten minutes a task."""

import inspect
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.simulation.policies import nearest_offered
from benchmarks.simulation.worlds import BETWEEN_MINUTES, PROJECT

if TYPE_CHECKING:
    from alma import ALMA
    from alma.protocols import Embedder
    from alma.testing import FixedClock
    from alma.types.strategies import StrategyTable

AGENT = "worker"


class Opened:
    """An empty memory and its clock, which moves with every outcome."""

    def __init__(self, alma: "ALMA", clock: "FixedClock", embedder: "Embedder") -> None:
        self.alma, self.clock, self.embedder = alma, clock, embedder
        self.lists_untried = "among" in inspect.signature(alma.strategies).parameters

    def learn(self, task: str, strategy: str, succeeded: bool, task_type: str | None = None) -> None:
        """Learns of one outcome, ten minutes after the last."""
        self.clock.advance(minutes=BETWEEN_MINUTES)
        self.alma.learn(AGENT, task, succeeded, strategy, task_type=task_type)

    def learn_all(self, agent: str, events: Iterable[tuple[str, str | None, str, bool]]) -> None:
        """Learns of many outcomes at once, ten minutes apart: task, type, strategy, success."""
        items = []
        for task, task_type, strategy, succeeded in events:
            self.clock.advance(minutes=BETWEEN_MINUTES)
            item = {"agent": agent, "task": task, "task_type": task_type, "strategy_used": strategy, "outcome": succeeded}
            items.append({**item, "timestamp": self.clock()})
        self.alma.learn_many(items)

    def table(
        self, task: str, offered: Sequence[str] = (), task_type: str | None = None, *, agent: str = AGENT
    ) -> "StrategyTable":
        """The table for a task, or for its type; with those of `offered` that were never tried, if the call can list them."""
        where: dict[str, Any] = {"task": task} if task_type is None else {"task_type": task_type}
        if self.lists_untried and offered:
            where["among"] = list(offered)
        return self.alma.strategies(agent=agent, **where)


@contextmanager
def opened(embedder: "Embedder") -> Iterator[Opened]:
    """A memory that is gone afterwards."""
    from alma import ALMA
    from alma.testing import FixedClock

    clock = FixedClock()
    with (
        tempfile.TemporaryDirectory(prefix="wordings-") as folder,
        ALMA.open(Path(folder), project_id=PROJECT, embedding_provider=embedder, clock=clock) as alma,
    ):
        yield Opened(alma, clock, embedder)


class TablePolicy:
    """Follows the first row of the table. What was never tried and is not in the table is tried first."""

    def __init__(self, memory: Opened, chance: np.random.Generator, *, typed: bool = False) -> None:
        self._memory, self._chance, self._typed = memory, chance, typed

    def choose(self, task: str, intent: int, offered: Sequence[str]) -> str:
        rows = self._memory.table(task, offered, f"class {intent}" if self._typed else None).rows
        listed = [nearest_offered(row.strategy, offered, self._memory.embedder.embed) for row in rows]
        missing = [strategy for strategy in offered if strategy not in listed]
        return missing[int(self._chance.integers(len(missing)))] if missing else listed[0]

    def record(self, task: str, intent: int, strategy: str, succeeded: bool) -> None:
        self._memory.learn(task, strategy, succeeded, f"class {intent}" if self._typed else None)


class PromptPolicy(TablePolicy):
    """Follows [H1] of what is retrieved, if there is a heuristic; else the table."""

    def choose(self, task: str, intent: int, offered: Sequence[str]) -> str:
        shown = self._memory.alma.retrieve(task=task, agent=AGENT).heuristics
        if shown:
            return nearest_offered(shown[0].strategy, offered, self._memory.embedder.embed)
        return super().choose(task, intent, offered)
