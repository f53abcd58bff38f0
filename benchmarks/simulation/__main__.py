"""How much of what is learned is true, in worlds whose truth is known: `python -m benchmarks.simulation [--quick]`.

In every world the strategies succeed at rates that we set. Outcomes are ten minutes apart by a clock that is set too, each of another task of one
type; vectors are hashed. Through the public calls: the coverage of the interval that is told, decisions by what is told, and false outcomes. With
the same rules outside the database, which many more worlds need and whose agreement with the public calls is a figure of its own: false
rules, and the time until a rule comes and goes.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import gates
from benchmarks.screen import wide_console
from benchmarks.simulation import choosing, coverage, false_rules, poison, times
from benchmarks.simulation.worlds import STRATEGIES

RECORDS = 160
FALSE_WORLDS = 40
AGREEING_WORLDS = 10
TIMED_WORLDS = 200
CHOOSING_WORLDS = 16
DECISIONS = 300
QUICK = {"records": 16, "false_worlds": 2, "agreeing_worlds": 1, "timed_worlds": 5, "choosing_worlds": 2, "decisions": 30}
FULL = {
    "records": RECORDS,
    "false_worlds": FALSE_WORLDS,
    "agreeing_worlds": AGREEING_WORLDS,
    "timed_worlds": TIMED_WORLDS,
    "choosing_worlds": CHOOSING_WORLDS,
    "decisions": DECISIONS,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the simulation as the command line says. Ends the process with 1 if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    size, seed = QUICK if options.quick else FULL, options.seed
    with Progress(console=console) as progress:
        cells = coverage.measured(seed, size["records"], progress)
        same = false_rules.agreement(seed, size["agreeing_worlds"], progress)
        rows = false_rules.measured(seed, size["false_worlds"], progress)
        timed = times.figures(seed, size["timed_worlds"], progress)
        regrets = choosing.measured(seed, size["choosing_worlds"], size["decisions"], progress)
        poisoned = poison.figures()
    show_coverage(console, cells)
    show_rules(console, rows)
    chosen = choosing.figures(regrets, size["decisions"], seed)
    result = [*coverage.figures(cells), *false_rules.figures(rows, same), *timed, *chosen, *poisoned]
    gates.show(console, result, f"Worlds of known truth, seed {seed}{', quick' if options.quick else ''}")
    if options.json:
        told = [{"rate": row.rate, "when": row.when, "strategies": row.strategies, **row.counts} for row in rows]
        covered = [{"rate": cell.rate, "trials": cell.trials, "coverage": cell.coverage, "exact": cell.exact} for cell in cells]
        gates.write_json(options.json, result, seed=seed, **size, coverage=covered, rules=told, regrets=regrets)
    gates.enforce(result)


def show_coverage(console: Console, cells: Sequence[coverage.Cell]) -> None:
    """Prints the coverage of each rate and number of trials."""
    table = Table(title="Coverage of the 95 % interval, exact in brackets", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("rate")
    for trials in coverage.TRIALS:
        table.add_column(f"{trials} trials", justify="right")
    for rate in coverage.RATES:
        table.add_row(f"{rate:g}", *(f"{cell.coverage:.3f} ({cell.exact:.3f})" for cell in cells if cell.rate == rate))
    console.print(table)


def show_rules(console: Console, rows: Sequence[false_rules.Row]) -> None:
    """Prints how many of a hundred strategies have each kind of rule."""
    title = f"Rules of 100 strategies, all of one rate, {', '.join(map(str, false_rules.STRATEGIES_EACH))} of up to {len(STRATEGIES)} in a world"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("rate", "trials", *(kind.replace(": ", "\n") for kind in false_rules.KINDS)):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(f"{row.rate:g}", row.when, *(f"{row.per_100(kind):.1f}" for kind in false_rules.KINDS))
    console.print(table)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer worlds: some seconds, and figures that say little")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
