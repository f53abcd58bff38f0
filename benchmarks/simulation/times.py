"""How many trials it takes until what is true is a rule, and until a rule that is true no more is none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.progress import Progress

from alma.learning.standing import Standing
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.simulation.rules import HOLDING, Class, Tried
from benchmarks.simulation.worlds import in_turn

BETTER = ((0.8, 0.5), (0.9, 0.3))
OTHERS = 2
BEFORE, AFTER = 0.9, 0.2
DRIFT_AT = 60
MOST = 200


@dataclass(frozen=True, slots=True)
class Drift:
    """Of one world: whether there was a heuristic when the rate fell, and how often it was lost before; the trials from then on until it was no
    more, and until there was an anti-pattern."""

    had_rule: bool
    false_alarms: int
    to_demotion: int
    to_anti_pattern: int


def to_rule(seed: int, rates: tuple[float, float], worlds: int) -> list[list[int]]:
    """In so many worlds, the trials of the better of three strategies until it is a heuristic, and until a proven one."""
    chance = np.random.default_rng([seed, 4])
    better, others = rates
    result = []
    for _ in range(worlds):
        events = in_turn(chance, [better] + [others] * OTHERS, MOST)
        result.append(_trials_until(Class(1 + OTHERS), events, _is_heuristic, _is_proven))
    return result


def drifts(seed: int, worlds: int, progress: Progress) -> list[Drift]:
    """A strategy that succeeded nine times in ten, beside one that does every other time, succeeds but twice in ten from its trial 61 on."""
    chance = np.random.default_rng([seed, 5])
    return [_drift(chance) for _ in progress.track(range(worlds), description="Drift")]


def figures(seed: int, worlds: int, progress: Progress) -> list[Gate]:
    """Medians and ninth deciles, in trials of the strategy in question."""
    result = []
    for rates in progress.track(BETTER, description="Time to a rule"):
        for name, trials in zip(("candidate or proven", "proven"), zip(*to_rule(seed, rates, worlds), strict=True), strict=True):
            result += _quantiles(f"{rates[0]:g} beside {rates[1]:g}: trials to a heuristic, {name}", trials)
    found = drifts(seed, worlds, progress)
    held = [drift for drift in found if drift.had_rule]
    alarms = 100 * sum(drift.false_alarms for drift in found) / (DRIFT_AT * len(found))
    result.append(Gate(f"{BEFORE:g} stays: heuristic lost, of 100 trials", alarms, ""))
    result.append(Gate(f"  heuristic after {DRIFT_AT} trials, share of worlds", len(held) / len(found), ""))
    fell = f"{BEFORE:g} falls to {AFTER:g}: trials until"
    result += _quantiles(f"{fell} demoted", [drift.to_demotion for drift in held])
    result += _quantiles(f"{fell} an anti-pattern", [drift.to_anti_pattern for drift in found])
    return result


def _drift(chance: np.random.Generator) -> Drift:
    world = Class(2)
    alarms, had_rule = 0, False
    for place, won in in_turn(chance, (BEFORE, 0.5), DRIFT_AT):
        world.observe(place, won)
        has_rule = _is_heuristic(world.tried[0])
        alarms += had_rule and not has_rule
        had_rule = has_rule
    until = _trials_until(world, in_turn(chance, (AFTER, 0.5), MOST), _is_demoted, _is_anti_pattern)
    return Drift(had_rule, alarms, *until)


def _trials_until(world: Class, events: Sequence[tuple[int, bool]], *tests: Callable[[Tried], bool]) -> list[int]:
    """How often the first strategy was tried until each test first held of it; `MOST` where it never did."""
    found: dict[int, int] = {}
    trials = 0
    for place, won in events:
        world.observe(place, won)
        trials += place == 0
        found |= {number: trials for number, test in enumerate(tests) if number not in found and test(world.tried[0])}
        if len(found) == len(tests):
            break
    return [found.get(number, MOST) for number in range(len(tests))]


def _quantiles(what: str, trials: Sequence[int]) -> list[Gate]:
    return [Gate(f"{what}, median", percentile(trials, 0.5), ""), Gate("  ninth decile", percentile(trials, 0.9), "")]


def _is_heuristic(tried: Tried) -> bool:
    return tried.heuristic in HOLDING


def _is_proven(tried: Tried) -> bool:
    return tried.heuristic is Standing.PROVEN


def _is_demoted(tried: Tried) -> bool:
    return not _is_heuristic(tried)


def _is_anti_pattern(tried: Tried) -> bool:
    return tried.anti_pattern in HOLDING
