"""The estimate behind all advice: the ledger summed over near tasks, and over strategies that are one way in other words.

A task is the unit of evidence: its runs of one strategy are a cluster, and the runs of a cluster weigh less the more alike they are (`clusters`). The
runs of the question's own task count whole.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alma.learning.clusters import ALIKE, alikeness, design_weights
from alma.learning.comparing import compared, summed_by_code
from alma.learning.experience import Advice, Experience, Floats, Indices
from alma.learning.sums import summed
from alma.learning.ways import Outcomes, log_probability

LEAST_WEIGHT = 0.02
"""Tasks of a smaller weight are left out: together, many of them would say what none of them does."""

PRIOR_TRIALS = 2.0
"""A strategy's rate is drawn to the agent's as by this number of trials at it."""

NEAR = 0.33
"""Tasks of this weight are near, where plain counts are asked for."""

LEAST_COSINE = 0.25
"""Below this cosine no task is near, however like other tasks it is."""

SAME_WAY = 0.75
"""Two strategies with this probability of being the same are one, where plain counts are asked for and in tables."""

LENT = 0.4
"""How much a trial of another strategy says about the rate of one, if both are the same by their vectors: less than if words say so. Counts are
summed all the same. But strategies of one list often share their subject, and with it their cosine: their own trials have to decide."""

MOST_OF_A_TASK = 12
"""Where more strategies than this were tried on one task, their rates say enough."""

RATES_OF_A_TASK = (1 - ALIKE) / (2 * ALIKE)
"""The rates of one way on single tasks are drawn from a beta distribution with this number twice: its intraclass correlation is `ALIKE`."""

CHANGED, SURELY_CHANGED = 1.96, 2.58
"""From the first number of standard errors between the rate of now and that of all trials on, what is expected moves to the rate of now; from the
second on it is that. Both rates grow from the same trials, and discounted ones are worth more than their sum, so of strategies that do not change far
fewer than 1 in 20 seem to."""

DISCOUNT = 0.93
"""What a later trial of a strategy on near tasks leaves of the weight of an earlier one."""


@dataclass(frozen=True, slots=True)
class _Table:
    """What was tried on the t tasks that count, oldest first: counts of k strategies × t tasks, and of each task its nearness (t)."""

    tasks: Indices
    weights: Floats
    trials: Floats
    successes: Floats
    recent_trials: Floats
    recent_successes: Floats

    def merged(self, same: Floats) -> "_Table":
        """The same with each row summed over strategies, by the probability that they are the same."""
        counts = (self.trials, self.successes, self.recent_trials, self.recent_successes)
        return _Table(self.tasks, self.weights, *(summed(same, count) for count in counts))


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A table, how much a trial of each strategy on each task weighs as evidence (k × t), and trials and successes so weighed."""

    table: _Table
    weights: Floats
    trials: Floats
    successes: Floats

    @classmethod
    def of(cls, table: _Table, alike: float, is_own: NDArray[np.bool_]) -> "_Weighed":
        """Weighs the trials of a table whose runs are so much `alike`; those of the question's own task weigh whole."""
        weights = table.weights * design_weights(table.trials, np.where(is_own[table.tasks], 0.0, alike))
        return cls(table, weights, weights * table.trials, weights * table.successes)

    def discounted(self, later: Floats) -> "_Weighed":
        """The same as of now: a trial weighs `DISCOUNT` to the power of the `later` trials (k × t)."""
        weights = self.weights * DISCOUNT**later
        return _Weighed(self.table, weights, weights * self.table.recent_trials, weights * self.table.recent_successes)

    def by_stratum(self, lent: Floats, codes: Indices) -> tuple[Floats, Floats]:
        """Successes and trials of each strategy over the tasks of each code, by how much they say of the question, with those that others lend it."""
        near = self.table.weights
        successes, trials = summed_by_code((self.successes * near, self.trials * near), codes)
        return lent @ successes, lent @ trials


@dataclass(frozen=True, slots=True)
class Nearness:
    """Of t tasks: how much each says about a question (`weights`), its cosine as the kernel sees it, whether it is the question's own, and its type.

    `types` are codes, equal for tasks that are compared with each other: those of one type and one known difficulty.
    """

    weights: Floats
    cosines: Floats
    is_own: NDArray[np.bool_]
    types: Indices


class Cells(NamedTuple):
    """Cells of a ledger: their strategies and tasks, counts, and weights."""

    strategies: Indices
    tasks: Indices
    successes: Floats
    trials: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class Usual:
    """Rates of success over all tasks: that of the agent (`base`), and those of k strategies."""

    base: float
    rates: Floats


def pooled(experience: Experience, near: Nearness, usual: Usual) -> Advice:
    """The estimate for each strategy from tasks that are so near, drawn to the agent's usual rate where little is known.

    A task of weight w is taken to be like the question's with probability w; otherwise the strategy did there as it usually does. The expected rate
    is the least-squares solution of that, so that tasks which are hardly like the question's lend it nothing.
    """
    alone, merged = _weighed(experience, near)
    table, successes, trials = merged.table, merged.successes.sum(axis=1), merged.trials.sum(axis=1)
    later = merged.trials.sum(axis=1, keepdims=True) - np.cumsum(merged.trials, axis=1)
    recent = merged.discounted(later)
    recent_successes, recent_trials = recent.successes.sum(axis=1), recent.trials.sum(axis=1)
    strata = near.types[table.tasks]
    versus = compared((merged.successes, merged.trials), (alone.successes, alone.trials), experience.same, strata=strata)
    cosines, counts = near.cosines[experience.cell_task], {"successes": experience.successes, "trials": experience.trials}
    nearest = nearest_tasks(experience.cell_strategy, cosines, **counts, same=experience.same)
    expected, change = _expected_now(alone, alone.discounted(later), _lent(experience.same), strata, usual)
    return Advice(
        expected=expected,
        change=change,
        successes=successes,
        trials=trials,
        recent=np.divide(recent_successes, recent_trials, out=np.full(len(trials), usual.base), where=recent_trials > 0),
        recent_successes=recent_successes,
        recent_trials=recent_trials,
        **_whole(experience, near),
        effective_tasks=(table.weights * np.minimum(table.trials, 1.0)).sum(axis=1),
        lift=versus.lift,
        lift_error=versus.error,
        lift_lower=versus.lower,
        lift_upper=versus.upper,
        others=versus.others,
        others_rate=versus.others_rate,
        better=versus.better,
        nearest=nearest.trials,
        near_successes=nearest.successes,
        near_failures=nearest.failures,
        base=usual.base,
    )


def _weighed(experience: Experience, near: Nearness) -> tuple[_Weighed, _Weighed]:
    """What was tried on near tasks, by strategy, and summed over those that are one way."""
    table = _table(experience, near.weights)
    alike = alikeness(
        experience.successes,
        experience.trials,
        near.weights[experience.cell_task],
        experience.cell_strategy,
        len(experience.strategies),
    )
    alone = _Weighed.of(table, alike, near.is_own)
    one_way = np.where(experience.same >= SAME_WAY, experience.same, 0.0)
    if np.count_nonzero(one_way) == len(one_way):
        return alone, alone
    return alone, _Weighed.of(table.merged(one_way), alike, near.is_own)


def _expected_now(ever: _Weighed, now: _Weighed, lent: Floats, strata: Indices, usual: Usual) -> tuple[Floats, Floats]:
    """The expected rate of each strategy, and how surely it has changed: so far it is that of now."""
    change = _change(ever.by_stratum(lent, strata), now.by_stratum(lent, strata))
    return (1.0 - change) * _expected(ever, lent, usual) + change * _expected(now, lent, usual), change


def outcomes_of(cells: Cells, count: int) -> Outcomes:
    """What came of each of `count` strategies. The runs of one on a task are a cluster, and weigh less than as many tasks."""
    evidence = cells.weights * design_weights(cells.trials, ALIKE)
    sums = np.zeros((2, count))
    for counted, counts in zip(sums, (cells.successes, cells.trials), strict=True):
        counted[:] = np.bincount(cells.strategies, evidence * counts, count)
    return Outcomes(sums[0], sums[1], _apart(cells, count))


def _apart(cells: Cells, count: int) -> Floats:
    """The log-odds by which outcomes of one task speak for two ways, beyond what the rates of both say (k × k).

    The log of the Bayes factor of two rates on the task over one. Rates differ by task as much as an intraclass correlation of `ALIKE` says: a
    failure beside a success speaks for two ways by 1 / (1 − `ALIKE`), two equal outcomes against it by 1 + `ALIKE`, many of each by far more.
    """
    keys, cell = np.unique(cells.tasks * count + cells.strategies, return_inverse=True)
    counts = np.stack([np.bincount(cell, cells.weights * each, len(keys)) for each in (cells.successes, cells.trials)], axis=1)
    tasks, strategies = np.divmod(keys[counts[:, 1] > 0], count)
    counts = counts[counts[:, 1] > 0]
    first_of_task, number = np.unique(tasks, return_counts=True)
    tried = number[np.searchsorted(first_of_task, tasks)]
    is_compared = (tried > 1) & (tried <= MOST_OF_A_TASK)
    return _summed_pairs(tasks[is_compared], strategies[is_compared], counts[is_compared], 2 / tried[is_compared], count)


def _summed_pairs(tasks: Indices, strategies: Indices, counts: Floats, shares: Floats, count: int) -> Floats:
    """What each two strategies of one task say, by their share: of n on a task, as much as n / 2 pairs. Cells are in the order of their tasks."""
    apart, alone = np.zeros((count, count)), log_probability(counts, RATES_OF_A_TASK)
    for step in range(1, len(tasks)):
        first = np.flatnonzero(tasks[step:] == tasks[:-step])
        if not len(first):
            break
        second = first + step
        together = log_probability(counts[first] + counts[second], RATES_OF_A_TASK)
        np.add.at(apart, (strategies[first], strategies[second]), shares[first] * (alone[first] + alone[second] - together))
    return apart + apart.T


def usual_rates(successes: Floats, trials: Floats, weight: Floats, strategies: Indices, same: Floats) -> Usual:
    """The rates over all tasks, of cells with these counts, weights and rows (−1 for a strategy that is none of the k).

    The agent's is drawn to a half by two trials, those of strategies, to which those that are the `same` lend theirs, to the agent's by as many.
    """
    evidence = weight * design_weights(trials, ALIKE)
    won, tried = evidence * successes, evidence * trials
    base = float((won.sum() + 1) / (tried.sum() + 2))
    of_rows, lent = strategies >= 0, _lent(same)
    sums = [lent @ np.bincount(strategies[of_rows], counts[of_rows], len(same)) for counts in (won, tried)]
    return Usual(base, (sums[0] + PRIOR_TRIALS * base) / (sums[1] + PRIOR_TRIALS))


def _expected(alone: _Weighed, lent: Floats, usual: Usual) -> Floats:
    """The expected rate of each strategy, from evidence that is not summed over others."""
    trials, successes = lent @ alone.trials.sum(axis=1), lent @ alone.successes.sum(axis=1)
    like = lent @ (alone.trials * alone.table.weights).sum(axis=1)
    rates: Floats = (successes - (trials - like) * usual.rates + PRIOR_TRIALS * usual.base) / (like + PRIOR_TRIALS)
    return np.clip(rates, 0.0, 1.0)


def _change(ever: tuple[Floats, Floats], now: tuple[Floats, Floats]) -> Floats:
    """How surely the rate of now is not that of all trials, 0 to 1: a way that worked a hundred times may work no more.

    Score test over strata (k × h): harder tasks that came lately are no change.
    """
    (successes, trials), (recent_successes, recent_trials) = ever, now
    rates = (successes + 0.5) / (trials + 1.0)
    surplus = np.abs((recent_successes - recent_trials * rates).sum(axis=1))
    error = np.sqrt((recent_trials * rates * (1.0 - rates)).sum(axis=1))
    errors = np.divide(surplus, error, out=np.zeros(len(error)), where=error > 0)
    change: Floats = np.clip((errors - CHANGED) / (SURELY_CHANGED - CHANGED), 0.0, 1.0)
    return change


def _lent(same: Floats) -> Floats:
    lent: Floats = np.where(same >= 1.0, 1.0, LENT * same)
    return lent


def _table(experience: Experience, weights: Floats) -> _Table:
    tasks = np.flatnonzero(weights >= LEAST_WEIGHT)
    place = np.full(len(weights), -1)
    place[tasks] = np.arange(len(tasks))
    column = place[experience.cell_task]
    cells = np.flatnonzero(column >= 0)
    shape = len(experience.strategies), len(tasks)
    places, share = experience.cell_strategy[cells] * len(tasks) + column[cells], experience.weight[cells]
    kept = (experience.trials, experience.successes, experience.recent_trials, experience.recent_successes)
    counts = np.zeros((len(kept), *shape))
    for count, values in zip(counts, kept, strict=True):
        count[...] = np.bincount(places, share * values[cells], shape[0] * shape[1]).reshape(shape)
    return _Table(tasks, weights[tasks], *counts)


def _whole(experience: Experience, near: Nearness) -> dict[str, Floats]:
    """Plain counts over near tasks and the same strategies."""
    is_near = (near.weights >= NEAR) & (near.cosines >= LEAST_COSINE)
    cells = np.flatnonzero(is_near[experience.cell_task])
    is_same = (experience.same >= SAME_WAY).astype(np.float64)
    rows, count = experience.cell_strategy[cells], len(experience.strategies)
    trials, column = experience.trials[cells], np.cumsum(is_near) - 1
    tried = np.zeros((count, np.count_nonzero(is_near)))
    is_tried = trials > 0
    tried[rows[is_tried], column[experience.cell_task[cells[is_tried]]]] = 1.0
    own_trials = np.bincount(rows, trials, count).astype(np.float64)
    return {
        "whole_successes": is_same @ np.bincount(rows, experience.successes[cells], count),
        "whole_trials": is_same @ own_trials,
        "own_trials": own_trials,
        "whole_tasks": (summed(is_same, tried) > 0).sum(axis=1).astype(np.float64),
    }


class NearestTasks(NamedTuple):
    """For each of k strategies the cosine of the nearest task that it, or one that is the same, was tried on, succeeded on and failed on; −1 where
    there is none."""

    trials: Floats
    successes: Floats
    failures: Floats


def nearest_tasks(strategies: Indices, cosines: Floats, *, successes: Floats, trials: Floats, same: Floats) -> NearestTasks:
    """The nearest tasks from cells: their strategies, the cosines of their tasks, and their counts."""
    own = np.full((3, len(same)), -1.0)
    for nearest, counts in zip(own, (trials > 0, successes > 0, trials > successes), strict=True):
        np.maximum.at(nearest, strategies, np.where(counts, cosines, -1.0))
    return NearestTasks(*np.where(same >= SAME_WAY, own[:, None], -1.0).max(axis=2, initial=-1.0))
