"""Agents that try strategies in many worlds at once, each by its way of choosing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alma.learning.levels import DISCOUNT
from alma.learning.proof import Votes

Floats = NDArray[np.float64]
Arms = NDArray[np.intp]


@dataclass(slots=True)
class Play:
    """Worlds × types × strategies of known rates, the votes so far, and counts discounted by each new vote of the strategy.

    One step is one outcome in each type of each world, each of a task of its own.
    """

    rates: Floats
    chance: np.random.Generator
    successes: Floats = field(init=False)
    failures: Floats = field(init=False)
    recent: Floats = field(init=False)
    arm: Arms = field(init=False)
    won: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.successes, self.failures = np.zeros((2, *self.rates.shape))
        self.recent = np.zeros((2, *self.rates.shape))
        self.arm = self.chance.integers(0, self.rates.shape[-1], self.rates.shape[:-1])
        self.won = np.zeros(self.rates.shape[:-1], bool)

    @property
    def votes(self) -> Votes:
        """The votes so far."""
        return Votes(self.successes, self.failures)

    def step(self, choose: "Choose") -> None:
        """Tries one strategy in each type of each world."""
        self.arm = choose(self)
        at = (*np.indices(self.arm.shape, sparse=True), self.arm)
        self.won = self.chance.random(self.arm.shape) < self.rates[at]
        self.successes[at] += self.won
        self.failures[at] += ~self.won
        for side, counted in zip(self.recent, (self.won, ~self.won), strict=True):
            side[at] = DISCOUNT * side[at] + counted


Choose = Callable[[Play], Arms]


def at_random(play: Play) -> Arms:
    """Every strategy as often as any."""
    return play.chance.integers(0, play.rates.shape[-1], play.arm.shape)


def greedy(play: Play) -> Arms:
    """The strategy with the highest mean of Beta(1, 1), ties at random."""
    mean = (play.successes + 1) / (play.successes + play.failures + 2)
    return _highest(mean + 1e-9 * play.chance.random(mean.shape))


def win_stay(play: Play) -> Arms:
    """The same strategy again after a success, another one at random after a failure."""
    shift = play.chance.integers(1, play.rates.shape[-1], play.arm.shape)
    return np.where(play.won, play.arm, (play.arm + shift) % play.rates.shape[-1])


def thompson(play: Play) -> Arms:
    """Thompson sampling on Beta(1, 1)."""
    return _highest(play.chance.beta(play.successes + 1, play.failures + 1))


CHOOSING: Mapping[str, Choose] = {"random": at_random, "greedy": greedy, "win-stay": win_stay, "Thompson": thompson}


def _highest(values: Floats) -> Arms:
    result: Arms = values.argmax(axis=-1)
    return result
