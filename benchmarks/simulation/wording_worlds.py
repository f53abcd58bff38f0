"""Worlds in which tasks are told in many words, and each kind of task has its own best strategy."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulation.told import Vocabulary

TASKS = 500
HARD_SHARE, HARD_FACTOR = 0.5, 0.6


class Gap(StrEnum):
    """How far the best strategy of an intent is ahead of the others."""

    WIDE = "wide"
    NARROW = "narrow"
    HIGH = "high"

    def rates(self, chance: np.random.Generator, others: int) -> tuple[float, list[float]]:
        """The rate of the best strategy and those of the others."""
        match self:
            case Gap.WIDE:
                return 0.8, chance.uniform(0.2, 0.5, others).tolist()
            case Gap.NARROW:
                return 0.7, chance.permutation(np.linspace(0.55, 0.35, others)).tolist()
            case Gap.HIGH:
                return 0.95, chance.uniform(0.6, 0.85, others).tolist()


@dataclass(frozen=True, slots=True)
class Asked:
    """One task. `offered` has one wording of each strategy, `succeeds` whether each would succeed: the same for whoever chooses.

    `told_class` is what a caller who gives types knows: the intent, and whether the task is hard.
    """

    task: str
    intent: int
    told_class: int
    offered: tuple[str, ...]
    succeeds: tuple[bool, ...]
    rates: tuple[float, ...]

    def regret(self, strategy: str) -> float:
        """By how much the best rate exceeds that of a strategy that was offered."""
        return max(self.rates) - self.rates[self.offered.index(strategy)]

    def outcome(self, strategy: str) -> bool:
        """Whether a strategy that was offered succeeds."""
        return self.succeeds[self.offered.index(strategy)]


@dataclass(frozen=True, slots=True)
class World:
    """Tasks in the order in which they are asked; `known` are the wordings of each intent that they are drawn from, `unseen` the others."""

    vocabulary: Vocabulary
    asked: Sequence[Asked]
    known: Sequence[Sequence[int]]
    unseen: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Kind:
    """What worlds are like. `paraphrased`: strategies are offered in any of their wordings; `unseen`: the share of the wordings that is kept back;
    `wordings`: the number of wordings of an intent that tasks are drawn from (default: all that are not kept back); `difficult`: half of the tasks
    are hard, which lowers all rates, and of which only the type says so."""

    gap: Gap = Gap.WIDE
    paraphrased: bool = False
    difficult: bool = False
    unseen: float = 0.0
    wordings: int | None = None
    tasks: int = TASKS


def world(vocabulary: Vocabulary, kind: Kind, seed: int) -> World:
    """The world of a seed: intents, wordings and names are drawn at random. Every strategy is the best of at least one intent."""
    chance = np.random.default_rng([seed, *vocabulary.name.encode()])
    rates = _rates(kind.gap, chance, len(vocabulary.intents), len(vocabulary.strategies))
    known, unseen = [], []
    for wordings in vocabulary.wordings:
        order = chance.permutation(len(wordings)).tolist()
        kept = round(kind.unseen * len(order))
        known.append(order[kept:][: kind.wordings])
        unseen.append(order[:kept])
    asked = [_asked(vocabulary, kind, rates, known, chance) for _ in range(kind.tasks)]
    return World(vocabulary, asked, known, unseen)


def _rates(gap: Gap, chance: np.random.Generator, intents: int, strategies: int) -> NDArray[np.float64]:
    result = np.empty((intents, strategies))
    best = np.resize(chance.permutation(strategies), intents)
    for intent, place in enumerate(chance.permutation(best).tolist()):
        highest, others = gap.rates(chance, strategies - 1)
        result[intent] = np.insert(others, place, highest)
    return result


def _asked(
    vocabulary: Vocabulary,
    kind: Kind,
    rates: NDArray[np.float64],
    known: Sequence[Sequence[int]],
    chance: np.random.Generator,
) -> Asked:
    intent = int(chance.integers(len(vocabulary.intents)))
    tasks = vocabulary.tasks(intent, int(chance.choice(known[intent])))
    task = tasks[int(chance.integers(len(tasks)))]
    is_hard = kind.difficult and bool(chance.random() < HARD_SHARE)
    now = rates[intent] * (HARD_FACTOR if is_hard else 1)
    wordings = [int(chance.integers(len(words))) if kind.paraphrased else 0 for words in vocabulary.strategies]
    return Asked(
        task=task,
        intent=intent,
        told_class=intent + len(vocabulary.intents) * is_hard,
        offered=tuple(words[place] for words, place in zip(vocabulary.strategies, wordings, strict=True)),
        succeeds=tuple((chance.random(len(now)) < now).tolist()),
        rates=tuple(now.tolist()),
    )
