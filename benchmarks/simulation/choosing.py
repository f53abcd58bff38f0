"""What a memory is worth to one who decides by it: how far behind always taking the best.

All policies decide in the same worlds with the same luck. Those that ask ALMA try first, in order, what is not in the table, then

- *by its rules*: the first row that works or seems to; where there is none, what was tried least of all that is not known to fail;
- *surest*: its first row, the one with the highest lower bound. It never doubts a choice that does tolerably;
- *hopeful*: the row with the highest upper bound of its interval, so that what was tried little is tried again (Kaufmann, Cappé and Garivier 2012,
  "On Bayesian upper confidence bounds for bandit problems", here with a fixed confidence).

To see that it is the rules that help, an agent that was given twenty trials of each strategy decides by its rules and learns no more; the
*placebo* is the same with each outcome told of another strategy: what held of one is now said of the next.

Beside them: Thompson sampling on Beta(1, 1), plain rates with one decision in ten at random, and no memory.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from alma.types.strategies import Judgement
from benchmarks.gates import Gate
from benchmarks.measures import interval, mean
from benchmarks.simulation.worlds import STRATEGIES, Luck, Store, in_turn, luck, store

if TYPE_CHECKING:
    from alma.types.strategies import StrategyRecord

WORLD_STRATEGIES = 4
LOWEST, HIGHEST = 0.1, 0.9
GREED = 0.1
BY_RULES, SUREST, HOPEFUL = "ALMA, by its rules", "ALMA, surest", "ALMA, hopeful"
TOLD, PLACEBO = "ALMA, by rules given", "placebo"
GIVEN_ROUNDS = 20
WORKS, FAILS = (Judgement.WORKS, Judgement.SEEMS_TO_WORK), (Judgement.FAILS, Judgement.SEEMS_TO_FAIL)
THOMPSON, GREEDY, NONE = "Thompson sampling", "plain rates, 1 in 10 at random", "no memory"

Regrets = dict[str, list[float]]
Choose = Callable[[Sequence["StrategyRecord"]], str]
Counts = NDArray[np.float64]


def measured(seed: int, worlds: int, decisions: int, progress: Progress) -> Regrets:
    """The successes that each policy missed in each world, in expectation, to one who always took the best strategy."""
    regrets: Regrets = {}
    with store() as memory:
        for number in progress.track(range(worlds), description="Choosing"):
            chance = np.random.default_rng([seed, 6, number])
            rates = chance.uniform(LOWEST, HIGHEST, WORLD_STRATEGIES)
            drawn = luck(chance, rates.tolist(), decisions)
            given = in_turn(chance, rates.tolist(), GIVEN_ROUNDS)
            told = {TOLD: [_by_rules_given(memory, f"{number}", given, 0)] * decisions}
            placebo = [_by_rules_given(memory, f"{number}", given, shift) for shift in range(1, WORLD_STRATEGIES)]
            for name, choices in (_choices(memory, f"{number}", drawn, chance) | told).items():
                regrets.setdefault(name, []).append(float(sum(rates.max() - rates[choice] for choice in choices)))
            regrets.setdefault(PLACEBO, []).append(decisions * float(rates.max() - rates[placebo].mean()))
    return regrets


def figures(regrets: Regrets, decisions: int, seed: int) -> list[Gate]:
    """The mean regrets; ALMA's must be below that of no memory, and the placebo's not clearly so."""
    none = regrets[NONE]
    result = []
    for name, values in regrets.items():
        low, high = interval(values, seed=seed)
        limit = mean(none) if name in (BY_RULES, SUREST, HOPEFUL, TOLD) else None
        result.append(Gate(f"regret in {decisions}: {name} ({low:.1f} to {high:.1f})", mean(values), "", limit=limit))
    helped = [without - with_placebo for without, with_placebo in zip(none, regrets[PLACEBO], strict=True)]
    low, high = interval(helped, seed=seed)
    result.append(Gate(f"  what the placebo helps ({mean(helped):+.1f}, to {high:+.1f}), at least", low, "", limit=0.0))
    return result


def _choices(memory: Store, world: str, drawn: Luck, chance: np.random.Generator) -> dict[str, list[int]]:
    strategies = drawn.shape[1]
    return {
        BY_RULES: _by_memory(memory, f"rules-{world}", drawn, _by_rules),
        SUREST: _by_memory(memory, f"surest-{world}", drawn, _surest),
        HOPEFUL: _by_memory(memory, f"hopeful-{world}", drawn, _hopeful),
        THOMPSON: _by_counts(drawn, lambda won, lost: int(chance.beta(won + 1, lost + 1).argmax())),
        GREEDY: _by_counts(drawn, lambda won, lost: _greedy(won, lost, chance)),
        NONE: chance.integers(strategies, size=len(drawn)).tolist(),
    }


def _by_memory(memory: Store, agent: str, drawn: Luck, choose: Choose) -> list[int]:
    """Asks for the table before each decision, and learns after it."""
    names = STRATEGIES[: drawn.shape[1]]
    choices = []
    for number, outcomes in enumerate(drawn.tolist()):
        untried = number < len(names)
        choice = number if untried else names.index(choose(list(memory.table(agent))))
        memory.learn(agent, names[choice], outcomes[choice])
        choices.append(choice)
    return choices


def _by_rules(rows: Sequence["StrategyRecord"]) -> str:
    working = [row for row in rows if row.verdict in WORKS]
    if working:
        return working[0].strategy
    return min(rows, key=lambda row: (row.verdict in FAILS, row.trials)).strategy


def _surest(rows: Sequence["StrategyRecord"]) -> str:
    return rows[0].strategy


def _hopeful(rows: Sequence["StrategyRecord"]) -> str:
    return max(rows, key=lambda row: row.interval.upper).strategy


def _by_rules_given(memory: Store, world: str, given: Sequence[tuple[int, bool]], shift: int) -> int:
    """The choice of an agent that was told of these trials, each as one of the strategy so many places on."""
    names, agent = STRATEGIES[:WORLD_STRATEGIES], f"given-{world}-{shift}"
    memory.learn_all(agent, [(names[(place + shift) % len(names)], won) for place, won in given])
    return names.index(_by_rules(list(memory.table(agent))))


def _by_counts(drawn: Luck, choose: Callable[[Counts, Counts], int]) -> list[int]:
    won, lost = np.zeros(drawn.shape[1]), np.zeros(drawn.shape[1])
    choices = []
    for outcomes in drawn:
        choice = choose(won, lost)
        won[choice] += outcomes[choice]
        lost[choice] += not outcomes[choice]
        choices.append(choice)
    return choices


def _greedy(won: Counts, lost: Counts, chance: np.random.Generator) -> int:
    """The highest rate, what was never tried before all else; one time in ten any."""
    if chance.random() < GREED:
        return int(chance.integers(len(won)))
    tried = won + lost
    return int(np.where(tried > 0, won / np.maximum(tried, 1), np.inf).argmax())
