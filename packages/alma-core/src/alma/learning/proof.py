"""Proof that a strategy does better, or worse, than the others: evidence that holds at every look, whatever made the agent choose as it did.

Only whole votes count, one for each task and strategy: its first. Weighted or repeated outcomes have no guarantee. A stratum is fixed before its
outcomes are known: the task type that the caller named, and within it the difficulty that the caller named; tasks without a type are one
stratum of the agent. A stratum chosen by outcomes has no guarantee either.

The guarantee: in a world in which all strategies of a stratum have one rate, whatever that is, the probability that anything is ever proven is
at most `LEVEL`, for a fixed set of strategies and types: a proof needs a mean e-value of 1 / `LEVEL`, and that mean is at most a supermartingale
from 1. Where the others differ among themselves, the claim is about the mixture that was tried.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]

LEVEL = 0.05
"""The share of false proofs among proofs, and the probability of any where nothing differs."""

LEAST_TASKS = 3
"""Fewer tasks than this prove nothing, however clear they are."""

NO_VOTE = math.nan


@dataclass(frozen=True, slots=True)
class Votes:
    """Votes for and against, as arrays of one shape: multiples of a half, for a partial success is half a vote each way."""

    successes: Floats
    failures: Floats

    @property
    def trials(self) -> Floats:
        """All votes."""
        return self.successes + self.failures

    def others(self, axis: int = -1) -> "Votes":
        """The votes of all the others along an axis: of the strategies, which is the last unless another is named."""
        total = [side.sum(axis=axis, keepdims=True) for side in (self.successes, self.failures)]
        return Votes(total[0] - self.successes, total[1] - self.failures)


def counted(vote: Floats, stratum: Indices, strategy: Indices, *, strata: int, strategies: int) -> Votes:
    """Votes as arrays of strata × strategies, of one entry for each (task, strategy): its first vote from 0 to 1, NaN where none was cast."""
    is_cast = ~np.isnan(vote)
    cell, cast = (stratum * strategies + strategy)[is_cast], vote[is_cast]
    successes, failures = (np.bincount(cell, side, strata * strategies).astype(np.float64) for side in (cast, 1 - cast))
    return Votes(successes.reshape(strata, strategies), failures.reshape(strata, strategies))


def first_votes(vote: Floats, task: Indices, strategy: Indices) -> Floats:
    """The votes in the order in which they were cast, NaN for all but the first of each task and strategy.

    For strategies that are named in several wordings and counted as one.
    """
    cast = np.flatnonzero(~np.isnan(vote))
    pairs = task[cast] * (int(strategy.max(initial=0)) + 1) + strategy[cast]
    first = cast[np.unique(pairs, return_index=True)[1]]
    kept = np.full_like(vote, NO_VOTE)
    kept[first] = vote[first]
    return kept


def log_e(own: Votes, others: Votes) -> Floats:
    """The natural logarithms of the e-values of "does better than the others together" and of "does worse", stacked along a new first axis.

    Universal inference (Wasserman, Ramdas and Balakrishnan 2020, "Universal inference", PNAS 117): the likelihood of both rates averaged over
    Jeffreys' prior, which is a product of predictions made before each vote, over the largest likelihood under "not better". With s, f of the
    strategy, S, F of the others, B = ln Beta and l(a, b) = a ln(a/(a+b)) + b ln(b/(a+b)):

        ln e = B(s+½, f+½) + B(S+½, F+½) - 2 B(½, ½) - (own rate > theirs ? l(s+S, f+F) : l(s, f) + l(S, F))

    Its expectation is at most 1 at every stopping time and under any way of choosing. Half votes keep that, since (q/p)ˣ((1-q)/(1-p))¹⁻ˣ is convex
    in x. Logarithms add over strata.
    """
    regret, gain = _parts(own, others)
    ahead = own.successes * others.failures - others.successes * own.failures
    result: Floats = regret + np.stack([np.where(ahead > 0, gain, 0.0), np.where(ahead < 0, gain, 0.0)])
    return result


def proven(log_evidence: Floats, tasks: Floats, *, level: float = LEVEL) -> Flags:
    """Which of n hypotheses are proven: the k largest whose e-value is at least n / (`level` k), on at least `LEAST_TASKS` tasks each.

    e-BH (Wang and Ramdas 2022, "False discovery rate control with e-values", JRSS B 84), valid whatever the dependence. `log_evidence` holds *all*
    hypotheses of an agent: both directions × types × strategies, tried in the type or not.
    `tasks` (that shape, or one that broadcasts to it) are the distinct tasks that the strategy has a vote on.
    """
    entries = np.where(tasks >= LEAST_TASKS, log_evidence, -np.inf)
    bar = math.log(entries.size / level) if entries.size else 0.0
    hopeful = np.sort(entries[entries >= bar - math.log(max(entries.size, 1))])[::-1]
    holds = np.flatnonzero(hopeful + np.log(np.arange(1, len(hopeful) + 1)) >= bar)
    threshold = hopeful[holds[-1]] if len(holds) else np.inf
    result: Flags = entries >= threshold
    return result


@dataclass(frozen=True, slots=True)
class Proofs:
    """What is proven of each strategy in each type of task: arrays of types × strategies. `tasks` are those that the strategy has a vote on."""

    better: Flags
    worse: Flags
    tasks: Floats


def proofs(votes: Votes, *, level: float = LEVEL) -> Proofs:
    """Returns what the whole votes of one agent prove: of arrays of types × strategies, or of types × difficulties × strategies."""
    evidence = log_e(votes, votes.others())
    tasks = votes.trials
    if tasks.ndim > 2:
        evidence, tasks = evidence.sum(axis=2), tasks.sum(axis=1)
    better, worse = proven(evidence, tasks, level=level)
    return Proofs(better, worse, tasks)


def _parts(own: Votes, others: Votes) -> tuple[Floats, Floats]:
    """Returns what averaging over the prior costs (at most 0), and what telling the two rates apart gains (at least 0)."""
    mine, theirs = _halves(own), _halves(others)
    pooled = tuple(one + other for one, other in zip(mine, theirs, strict=True))
    ln_gamma, x_ln_x = _tables(int(np.max(pooled[2], initial=0)) + 2)
    side, whole = ln_gamma[:-1] - x_ln_x[:-1], ln_gamma[1:] - x_ln_x[:-1] + math.log(math.pi)
    averaged = [side[won] + side[lost] - whole[tried] for won, lost, tried in (mine, theirs)]
    largest = [x_ln_x[won] + x_ln_x[lost] - x_ln_x[tried] for won, lost, tried in (mine, theirs, pooled)]
    return averaged[0] + averaged[1], largest[0] + largest[1] - largest[2]


def _halves(votes: Votes) -> tuple[Indices, Indices, Indices]:
    """Successes, failures and all, counted in half votes."""
    won, lost = (np.rint(2 * side).astype(np.intp) for side in (votes.successes, votes.failures))
    return won, lost, won + lost


def _tables(size: int) -> tuple[Floats, Floats]:
    """ln Γ(h/2 + ½) and (h/2) ln(h/2) for h = 0 … `size`."""
    ln_gamma = np.empty(size + 1)
    ln_gamma[0::2] = math.lgamma(0.5) + _running(np.log(np.arange((size + 2) // 2 - 1) + 0.5))
    ln_gamma[1::2] = _running(np.log(np.arange(1, (size + 1) // 2)))
    half = np.arange(size + 1) / 2
    return ln_gamma, half * np.log(np.maximum(half, 0.5))


def _running(steps: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(steps)])
