"""How much of what is learned is true, in worlds whose truth is known: `python -m benchmarks.simulation [--quick]`.

In every world the strategies succeed at rates that we set. Outcomes are ten minutes apart by a clock that is set too, each of another task of one
type; vectors are hashed. Through the public calls: decisions by what is shown, and false outcomes.
Worlds told in many words are in `benchmarks.simulation.wordings`, those where nothing differs in `benchmarks.null_worlds`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.progress import Progress

from benchmarks import gates
from benchmarks.screen import wide_console
from benchmarks.simulation import choosing, poison

CHOOSING_WORLDS = 16
DECISIONS = 300
QUICK = {"choosing_worlds": 2, "decisions": 30}
FULL = {
    "choosing_worlds": CHOOSING_WORLDS,
    "decisions": DECISIONS,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the simulation as the command line says. Ends the process with 1 if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    size, seed = QUICK if options.quick else FULL, options.seed
    with Progress(console=console) as progress:
        regrets = choosing.measured(seed, size["choosing_worlds"], size["decisions"], progress)
        poisoned = poison.figures()
    chosen = choosing.figures(regrets, size["decisions"], seed)
    result = [*chosen, *poisoned]
    gates.show(console, result, f"Worlds of known truth, seed {seed}{', quick' if options.quick else ''}")
    if options.json:
        gates.write_json(options.json, result, seed=seed, **size, regrets=regrets)
    gates.enforce(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer worlds: some seconds, and figures that say little")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
