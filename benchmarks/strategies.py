"""Whether memory picks a good strategy for a task it never saw: `python -m benchmarks.strategies --data FILE`, tasks × strategies, solved or not.

In each of many resamplings, some tasks were done with one strategy each, drawn at random, and learned of one by one; a strategy is then
chosen for the tasks that are left. All tasks are of one type. Two public calls choose: `strategies(task_type=…)`, whose first row has the
highest expected rate, asked once a log for the type is all it knows; and `assess(strategy, context=task)`, the strategy with the highest
`confidence_score`, asked for a few held-out tasks alone (`--asked`), for every strategy takes a call. Where nothing like the task was done, all
are unknown to it, and the table decides. What was never tried is not in the table, and is assessed at the rate of the others. Where choices tie,
their mean counts.

Beside them: the highest mean of plain counts with one success and one failure added; the same counts weighed by the cosine of the tasks and
drawn to it; a strategy at random; the best one in hindsight; and an oracle that knows each task's own. Limits are kept from 50 logged tasks on;
intervals are over resamplings, by bootstrap, paired.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import interval, mean
from benchmarks.records import DataError, read_records
from benchmarks.screen import wide_console

if TYPE_CHECKING:
    from alma import ALMA
    from alma.testing import FixedClock

Numbers = NDArray[np.float64]

PROJECT = "strategies"
TASK_TYPE = "programming"
LOGGED = (20, 50, 100)
RESAMPLINGS = 100
ASKED = 12
NEAR_GLOBAL = 0.01
SHARPNESS, PSEUDO_COUNTS = 6, 4
SUREST, MOST_CONFIDENT = "ALMA, surest", "ALMA, most confident"
LIMITS_FROM = 50
GLOBAL, SIMILAR, RANDOM = "global Beta mean", "similar tasks, drawn to global", "random"
BEST, ORACLE = "best single strategy", "oracle"


@dataclass(frozen=True, slots=True)
class Results:
    """Which strategy solved which task: `solved[task, strategy]` is 1 or 0. `cosines` are those of the tasks."""

    tasks: Sequence[str]
    strategies: Sequence[str]
    solved: Numbers
    cosines: Numbers


@dataclass(frozen=True, slots=True)
class Log:
    """What was done so far in a resampling: one strategy a task, by their places."""

    tasks: Sequence[int]
    strategies: Sequence[int]


@dataclass(frozen=True, slots=True)
class Success:
    """The mean success of a policy on all held-out tasks, nan where it did not choose for all, and on those that were asked about."""

    held_out: float
    asked: float


Samples = Mapping[int, Sequence[Mapping[str, Success]]]
"""For each size of the log and resampling: how each policy did."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        results = read_results(options.data, options.embedder, most=max(options.logged))
    except DataError as error:
        sys.exit(str(error))
    with tempfile.TemporaryDirectory(prefix="strategies-") as folder, Progress(console=console) as progress:
        samples = measure(results, Path(folder), options, progress)
    title = f"{options.resamplings} resamplings of {len(results.tasks)} tasks × {len(results.strategies)} strategies in {options.data.name}"
    show_means(console, samples, title)
    result = [gate for logged in samples for gate in figures(samples[logged], logged, options.seed)]
    gates.show(console, result, f"Choosing for tasks not seen, embedder {options.embedder}")
    if options.json:
        about: dict[str, Any] = {"data": options.data.name, "embedder": options.embedder, "seed": options.seed}
        gates.write_json(options.json, result, **about, resamplings=options.resamplings, means=means(samples))
    gates.enforce(result)


def read_results(path: Path, embedder: str, *, most: int) -> Results:
    """The tasks of a file. `DataError` if it holds something else, or no more tasks than shall be logged."""
    from alma.embedding import create_embedder

    records = read_records(path)
    try:
        tasks = [str(record["prompt"]) for record in records]
        names = sorted(records[0]["solved"])
        solved = np.array([[float(bool(record["solved"][name])) for name in names] for record in records])
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path} holds no tasks with strategies that solved them or not: {type(error).__name__} {error}"
        ) from error
    if len(tasks) <= most:
        raise DataError(f"{path} has {len(tasks)} tasks, of which {most} cannot be logged and others held out")
    vectors = create_embedder(embedder).embed(tasks)
    return Results(tasks, names, solved, np.asarray(vectors @ vectors.T, np.float64))


def measure(results: Results, folder: Path, options: argparse.Namespace, progress: Progress) -> Samples:
    """How each policy does, log after log."""
    from alma import ALMA
    from alma.testing import FixedClock

    samples: dict[int, list[dict[str, Success]]] = {logged: [] for logged in sorted(options.logged)}
    clock = FixedClock()
    with ALMA.open(folder, project_id=PROJECT, embedding_provider=options.embedder, clock=clock) as alma:
        for number in progress.track(range(options.resamplings), description="Resampling"):
            chance = np.random.default_rng([options.seed, number])
            order = chance.permutation(len(results.tasks)).tolist()
            drawn = chance.integers(len(results.strategies), size=len(order)).tolist()
            chooser = Chooser(alma, clock, results, f"resampling-{number}")
            done = 0
            for logged, found in samples.items():
                chooser.learn(Log(order[done:logged], drawn[done:logged]))
                done = logged
                log, held_out = Log(order[:logged], drawn[:logged]), order[logged:]
                found.append(_successes(results, log, held_out, held_out[: options.asked], chooser))
    return samples


class Chooser:
    """ALMA as one who chooses: an agent that learns of a log, and is asked for a strategy."""

    def __init__(self, alma: "ALMA", clock: "FixedClock", results: Results, agent: str) -> None:
        self._alma, self._clock, self._results, self._agent = alma, clock, results, agent

    def learn(self, log: Log) -> None:
        """Learns of what was done, one call an attempt, ten minutes apart."""
        for task, strategy in zip(log.tasks, log.strategies, strict=True):
            self._clock.advance(minutes=10)
            self._alma.learn(
                agent=self._agent,
                task=self._results.tasks[task],
                outcome=bool(self._results.solved[task, strategy]),
                strategy_used=self._results.strategies[strategy],
                task_type=TASK_TYPE,
            )

    def surest(self) -> Numbers:
        """The share of each strategy in the choice by the table: all for its first row."""
        first = next(iter(self._alma.strategies(task_type=TASK_TYPE, agent=self._agent)))
        return np.array([float(name == first.strategy) for name in self._results.strategies])

    def most_confident(self, task: int) -> Numbers:
        """The share of each strategy in the choice for a task by the highest `confidence_score`; by the table where nothing like it is known."""
        context = self._results.tasks[task]
        found = [self._alma.assess(strategy=name, context=context, agent=self._agent) for name in self._results.strategies]
        if not any(assessment.is_known for assessment in found):
            return self.surest()
        return highest(np.array([assessment.confidence_score for assessment in found]))


def global_means(results: Results, log: Log) -> Numbers:
    """Each strategy's rate in the log, with one success and one failure added."""
    solved, tried = _counts(results, log, np.ones(len(log.tasks)))
    return np.asarray((solved + 1) / (tried + 2))


def similar_means(results: Results, log: Log, task: int) -> Numbers:
    """The same with every logged task weighed by its nearness, drawn to the plain mean."""
    near = np.clip(results.cosines[task, list(log.tasks)], 0, None) ** SHARPNESS
    solved, tried = _counts(results, log, near)
    return np.asarray((solved + PSEUDO_COUNTS * global_means(results, log)) / (tried + PSEUDO_COUNTS))


def highest(scores: Numbers) -> Numbers:
    """The highest shares the choice; a tie is shared evenly."""
    best = np.isclose(scores, scores.max(), rtol=0, atol=1e-12)
    return np.asarray(best / best.sum())


def means(samples: Samples) -> dict[int, dict[str, float]]:
    """Each policy's mean success: on all held-out tasks where it chose for all, else on those that were asked about."""
    return {
        logged: {
            MOST_CONFIDENT: round(mean(_values(found, MOST_CONFIDENT, of_asked=True)), 4),
            f"  {GLOBAL}, same few tasks": round(mean(_values(found, GLOBAL, of_asked=True)), 4),
            **{policy: round(mean(_values(found, policy, of_asked=False)), 4) for policy in found[0] if policy != MOST_CONFIDENT},
        }
        for logged, found in samples.items()
    }


def figures(found: Sequence[Mapping[str, Success]], logged: int, seed: int) -> list[Gate]:
    """What the choices by ALMA gain over the plain means, on the same tasks, and over chance."""
    result = []
    for policy, of_asked in ((MOST_CONFIDENT, True), (SUREST, False)):
        for other, limit in ((GLOBAL, -NEAR_GLOBAL), (RANDOM, 0.0)):
            theirs = _values(found, other, of_asked=of_asked)
            gains = [mine - their for mine, their in zip(_values(found, policy, of_asked=of_asked), theirs, strict=True)]
            low, high = interval(gains, seed=seed)
            what = f"{logged} logged: {policy}, above {other} ({low:+.3f} to {high:+.3f})"
            result.append(Gate(what, mean(gains), "", limit=limit if logged >= LIMITS_FROM else None, more_is_better=True))
    return result


def show_means(console: Console, samples: Samples, title: str) -> None:
    """Prints a row for each policy."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("mean success on held-out tasks")
    for logged in samples:
        table.add_column(f"{logged} logged", justify="right")
    rows = means(samples)
    for policy in next(iter(rows.values())):
        table.add_row(policy, *(f"{of_size[policy]:.3f}" for of_size in rows.values()))
    console.print(table)


def _successes(results: Results, log: Log, held_out: Sequence[int], asked: Sequence[int], chooser: Chooser) -> dict[str, Success]:
    surest, plain = chooser.surest(), highest(global_means(results, log))
    even = np.full(len(results.strategies), 1 / len(results.strategies))
    best = highest(results.solved.mean(axis=0))
    choices: dict[str, Callable[[int], Numbers]] = {
        SUREST: lambda task: surest,
        GLOBAL: lambda task: plain,
        SIMILAR: lambda task: highest(similar_means(results, log, task)),
        RANDOM: lambda task: even,
        BEST: lambda task: best,
        ORACLE: lambda task: highest(results.solved[task]),
    }
    solved = {policy: [float(results.solved[task] @ choose(task)) for task in held_out] for policy, choose in choices.items()}
    confident = mean([float(results.solved[task] @ chooser.most_confident(task)) for task in asked])
    others = {policy: Success(mean(values), mean(values[: len(asked)])) for policy, values in solved.items()}
    return {MOST_CONFIDENT: Success(nan, confident), **others}


def _counts(results: Results, log: Log, weights: Numbers) -> tuple[Numbers, Numbers]:
    solved, tried = np.zeros(len(results.strategies)), np.zeros(len(results.strategies))
    np.add.at(solved, list(log.strategies), weights * results.solved[list(log.tasks), list(log.strategies)])
    np.add.at(tried, list(log.strategies), weights)
    return solved, tried


def _values(found: Sequence[Mapping[str, Success]], policy: str, *, of_asked: bool) -> list[float]:
    return [of_one[policy].asked if of_asked else of_one[policy].held_out for of_one in found]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strategies", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="tasks with what solved them: JSON, JSON lines, or either gzipped"
    )
    parser.add_argument("--embedder", default="minilm", help="name of an embedder (default: minilm)")
    parser.add_argument(
        "--logged", type=positive, nargs="+", default=LOGGED, help="tasks logged before choosing (default: 20 50 100)"
    )
    parser.add_argument("--resamplings", type=positive, default=RESAMPLINGS, help=f"default: {RESAMPLINGS}")
    parser.add_argument(
        "--asked", type=positive, default=ASKED, help=f"held-out tasks that are assessed one by one (default: {ASKED})"
    )
    parser.add_argument("--seed", type=int, default=0, help="of resamplings and intervals (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
