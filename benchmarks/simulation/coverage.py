"""How often the interval that is told holds the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from rich.progress import Progress

from alma.evidence import Tally
from benchmarks.gates import Gate
from benchmarks.measures import mean
from benchmarks.simulation.worlds import STRATEGIES, store

RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
TRIALS = (5, 10, 20, 50, 100)
LIMITS = (0.93, 0.97)


@dataclass(frozen=True, slots=True)
class Cell:
    """How many of `records` strategies with this rate and so many trials had it in their interval, and the exact probability of that."""

    rate: float
    trials: int
    records: int
    held: int
    exact: float

    @property
    def coverage(self) -> float:
        return self.held / self.records


def measured(seed: int, records: int, progress: Progress) -> list[Cell]:
    """Through `learn_many` and `strategies`: so many records for each rate and number of trials."""
    chance = np.random.default_rng([seed, 1])
    places = [(rate, trials) for rate in RATES for trials in TRIALS]
    cells = []
    with store() as memory:
        for rate, trials in progress.track(places, description="Coverage"):
            held = 0
            for number in range(0, records, len(STRATEGIES)):
                names = STRATEGIES[: records - number]
                agent, task_type = f"rate-{rate}-trials-{trials}", f"class {number}"
                events = [(name, bool(won)) for name in names for won in chance.random(trials) < rate]
                memory.learn_all(agent, events, task_type=task_type)
                rows = memory.table(agent, task_type)
                held += sum(row.interval.lower <= rate <= row.interval.upper for row in rows)
            cells.append(Cell(rate, trials, records, held, exact(rate, trials)))
    return cells


def exact(rate: float, trials: int) -> float:
    """The probability that the interval after so many trials holds the rate."""
    total = 0.0
    for won in range(trials + 1):
        around = Tally(won, trials).interval()
        if around.lower <= rate <= around.upper:
            total += comb(trials, won) * rate**won * (1 - rate) ** (trials - won)
    return total


def figures(cells: Sequence[Cell]) -> list[Gate]:
    """The mean coverage, which is a limit both ways, and the worst."""
    low, high = LIMITS
    level = mean([cell.coverage for cell in cells])
    worst = min(cells, key=lambda cell: cell.exact)
    return [
        Gate("coverage of the 95 % interval, mean", level, "", limit=low, more_is_better=True),
        Gate("coverage of the 95 % interval, mean (not above)", level, "", limit=high),
        Gate("  exact, the same cells", mean([cell.exact for cell in cells]), ""),
        Gate(f"  exact, worst cell (rate {worst.rate:g}, {worst.trials} trials)", worst.exact, ""),
    ]
