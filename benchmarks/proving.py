"""What is proven, and called likely, in many worlds at once whose truth is known."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.evidence import Tally
from alma.learning.levels import Row, Than, anti_pattern_level, heuristic_level
from alma.learning.proof import LEAST_TASKS, LEVEL, Votes, log_e, proofs
from alma.learning.standing import Needed
from alma.types.kinds import Standing
from benchmarks.measures import percentile
from benchmarks.playing import CHOOSING, Floats, Play

RATES = (0.05, 0.2, 0.5, 0.8, 0.95)
LOOKS_FOR_LIKELY = 10
LIKELY_WORLDS = 10

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class World:
    """Strategies, types, outcomes of each type, every how many of them is looked, and how many worlds there are of each rate and way of choosing."""

    name: str
    strategies: int
    types: int
    outcomes: int
    every: int
    worlds: int


@dataclass(frozen=True, slots=True)
class NullWorlds:
    """Of so many null worlds, those in which something was ever proven.

    Of those that were `watched`: in how many something was ever likely, and the share of strategies that were, the mean over the looks.
    """

    world: str
    choosing: str
    rate: float
    worlds: int
    proven: int
    watched: int
    likely_ever: int
    likely_share: float


@dataclass(frozen=True, slots=True)
class Power:
    """Outcomes until the best strategy was proven to be: the median over worlds, not a number where most never were, and the share of worlds by then.

    `false` is the share of worlds in which anything false was proven until then.
    """

    best: float
    rest: float
    strategies: int
    choosing: str
    median: float
    by_500: float
    ever: float
    false: float


def null_worlds(world: World, choosing: str, seed: Sequence[int]) -> list[NullWorlds]:
    """All worlds of one sort and one way of choosing, by rate."""
    rates = np.repeat(RATES, world.worlds)
    play = Play(np.tile(rates[:, None, None], (1, world.types, world.strategies)), np.random.default_rng(seed))
    watched = np.flatnonzero(np.arange(len(rates)) % world.worlds < LIKELY_WORLDS) if world.types == 1 else np.arange(0)
    proven, likely, looks = np.zeros(len(rates), bool), np.zeros((LOOKS_FOR_LIKELY, len(rates))), 0
    for outcome in range(1, world.outcomes + 1):
        play.step(CHOOSING[choosing])
        if outcome % world.every == 0:
            proven |= any_proven(play.votes)
        if outcome * LOOKS_FOR_LIKELY >= world.outcomes * (looks + 1):
            likely[looks, watched] = [likely_share(play, int(place)) for place in watched]
            looks += 1
    result = []
    for rate in RATES:
        of, seen = rates == rate, watched[rates[watched] == rate]
        ever = int((likely[:, seen] > 0).any(axis=0).sum())
        share = float(likely[:, seen].mean()) if len(seen) else 0.0
        counts = int(of.sum()), int(proven[of].sum()), len(seen)
        result.append(NullWorlds(world.name, choosing, rate, *counts, likely_ever=ever, likely_share=share))
    return result


def any_proven(votes: Votes) -> Flags:
    """In which worlds (the first axis) anything is proven now."""
    evidence = np.where(votes.trials >= LEAST_TASKS, log_e(votes, votes.others()), -np.inf)
    hypotheses = evidence[:, :1].size
    result: Flags = np.exp(np.minimum(evidence, 50)).sum(axis=(0, 2, 3)) >= hypotheses / LEVEL * 0.999
    for place in np.flatnonzero(result):  # without so large a sum, e-BH proves nothing
        found = proofs(Votes(votes.successes[place], votes.failures[place]))
        result[place] = bool(found.better.any() or found.worse.any())
    return result


def likely_share(play: Play, place: int) -> float:
    """The share of a world's strategies that are called likely better, or worse, than the others."""
    own, recent = play.votes, play.recent[:, place, 0]
    successes, failures = own.successes[place, 0], own.failures[place, 0]
    likely = 0
    for strategy in range(len(successes)):
        s, f = float(successes[strategy]), float(failures[strategy])
        row = _row(s, f, float(successes.sum()) - s, float(failures.sum()) - f, recent[:, strategy])
        levels = heuristic_level(row, Needed()), anti_pattern_level(row, Needed())
        likely += any(level and level.standing is Standing.LIKELY and level.than is Than.OTHERS for level in levels)
    return likely / len(successes)


def powers(best: float, rest: float, strategies: int, choosing: str, worlds: int, outcomes: int, seed: Sequence[int]) -> Power:
    """Worlds in which the first strategy does better than all the others, which do equally well."""
    rates = np.full((worlds, 1, strategies), rest)
    rates[:, 0, 0] = best
    play, found, false = Play(rates, np.random.default_rng(seed)), np.full(worlds, np.inf), np.zeros(worlds, bool)
    for outcome in range(1, outcomes + 1):
        play.step(CHOOSING[choosing])
        waiting = np.flatnonzero(np.isinf(found))
        if not len(waiting):
            break
        for place in waiting[any_proven(Votes(play.successes[waiting], play.failures[waiting]))]:
            judged = proofs(Votes(play.successes[place], play.failures[place]))
            if judged.better[0, 0]:
                found[place] = min(found[place], outcome)
            false[place] |= bool(judged.worse[0, 0] or judged.better[0, 1:].any())
    median = percentile(found.tolist(), 0.5)
    return Power(
        best,
        rest,
        strategies,
        choosing,
        median=median if median <= outcomes else math.nan,
        by_500=float((found <= 500).mean()),
        ever=float((found <= outcomes).mean()),
        false=float(false.mean()),
    )


def _row(s: float, f: float, others_s: float, others_f: float, recent: Floats) -> Row:
    """What is known of a strategy, each outcome of a task of its own and all of one type."""
    trials, others = s + f, others_s + others_f
    base = (s + others_s + 1) / (trials + others + 2)
    rate, rest = (s + 2 * base) / (trials + 2), (others_s + 2 * base) / (others + 2)
    seen = Tally(float(recent[0]), float(recent.sum()))
    variance = rate * (1 - rate) / (trials + 3) + rest * (1 - rest) / (others + 3)
    lift, error = (rate - rest, variance**0.5) if others else (0.0, 1.0)
    return Row(Tally(s, trials), seen, round(trials), trials, rest if others else None, lift, error)
