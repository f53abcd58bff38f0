"""Policies that choose a strategy for each task of a world, those that ask nothing of ALMA.

A policy is made for one world. It chooses one of the strategies that are offered for a task, then records the outcome. Strategies are offered in
one order, so that the baselines know each in all its wordings. The class of a hard task is its intent plus the number of intents.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulation.wording_worlds import Asked, World

STRATEGIES = 6
UNTRIED = 1e9
NEAR = 0.4

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
Counts = NDArray[np.float64]
Score = Callable[[Counts, Counts], Counts]


class Policy(Protocol):
    """Chooses for one task after the other."""

    def choose(self, task: str, intent: int, offered: Sequence[str]) -> str: ...

    def record(self, task: str, intent: int, strategy: str, succeeded: bool) -> None: ...


class Random:
    """Chooses at random."""

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance

    def choose(self, task: str, intent: int, offered: Sequence[str]) -> str:
        return offered[int(self._chance.integers(len(offered)))]

    def record(self, task: str, intent: int, strategy: str, succeeded: bool) -> None:
        pass


class MostRecentSuccess:
    """Does what succeeded last, whatever the task was; at random before anything did."""

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance
        self._place: int | None = None
        self._offered: Sequence[str] = ()

    def choose(self, task: str, intent: int, offered: Sequence[str]) -> str:
        self._offered = offered
        return offered[int(self._chance.integers(len(offered))) if self._place is None else self._place]

    def record(self, task: str, intent: int, strategy: str, succeeded: bool) -> None:
        if succeeded:
            self._place = self._offered.index(strategy)


class ByCounts:
    """Chooses by successes and failures: of each intent if `knows_classes`, else of all tasks."""

    def __init__(self, intents: int, score: Score, *, knows_classes: bool, strategies: int = STRATEGIES) -> None:
        self._score = score
        self._won, self._lost = np.zeros((2, intents if knows_classes else 1, strategies))
        self._offered: Sequence[str] = ()

    def choose(self, task: str, intent: int, offered: Sequence[str]) -> str:
        self._offered = offered
        row = self._row(intent)
        return offered[int(self._score(self._won[row], self._lost[row]).argmax())]

    def record(self, task: str, intent: int, strategy: str, succeeded: bool) -> None:
        counts = self._won if succeeded else self._lost
        counts[self._row(intent), self._offered.index(strategy)] += 1

    def _row(self, intent: int) -> int:
        return intent % len(self._won)


def thompson(chance: np.random.Generator) -> Score:
    """Thompson sampling on Beta(1, 1)."""
    return lambda won, lost: chance.beta(won + 1, lost + 1)


def ucb(chance: np.random.Generator) -> Score:
    """UCB1 (Auer, Cesa-Bianchi and Fischer 2002); what was never tried first, ties at random."""

    def score(won: Counts, lost: Counts) -> Counts:
        tried = won + lost
        bonus = np.sqrt(2 * np.log(np.maximum(tried.sum(), 1)) / np.maximum(tried, 1))
        return np.where(tried > 0, won / np.maximum(tried, 1) + bonus, UNTRIED + chance.random(len(won)))

    return score


class VectorMemory:
    """Plain vector memory: does what was done in the nearest past task that succeeded; at random where none is near."""

    def __init__(self, embed: Embed, chance: np.random.Generator) -> None:
        self._embed, self._chance = embed, chance
        self._vectors: list[NDArray[np.float32]] = []
        self._strategies: list[str] = []

    def choose(self, task: str, intent: int, offered: Sequence[str]) -> str:
        cosines = np.stack(self._vectors) @ self._embed([task])[0] if self._vectors else np.zeros(1)
        if cosines.max() < NEAR:
            return offered[int(self._chance.integers(len(offered)))]
        return nearest_offered(self._strategies[int(cosines.argmax())], offered, self._embed)

    def record(self, task: str, intent: int, strategy: str, succeeded: bool) -> None:
        if succeeded:
            self._vectors.append(self._embed([task])[0])
            self._strategies.append(strategy)


def nearest_offered(strategy: str, offered: Sequence[str], embed: Embed) -> str:
    """The strategy that is offered and is meant: the same words, else the nearest vector."""
    if strategy in offered:
        return strategy
    return offered[int((embed(offered) @ embed([strategy])[0]).argmax())]


def regret(policy: Policy, where: World) -> float:
    """The sum over tasks of the best rate minus the chosen one's. The policy is told what became of each choice."""
    return sum(step(policy, asked) for asked in where.asked)


def step(policy: Policy, asked: Asked) -> float:
    """One task: chosen, done, recorded; its regret."""
    strategy = policy.choose(asked.task, asked.told_class, asked.offered)
    policy.record(asked.task, asked.told_class, strategy, asked.outcome(strategy))
    return asked.regret(strategy)
