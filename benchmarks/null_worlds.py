"""Whether what is proven is true: `python -m benchmarks.null_worlds [--quick] [--seed N] [--json FILE]`.

In a null world no strategy is any better than another: each type of task has one rate, whatever is tried. Whatever is proven there is
false. The worlds are judged after every outcome of a type (in the largest after every tenth) by `alma.learning.proof`, each outcome being of
another task, and a world counts if anything was proven at any look. Worlds are named "strategies × outcomes of each" and "strategies × types ×
outcomes of each type". Agents choose at random, greedily, by win-stay-lose-shift, or by Thompson sampling.

Beside that: the share of strategies with a false *likely* rule, by a plain estimate; and how many outcomes it takes to prove that one strategy
does better than the others, where it does.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.progress import Progress

from alma.evidence import Tally, wilson
from alma.learning.proof import LEVEL
from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.playing import CHOOSING
from benchmarks.proving import LOOKS_FOR_LIKELY, NullWorlds, Power, World, null_worlds, powers
from benchmarks.screen import wide_console

BETTER = ((0.8, 0.5), (0.9, 0.7), (0.95, 0.85))
POWER_STRATEGIES = (2, 6)
POWER_CHOOSING = ("random", "Thompson")

WORLDS = (
    World("2 × 12", strategies=2, types=1, outcomes=24, every=1, worlds=1_000),
    World("5 × 40", strategies=5, types=1, outcomes=200, every=1, worlds=500),
    World("2 × 400", strategies=2, types=1, outcomes=800, every=1, worlds=300),
    World("5 × 400", strategies=5, types=1, outcomes=2_000, every=1, worlds=200),
    World("50 × 20 × 2,000", strategies=50, types=20, outcomes=2_000, every=10, worlds=30),
)
QUICK = (
    World("2 × 12", strategies=2, types=1, outcomes=24, every=1, worlds=100),
    World("5 × 40", strategies=5, types=1, outcomes=200, every=1, worlds=20),
    World("50 × 20 × 60", strategies=50, types=20, outcomes=60, every=10, worlds=2),
)
POWER_WORLDS, POWER_OUTCOMES = 60, 2_000
QUICK_POWER_WORLDS, QUICK_POWER_OUTCOMES = 5, 100


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures as the command line says. Ends the process with 1 if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    with Progress(console=console) as progress:
        null = _null_worlds(QUICK if options.quick else WORLDS, options.seed, progress)
        size = (QUICK_POWER_WORLDS, QUICK_POWER_OUTCOMES) if options.quick else (POWER_WORLDS, POWER_OUTCOMES)
        power = _powers(*size, options.seed, progress)
    result = [*null_figures(null), *power_figures(power)]
    gates.show(console, result, f"Worlds of known truth, seed {options.seed}{', quick' if options.quick else ''}")
    if options.json:
        by_rate = [asdict(one) | {"interval": asdict(wilson(Tally(one.proven, one.worlds)))} for one in null]
        told = [{name: _plain(value) for name, value in asdict(one).items()} for one in power]
        gates.write_json(options.json, result, seed=options.seed, null_worlds=by_rate, power=told)
    gates.enforce(result)


def null_figures(null: Sequence[NullWorlds]) -> list[Gate]:
    """The share of null worlds with a false proof, of each sort and way of choosing, and that of likely strategies."""
    result = []
    for name, choosing in dict.fromkeys((one.world, one.choosing) for one in null):
        of = [one for one in null if (one.world, one.choosing) == (name, choosing)]
        worlds, watched = sum(one.worlds for one in of), sum(one.watched for one in of)
        share = sum(one.proven for one in of) / worlds
        result.append(Gate(f"{name}, {choosing}: worlds ever with a false proof, of {worlds:,}", share, "", limit=LEVEL))
        if watched:
            likely = sum(one.likely_share * one.watched for one in of) / watched
            what = f"{name}, {choosing}: strategies that are called likely, mean of {LOOKS_FOR_LIKELY} looks"
            result.append(Gate(what, likely, ""))
    return result


def power_figures(power: Sequence[Power]) -> list[Gate]:
    """How long it takes to prove what is true, and how often what is false is proven beside it."""
    result = []
    for one in power:
        what = f"{one.best:g} against {one.rest:g}, {one.strategies} strategies, {one.choosing}"
        result.append(Gate(f"{what}: outcomes to prove it, median", one.median, ""))
        result.append(Gate(f"{what}: proven by the end", one.ever, "", more_is_better=True))
        result.append(Gate(f"{what}: a false proof until then", one.false, "", limit=LEVEL))
    return result


def _null_worlds(worlds: Sequence[World], seed: int, progress: Progress) -> list[NullWorlds]:
    result: list[NullWorlds] = []
    for place, world in enumerate(progress.track(worlds, description="Null worlds")):
        for number, choosing in enumerate(CHOOSING):
            result += null_worlds(world, choosing, [seed, place, number])
    return result


def _powers(worlds: int, outcomes: int, seed: int, progress: Progress) -> list[Power]:
    cases = [(rates, strategies, choosing) for rates in BETTER for strategies in POWER_STRATEGIES for choosing in POWER_CHOOSING]
    return [
        powers(*rates, strategies, choosing, worlds, outcomes, [seed, 9, number])
        for number, (rates, strategies, choosing) in enumerate(progress.track(cases, description="Power"))
    ]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.null_worlds", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="fewer and smaller worlds: some seconds, and figures that say little"
    )
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
