"""Whether the tools of a finished run tell its verdict: `python -m benchmarks.forecasts --data FILE`, a file of tau-bench trials.

Every run becomes an episode with one step a tool call, and each task in turn is left out: the verdicts of its runs are taken back, what is
forecast of them is read, and the verdicts are given again. So nothing is known of the task whose runs are foretold. Every second task is
a half of its own: on the first half the formula was chosen, the second one judges it. In the last part the verdicts are shuffled over the
runs, so that there is nothing to know.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import mean
from benchmarks.predictions import Numbers, auc, brier, interval
from benchmarks.records import DataError, read_records
from benchmarks.screen import wide_console

if TYPE_CHECKING:
    from alma import ALMA

SHUFFLES = 5
NO_LEAK = 0.54
PARTS = 4


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt at a task: its tool calls, each with whether it went well, and how it ended."""

    task: str
    calls: tuple[tuple[str, bool], ...]
    succeeded: bool


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        runs = read_runs(options.data)
    except DataError as error:
        sys.exit(str(error))
    with tempfile.TemporaryDirectory(prefix="forecasts-") as folder:
        result, intervals = measure(runs, Path(folder), options, console)
    gates.show(console, result, f"{len(runs)} runs of {len({run.task for run in runs})} tasks in {options.data.name}")
    for what, (low, high) in intervals.items():
        console.print(f"{what}: {low:.3f} to {high:.3f} (95 %, bootstrap over tasks)", highlight=False)
    if options.json:
        gates.write_json(options.json, result, data=options.data.name, seed=options.seed, intervals=intervals)
    gates.enforce(result)


def read_runs(path: Path) -> list[Run]:
    """The runs of a file. `DataError` if it holds something else, or fewer than four tasks."""
    try:
        runs = [_run(record) for record in read_records(path)]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} holds no tau-bench trials: {type(error).__name__} {error}") from error
    if len({run.task for run in runs}) < 2 * 2:
        raise DataError(f"{path} holds too few tasks to leave one out of each half")
    return runs


def halves(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The runs of every second task, and those of the others. Tasks stand in the order of their numbers, else of their names."""
    tasks = sorted({run.task for run in runs}, key=lambda task: (len(task), task))
    chosen = set(tasks[::2])
    return [run for run in runs if run.task in chosen], [run for run in runs if run.task not in chosen]


def measure(
    runs: Sequence[Run], folder: Path, options: argparse.Namespace, console: Console
) -> tuple[list[Gate], dict[str, tuple[float, float]]]:
    """The figures of both halves and of shuffled verdicts, and the intervals of those of the half that judges."""
    from alma import ALMA

    first, second = halves(runs)
    with ALMA.open(folder, project_id="airline", embedding_provider="hash") as alma:
        known, judging = (foretold(alma, half, agent) for half, agent in ((first, "first"), (second, "second")))
        shuffled = []
        for number in range(options.shuffles):
            dealt = _shuffled(second, np.random.default_rng([options.seed, number]))
            elsewhere = alma.for_project(f"shuffled-{number}")
            shuffled.append(auc(foretold(elsewhere, dealt, "clerk"), _outcomes(dealt)))
    _show_calibration(console, judging, _outcomes(second))
    won, tasks = _outcomes(second), [run.task for run in second]
    result = [
        Gate("half that judges, AUC", auc(judging, won), "", limit=0.5, more_is_better=True),
        Gate("half that judges, Brier", brier(judging, won), "", limit=float(won.mean() * (1 - won.mean()))),
        Gate("  the share of successes, known in hindsight, Brier", float(won.mean() * (1 - won.mean())), ""),
        Gate("half that the formula was chosen on, AUC", auc(known, _outcomes(first)), ""),
        Gate("  Brier", brier(known, _outcomes(first)), ""),
        Gate("verdicts shuffled, mean AUC", mean(shuffled), "", limit=NO_LEAK),
    ]
    intervals = {
        "half that judges, AUC": interval(tasks, lambda at: auc(judging[at], won[at]), seed=options.seed),
        "half that judges, Brier": interval(tasks, lambda at: brier(judging[at], won[at]), seed=options.seed),
    }
    return result, intervals


def foretold(alma: "ALMA", runs: Sequence[Run], agent: str) -> Numbers:
    """The rate of success forecast for each run while the verdicts on its task are unknown."""
    ids = [_recorded(alma, run, agent) for run in runs]
    rates = np.zeros(len(runs))
    for task in dict.fromkeys(run.task for run in runs):
        places = [place for place, run in enumerate(runs) if run.task == task]
        for place in places:
            alma.settle(ids[place], "unverified")
        for place in places:
            found = alma.get_episode(ids[place]).forecast
            rates[place] = 0.5 if found is None else found.rate
        for place in places:
            alma.settle(ids[place], runs[place].succeeded)
    return rates


def _recorded(alma: "ALMA", run: Run, agent: str) -> str:
    with alma.episode(agent, f"Task {run.task}", deferred=True) as episode:
        for tool, ok in run.calls:
            episode.step(tool, ok=ok, error=None if ok else "the tool refused")
        episode.end("success" if run.succeeded else "failure")
    return episode.id


def _shuffled(runs: Sequence[Run], chance: np.random.Generator) -> list[Run]:
    dealt = chance.permutation([run.succeeded for run in runs]).tolist()
    return [replace(run, succeeded=won) for run, won in zip(runs, dealt, strict=True)]


def _outcomes(runs: Sequence[Run]) -> Numbers:
    return np.array([run.succeeded for run in runs], float)


def _show_calibration(console: Console, rates: Numbers, won: Numbers) -> None:
    for part in np.array_split(np.argsort(rates, kind="stable"), PARTS):
        console.print(f"forecast {rates[part].mean():.2f}, came {won[part].mean():.2f}, of {len(part)} runs", highlight=False)


def _run(record: dict[str, Any]) -> Run:
    answers = [message for message in record["traj"] if message["role"] == "tool"]
    calls = tuple((str(answer["name"]), not str(answer["content"]).startswith("Error")) for answer in answers)
    return Run(str(record["task_id"]), calls, float(record["reward"]) > 0.5)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecasts", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="tau-bench trials: JSON, JSON lines, or either gzipped")
    parser.add_argument(
        "--shuffles", type=positive, default=SHUFFLES, help=f"how often verdicts are shuffled (default: {SHUFFLES})"
    )
    parser.add_argument("--seed", type=int, default=0, help="of shuffles and intervals (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
