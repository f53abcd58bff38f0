"""How many rules form that are not true, where no strategy is any better than another; beside them the plain thresholds.

A heuristic says that a strategy does better than half the time, or than the others where they do worse; a proven one that it does better than
the others. An anti-pattern says the mirror of it. Where all strategies have one rate, what is proven is always false, and a candidate is
where the rate is a half or on the other side of it. "Three successes make a heuristic, two failures an anti-pattern" says as much, of whatever.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from rich.progress import Progress

from alma.learning.standing import Standing
from alma.types.strategies import Judgement
from benchmarks.gates import Gate
from benchmarks.simulation.rules import HOLDING, Class, Tried
from benchmarks.simulation.worlds import STRATEGIES, in_turn, store

RATES = (0.2, 0.5, 0.8)
STRATEGIES_EACH = (2, 4, 8)
AFTER = (20, 50, 100)
KINDS = (
    "heuristic: candidate",
    "heuristic: proven",
    "heuristic: false",
    "heuristic: plain 3",
    "anti-pattern: candidate",
    "anti-pattern: proven",
    "anti-pattern: false",
    "anti-pattern: plain 2",
)
EVER = "ever"


@dataclass(slots=True)
class Row:
    """Of so many strategies of one rate, after so many trials each, or at any time up to the last: how many have each kind of rule."""

    rate: float
    when: str
    strategies: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def add(self, tried: Sequence[Tried]) -> None:
        for one in tried:
            self.strategies += 1
            for kind, has in self._kinds(one):
                self.counts[kind] += has

    def per_100(self, kind: str) -> float:
        """Strategies with that kind of rule, of a hundred."""
        return 100 * self.counts[kind] / self.strategies

    def false(self, *, plain: bool) -> float:
        """False rules a hundred strategies, by ALMA or by the plain thresholds."""
        heuristics = "heuristic: plain 3" if plain else "heuristic: false"
        anti_patterns = "anti-pattern: plain 2" if plain else "anti-pattern: false"
        if not plain:
            return self.per_100(heuristics) + self.per_100(anti_patterns)
        return (self.rate <= 0.5) * self.per_100(heuristics) + (self.rate >= 0.5) * self.per_100(anti_patterns)

    def _kinds(self, one: Tried) -> list[tuple[str, bool]]:
        result: list[tuple[str, bool]] = []
        for name, attribute, now in (
            ("heuristic", "heuristic", one.heuristic),
            ("anti-pattern", "anti_pattern", one.anti_pattern),
        ):
            ever = {standing for what, standing in one.ever if what == attribute}
            held = ever & set(HOLDING) if self.when == EVER else {now} & set(HOLDING)
            is_candidate_false = self.rate <= 0.5 if name == "heuristic" else self.rate >= 0.5
            is_false = Standing.PROVEN in held or (Standing.CANDIDATE in held and is_candidate_false)
            result += [(f"{name}: {standing.value}", standing in held) for standing in HOLDING]
            result.append((f"{name}: false", is_false))
        return [*result, ("heuristic: plain 3", one.is_naive_heuristic), ("anti-pattern: plain 2", one.is_naive_anti_pattern)]


def measured(seed: int, worlds: int, progress: Progress) -> list[Row]:
    """So many worlds for each rate and number of strategies, each strategy tried a hundred times in turn with the others."""
    chance = np.random.default_rng([seed, 2])
    rows = {(rate, when): Row(rate, when) for rate in RATES for when in (*map(str, AFTER), EVER)}
    places = [(rate, strategies) for rate in RATES for strategies in STRATEGIES_EACH for _ in range(worlds)]
    for rate, strategies in progress.track(places, description="False rules"):
        world = Class(strategies)
        events = in_turn(chance, [rate] * strategies, AFTER[-1])
        for start, end in zip((0, *AFTER), AFTER, strict=False):
            world.observe_all(events[start * strategies : end * strategies])
            rows[rate, str(end)].add(world.tried)
        rows[rate, EVER].add(world.tried)
    return list(rows.values())


def agreement(seed: int, worlds: int, progress: Progress) -> float:
    """The share of strategies of which the public calls, one `learn` an outcome, say after every outcome what these rules say."""
    chance = np.random.default_rng([seed, 3])
    same, asked = 0, 0
    with store() as memory:
        for number in progress.track(range(worlds), description="Rules and public calls"):
            rates = chance.uniform(0.1, 0.9, 4).tolist()
            world, agent = Class(len(rates)), f"world-{number}"
            for place, won in in_turn(chance, rates, 20):
                world.observe(place, won)
                memory.learn(agent, STRATEGIES[place], won)
                told = {row.strategy: row for row in memory.table(agent)}
                for name, one in zip(STRATEGIES, world.tried, strict=False):
                    if one.lifetime.trials:
                        asked += 1
                        same += (told[name].verdict, told[name].recent_rate) == (verdict(one), one.operative.rate)
    return same / asked


def verdict(one: Tried) -> Judgement:
    """What the table calls a strategy that stands so."""
    words = {
        (True, Standing.PROVEN): Judgement.WORKS,
        (True, Standing.CANDIDATE): Judgement.SEEMS_TO_WORK,
        (False, Standing.PROVEN): Judgement.FAILS,
        (False, Standing.CANDIDATE): Judgement.SEEMS_TO_FAIL,
    }
    for is_good, standing in ((True, one.heuristic), (False, one.anti_pattern)):
        if standing in HOLDING:
            return words[is_good, Standing(standing)]
    return Judgement.UNDECIDED


def figures(rows: Sequence[Row], same: float) -> list[Gate]:
    """False rules that stand after so many trials, which must be fewer than those of the plain thresholds; and that the public calls agree."""
    result = [Gate("public calls that say what the rules say", same, "", limit=1.0, more_is_better=True)]
    for row in rows:
        if row.when != EVER:
            plain = row.false(plain=True)
            result.append(Gate(f"false rules of 100 at {row.rate:g}, {row.when} trials", row.false(plain=False), "", limit=plain))
    return result
