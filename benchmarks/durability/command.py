"""Whether anything that was acknowledged is ever lost: `python -m benchmarks.durability [--rounds 300] [--json FILE]`.

`kills`: writers make every kind of call on one store, in several processes and threads, with further opens of the same file and with forks, and
are killed (-9) at random instants. Each keeps a ledger, on disk before and after each call. A new process then compares the store with the
ledgers: what was acknowledged is there, what was killed is there whole or not at all, nothing else is there. A round is drawn from the seed and
its number; `--round N` runs it again (the same plan; which call a kill hits is up to the machine).

`counts`: eight processes with 500 mixed calls each, further opens and forks, and no kill: exact counts in the end.

The other scenarios harm what the store stands on: a full disk, files and folders that cannot be written, sectors flipped or zeroed, logs and locks
deleted, files moved, cut or replaced, a clock set back, no more descriptors, no more memory. Each has to end in an error of ALMA's tree or in
self-repair; an answer that differs without an error is a fault. Needs a POSIX system. Ends with 1 if anything is lost or silent.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.durability import results
from benchmarks.durability.faults import SCENARIOS
from benchmarks.durability.faults.trials import Place, Trial
from benchmarks.durability.plans import counting_plan, plan_of
from benchmarks.durability.processes import prepare
from benchmarks.durability.rounds import Round, run
from benchmarks.gates import Gate
from benchmarks.screen import wide_console

ROUNDS = 300
TRIALS = 40
CALLS = 500
KILLS, COUNTS = "kills", "counts"


@dataclass(slots=True)
class Outcome:
    """What came of all scenarios."""

    seed: int
    rounds: list[Round] = field(default_factory=list)
    counted: list[Round] = field(default_factory=list)
    trials: dict[str, list[Trial]] = field(default_factory=dict)

    @property
    def figures(self) -> list[Gate]:
        """All figures, those that must be 0 with their limit."""
        found = results.figures(self.rounds) if self.rounds else []
        found += [figure for counted in self.counted for figure in results.count_figures(counted)]
        return found + [results.trial_figure(name, trials) for name, trials in self.trials.items()]

    def show(self, console: Console) -> None:
        """Prints the calls, the faults and the figures."""
        if self.rounds:
            results.show_calls(console, self.rounds)
        results.show_faults(console, [*self.rounds, *self.counted], self.seed)
        if self.trials:
            results.show_trials(console, self.trials)
        gates.show(console, self.figures, f"Durability, seed {self.seed}")

    def about(self) -> dict[str, Any]:
        """The single rounds and trials."""
        return {
            "seed": self.seed,
            "calls": results.by_call(self.rounds),
            "rounds": results.as_json(self.rounds),
            "counts": results.as_json(self.counted),
            "trials": results.trials_as_json(self.trials),
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the scenarios as the command line says. Ends the process with 1 if anything was lost or silent."""
    options = _parser().parse_args(arguments)
    if sys.platform == "win32":
        sys.exit("this benchmark forks and kills processes; it needs a POSIX system")
    console = wide_console()
    prepare()
    with _folder(options.dir, keep=options.keep) as folder, Progress(console=console) as progress:
        outcome = _outcome(options, folder, progress)
    outcome.show(console)
    if options.json:
        gates.write_json(options.json, outcome.figures, **outcome.about())
    gates.enforce(outcome.figures)


def _outcome(options: argparse.Namespace, folder: Path, progress: Progress) -> Outcome:
    chosen = options.scenario or [KILLS, COUNTS, *SCENARIOS]
    outcome = Outcome(options.seed)
    if KILLS in chosen:
        numbers = [options.round] if options.round is not None else range(options.rounds)
        outcome.rounds += [_run(options.seed, number, folder) for number in progress.track(numbers, description=KILLS)]
    if COUNTS in chosen:
        plans = [counting_plan(options.seed, options.calls)]
        outcome.counted += [run(plan, folder / COUNTS) for plan in progress.track(plans, description=COUNTS)]
    for name in progress.track([name for name in SCENARIOS if name in chosen], description="faults"):
        (folder / name).mkdir()
        outcome.trials[name] = SCENARIOS[name](Place(folder / name, f"{options.seed}/{name}", options.trials))
    return outcome


def _run(seed: int, number: int, folder: Path) -> Round:
    place = folder / f"round-{number}"
    result = run(plan_of(seed, number), place)
    if result.findings.is_clean:
        shutil.rmtree(place)
    return result


@contextmanager
def _folder(parent: Path | None, *, keep: bool) -> Iterator[Path]:
    """Where the stores are made; with `keep` those of rounds with faults stay there."""
    folder = Path(tempfile.mkdtemp(prefix="durability-", dir=parent))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = (KILLS, COUNTS, *SCENARIOS)
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help=f"rounds of kills (default: {ROUNDS})")
    parser.add_argument("--round", type=int, metavar="N", help="run round N of the seed again, and no other")
    parser.add_argument("--seed", type=int, default=1, help="what everything is drawn from (default: 1)")
    parser.add_argument("--scenario", action="append", choices=names, help="only this one; may be given again (default: all)")
    parser.add_argument(
        "--calls", type=positive, default=CALLS, help=f"of each process of the scenario counts (default: {CALLS})"
    )
    parser.add_argument("--trials", type=positive, default=TRIALS, help=f"torn sectors of each sort of file (default: {TRIALS})")
    parser.add_argument("--dir", type=Path, metavar="FOLDER", help="where the stores are made")
    parser.add_argument("--keep", action="store_true", help="leave the stores and ledgers of rounds with faults there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser
