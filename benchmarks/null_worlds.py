"""Whether what is proven is true: `python -m benchmarks.null_worlds [--quick] [--seed N] [--json FILE]`.

In a null world no way is any better than another: each kind of task has one rate of success, whatever is tried, so whatever is proven there is false.
Ways are judged after every outcome by `alma_learning.proof`, each outcome being of another task, and a world counts if anything was proven at any
look. Worlds are named "ways × kinds × outcomes of each kind". Agents choose at random, greedily, by win-stay-lose-shift, or by Thompson sampling.

The smallest worlds are judged once more as users see them, by the rows of a whole `Projection`; so are worlds of untyped tasks in people's words,
where the projection also finds the kinds by itself, and every rate holds for all tasks alike. And in worlds with one better way: how often that is
proven by the end, and whether anything false is, for a proof that never comes is never false.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from alma.embedding import create_embedder
from alma_learning import Projection, Question, Status
from alma_learning.proof import prove
from benchmarks import gates
from benchmarks.families import FAMILIES, WAYS
from benchmarks.gates import Gate
from benchmarks.measures import mean
from benchmarks.played.cached_embedder import CachedEmbedder
from benchmarks.screen import wide_console
from benchmarks.simulation.worlds import STRATEGIES
from benchmarks.trials import make_trial

RATES = (0.05, 0.2, 0.5, 0.8, 0.95)
LIMIT = 0.01
BETTER = ((0.8, 0.5, 150), (0.9, 0.5, 60), (0.95, 0.85, 500))
"""The rate of the better way, that of the others, and the outcomes until the end."""
POWER_WAYS = (2, 6)
DIMENSION = 64


@dataclass(frozen=True, slots=True)
class Size:
    """Ways, kinds of task, outcomes of each kind, and the number of worlds of each rate and way of choosing."""

    ways: int
    kinds: int
    outcomes: int
    worlds: int

    @property
    def name(self) -> str:
        return f"{self.ways} × {self.kinds} × {self.outcomes}"


@dataclass(frozen=True, slots=True)
class NullWorlds:
    """Null worlds of one size, rate and way of choosing, and the number of those in which anything was ever proven."""

    size: str
    judged_by: str
    choosing: str
    rate: float
    worlds: int
    proven: int


SIZES = (Size(2, 1, 24, 200), Size(5, 1, 200, 40), Size(5, 1, 1_000, 6), Size(8, 5, 60, 20))
WHOLE = Size(2, 1, 24, 10)
QUICK_SIZES = (Size(2, 1, 24, 10), Size(5, 1, 60, 2), Size(4, 3, 20, 2))
QUICK_WHOLE = Size(2, 1, 12, 1)
POWER_WORLDS, QUICK_POWER_WORLDS = 40, 4
WORDS_WORLDS, QUICK_WORDS_WORLDS = 100, 1
WORDS_WAYS, WORDS_RATES = (1, 3), (0.2, 0.5, 0.8)
LOOK = 5
"""Outcomes between two looks at worlds in words, each at the tables of all kinds."""
TASKS = [f"{text}, ticket {number}" for number in range(3) for family in FAMILIES for text in family][:100]
IN_WORDS = "untyped tasks in words"


@dataclass(slots=True)
class Play:
    """One kind of task with ways of known rates, what was tried so far, and its luck."""

    rates: Sequence[float]
    chance: np.random.Generator
    votes: list[list[float]] = field(init=False)
    way: int = field(init=False)
    has_won: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.votes = [[] for _ in self.rates]
        self.way = int(self.chance.integers(len(self.rates)))

    @property
    def counts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Successes and failures of each way."""
        won = np.array([sum(each) for each in self.votes])
        return won, np.array([float(len(each)) for each in self.votes]) - won

    def steps(self, choose: "Choose", outcomes: int) -> Iterator[tuple[int, bool]]:
        """Tries one way after the other."""
        for _ in range(outcomes):
            self.way = choose(self)
            self.has_won = bool(self.chance.random() < self.rates[self.way])
            self.votes[self.way].append(float(self.has_won))
            yield self.way, self.has_won


Choose = Callable[[Play], int]


def choose_at_random(play: Play) -> int:
    """Every way as often as any."""
    return int(play.chance.integers(len(play.rates)))


def choose_greedily(play: Play) -> int:
    """The way with the highest mean of Beta(1, 1), ties at random."""
    won, lost = play.counts
    return int(((won + 1) / (won + lost + 2) + 1e-9 * play.chance.random(len(won))).argmax())


def stay_or_shift(play: Play) -> int:
    """The same way again after a success, another one at random after a failure."""
    shift = 0 if play.has_won else int(play.chance.integers(1, len(play.rates)))
    return (play.way + shift) % len(play.rates)


def sample(play: Play) -> int:
    """Thompson sampling on Beta(1, 1)."""
    won, lost = play.counts
    return int(play.chance.beta(won + 1, lost + 1).argmax())


CHOOSING: Mapping[str, Choose] = {
    "random": choose_at_random,
    "greedy": choose_greedily,
    "win-stay": stay_or_shift,
    "Thompson": sample,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures as the command line says. Ends the process with 1 if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    sizes, whole, worlds = (QUICK_SIZES, QUICK_WHOLE, QUICK_POWER_WORLDS) if options.quick else (SIZES, WHOLE, POWER_WORLDS)
    with Progress(console=console) as progress:
        null = measure_null_worlds(sizes, whole, options.seed, progress)
        null += measure_worlds_in_words(QUICK_WORDS_WORLDS if options.quick else WORDS_WORLDS, options.seed, progress)
        power = measure_power(worlds, options.seed, progress)
    result = [*null_figures(null), *power]
    gates.show(console, result, f"Worlds of known truth, seed {options.seed}{', quick' if options.quick else ''}")
    if options.json:
        gates.write_json(options.json, result, seed=options.seed, null_worlds=[asdict(one) for one in null])
    gates.enforce(result)


def measure_null_worlds(sizes: Sequence[Size], whole: Size, seed: int, progress: Progress) -> list[NullWorlds]:
    """Counts null worlds with a false proof, by size, way of choosing and rate."""
    judges = [(size, "proofs alone", is_proven_by_votes) for size in sizes] + [(whole, "whole projection", is_proven_in_rows)]
    result = []
    for place, (size, judged_by, is_proven) in enumerate(progress.track(judges, description="Null worlds")):
        for number, (choosing, choose) in enumerate(CHOOSING.items()):
            for rate in RATES:
                chance = np.random.default_rng([seed, place, number, round(100 * rate)])
                proven = sum(
                    any(is_proven(Play([rate] * size.ways, chance), choose, size) for _ in range(size.kinds))
                    for _ in range(size.worlds)
                )
                result.append(NullWorlds(size.name, judged_by, choosing, rate, size.worlds, proven))
    return result


def measure_worlds_in_words(worlds: int, seed: int, progress: Progress) -> list[NullWorlds]:
    """Counts null worlds of untyped tasks in words with a false proof, by number of ways and rate."""
    embed, result = CachedEmbedder(create_embedder("minilm")).embed, []
    cases = [(ways, rate) for ways in WORDS_WAYS for rate in WORDS_RATES]
    for ways, rate in progress.track(cases, description="Null worlds in words"):
        plays = [Play([rate] * ways, np.random.default_rng([seed, 8, ways, round(100 * rate), world])) for world in range(worlds)]
        proven = sum(is_proven_in_words(play, embed) for play in plays)
        result.append(NullWorlds(f"{ways} × ? × {len(TASKS)}", IN_WORDS, "random", rate, worlds, proven))
    return result


def is_proven_in_words(play: Play, embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> bool:
    """Returns True if a row of any kind that the projection finds is a proven rule at any look."""
    projection, found = Projection(embed), False
    order = play.chance.permutation(len(TASKS))
    for number, (way, won) in enumerate(play.steps(choose_at_random, len(TASKS)), 1):
        projection.extend([make_trial(number, TASKS[order[number - 1]], WAYS[way], float(won))])
        if number % LOOK == 0:
            found = found or any(row.status is Status.PROVEN for table in projection.tables() for row in table.rows)
    return found


def is_proven_by_votes(play: Play, choose: Choose, size: Size) -> bool:
    """Returns True if anything is proven at any look, of one of the kinds of a world."""
    found = False
    for _ in play.steps(choose, size.outcomes):
        better, worse = prove(play.votes, size.kinds)
        found = found or any(better) or any(worse)
    return found


def is_proven_in_rows(play: Play, choose: Choose, size: Size) -> bool:
    """Returns True if any row of the table is a proven rule at any look."""
    projection, found = Projection(draw_vectors), False
    for number, (way, won) in enumerate(play.steps(choose, size.outcomes)):
        projection.extend([make_trial(number, f"Job {number}", STRATEGIES[way], float(won), task_type="job")])
        rows = projection.table(Question(task_type="job")).rows
        found = found or any(row.status is Status.PROVEN for row in rows)
    return found


def draw_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Returns a direction of its own for each text."""
    drawn = np.stack([np.random.default_rng(list(text.encode())).normal(size=DIMENSION) for text in texts])
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def null_figures(null: Sequence[NullWorlds]) -> list[Gate]:
    """The share of null worlds with a false proof, of each size and way of choosing."""
    result = []
    for size, judged_by, choosing in dict.fromkeys((one.size, one.judged_by, one.choosing) for one in null):
        of = [one for one in null if (one.size, one.judged_by, one.choosing) == (size, judged_by, choosing)]
        worlds = sum(one.worlds for one in of)
        what = f"{size}, {judged_by}, {choosing}: worlds ever with a false proof, of {worlds:,}"
        result.append(Gate(what, sum(one.proven for one in of) / worlds, ""))
    share = sum(one.proven for one in null) / sum(one.worlds for one in null)
    return [*result, Gate("worlds ever with a false proof, all", share, "", limit=LIMIT)]


def measure_power(worlds: int, seed: int, progress: Progress) -> list[Gate]:
    """Measures how often the one better way is proven by the end, and how often anything false is proven until then."""
    result = []
    cases = [(*rates, ways) for rates in BETTER for ways in POWER_WAYS]
    for number, (best, rest, outcomes, ways) in enumerate(progress.track(cases, description="Power")):
        chance = np.random.default_rng([seed, 9, number])
        found = [judge_power(Play([best] + [rest] * (ways - 1), chance), outcomes) for _ in range(worlds)]
        what = f"{best:g} against {rest:g}, {ways} ways, {outcomes} outcomes"
        result.append(Gate(f"{what}: proven by the end", mean([float(right) for right, _ in found]), "", more_is_better=True))
        result.append(Gate(f"{what}: ever a false proof", mean([float(wrong) for _, wrong in found]), ""))
    return result


def judge_power(play: Play, outcomes: int) -> tuple[bool, bool]:
    """Returns whether the first way is ever proven to be better, and whether it is ever proven worse or another one better."""
    looks = (prove(play.votes, 1) for _ in play.steps(choose_at_random, outcomes))
    seen = accumulate(
        ((better[0], worse[0] or any(better[1:])) for better, worse in looks), lambda a, b: (a[0] or b[0], a[1] or b[1])
    )
    *_, last = seen
    return last


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.null_worlds", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter worlds: seconds, and figures that say little")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
