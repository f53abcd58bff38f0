"""Whether memory knows how a task will end: `python -m benchmarks.outcomes --data FILE`, a file of tau-bench trials.

Every trial is predicted from earlier trials alone, by `assess(context=task).confidence_score` after `learn` of what came before, with the real
model. In four ways:

- The task is known: its earlier trials were learned, and the text is its instruction.
- The task is known in other words: the same, but the text is what the user said first, which differs between the trials of a task.
- The task is left out: an agent for each fifth of the tasks learns the other four fifths. The tasks are split again and again, since what one
  split shows is a matter of that split.
- The outcomes are shuffled over the trials, so that there is nothing to know: whatever is known then has leaked.

Intervals are over tasks drawn again; where there are several splits, of the mean over splits. The base rate stands beside each figure.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from benchmarks import gates
from benchmarks.arguments import positive, several
from benchmarks.gates import Gate
from benchmarks.measures import mean
from benchmarks.predictions import Numbers, auc, brier, interval
from benchmarks.records import DataError, read_records
from benchmarks.screen import wide_console

if TYPE_CHECKING:
    from alma import ALMA
    from alma.testing import FixedClock

PROJECT = "airline"
AGENT = "all-tasks"
FOLDS = 5
SPLITS = 10
SHUFFLES = 20
PSEUDO_COUNTS = 2
NEAR_POOLED = 0.01
NO_LEAK = (0.46, 0.54)

Places = NDArray[np.int64]
Measure = Callable[[Numbers, Numbers], float]


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt at a task: the how manieth, how it ended, what was asked for in whole, and what the user said first."""

    task: str
    number: int
    succeeded: bool
    instruction: str
    opening: str


@dataclass(frozen=True, slots=True)
class Predictions:
    """What was foretold of trials, by ALMA and by counting: `pooled` counts the task's own trials, `base` all alike."""

    trials: Sequence[Trial]
    alma: Numbers
    pooled: Numbers
    base: Numbers

    @property
    def outcomes(self) -> Numbers:
        return np.array([trial.succeeded for trial in self.trials], float)

    @property
    def tasks(self) -> list[str]:
        return [trial.task for trial in self.trials]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        trials = read_trials(options.data)
    except DataError as error:
        sys.exit(str(error))
    with tempfile.TemporaryDirectory(prefix="outcomes-") as folder, Progress(console=console) as progress:
        result, intervals = measure(trials, Path(folder), options, progress)
    tasks = len({trial.task for trial in trials})
    title = f"{len(trials)} trials of {tasks} tasks in {options.data.name}, embedder {options.embedder}"
    show_intervals(console, intervals)
    gates.show(console, result, title)
    if options.json:
        about: dict[str, Any] = {"data": options.data.name, "embedder": options.embedder, "seed": options.seed}
        gates.write_json(options.json, result, **about, trials=len(trials), tasks=tasks, intervals=intervals)
    gates.enforce(result)


def read_trials(path: Path) -> list[Trial]:
    """The trials of a file in time order. `DataError` if it holds something else, or no second trial of any task."""
    try:
        trials = [_trial(record) for record in read_records(path)]
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise DataError(f"{path} holds no tau-bench trials: {type(error).__name__} {error}") from error
    trials.sort(key=lambda trial: trial.number)
    if trials[0].number == trials[-1].number:
        raise DataError(f"{path} holds one trial of each task; nothing can be foretold from earlier ones")
    if len({trial.succeeded for trial in trials if trial.number > trials[0].number}) < 2:
        raise DataError(f"{path}: all later trials end alike; there is nothing to tell apart")
    return trials


def measure(
    trials: Sequence[Trial], folder: Path, options: argparse.Namespace, progress: Progress
) -> tuple[list[Gate], dict[str, tuple[float, float]]]:
    """The figures of the four parts, and the intervals of those that have one."""
    from alma import ALMA
    from alma.testing import FixedClock

    clock = FixedClock()
    with ALMA.open(folder, project_id=PROJECT, embedding_provider=options.embedder, clock=clock) as alma:
        seer = Seer(alma, clock)
        known = seer.own_trials_known(trials, AGENT)
        reworded = seer.reworded(trials)
        splits = [
            seer.own_trials_unknown(trials, options.folds, number, np.random.default_rng([options.seed, number]))
            for number in progress.track(range(options.splits), description="Leaving tasks out")
        ]
        shuffled = [
            seer.shuffled(trials, f"shuffle-{number}", np.random.default_rng([options.seed, number]))
            for number in progress.track(range(options.shuffles), description="Shuffling outcomes")
        ]
    parts = (_known_figures(known), _reworded_figures(reworded), _split_figures(splits), _leak_figures(shuffled))
    return [gate for part in parts for gate in part], _intervals(known, reworded, splits, options.seed)


class Seer:
    """Foretells trials in time order through the public calls, each round from those before it."""

    def __init__(self, alma: "ALMA", clock: "FixedClock") -> None:
        self._alma = alma
        self._clock = clock

    def own_trials_known(self, trials: Sequence[Trial], agent: str) -> Predictions:
        """Each trial by the instruction of its task, earlier trials of it included."""
        return self._foretold(trials, {trial.task: agent for trial in trials}, by="instruction", is_own_known=True)

    def reworded(self, trials: Sequence[Trial]) -> Predictions:
        """Each trial by what the user said first, earlier trials of the task in other words included."""
        return self._foretold(trials, {trial.task: "reworded" for trial in trials}, by="opening", is_own_known=True)

    def own_trials_unknown(self, trials: Sequence[Trial], folds: int, split: int, chance: np.random.Generator) -> Predictions:
        """Each trial by what the user said first, by the agent that never learned of its task. The tasks are split at random."""
        tasks = list(dict.fromkeys(trial.task for trial in trials))
        places = chance.permutation(len(tasks)).tolist()
        agents = {task: f"split-{split}-without-{place % folds}" for task, place in zip(tasks, places, strict=True)}
        return self._foretold(trials, agents, by="opening", is_own_known=False)

    def shuffled(self, trials: Sequence[Trial], agent: str, chance: np.random.Generator) -> Predictions:
        """As `own_trials_known`, with the outcomes dealt out anew over all trials."""
        dealt = chance.permutation([trial.succeeded for trial in trials]).tolist()
        return self.own_trials_known([_with(trial, won) for trial, won in zip(trials, dealt, strict=True)], agent)

    def _foretold(self, trials: Sequence[Trial], agents: dict[str, str], *, by: str, is_own_known: bool) -> Predictions:
        """Each trial but the first ones, by the agent of its task, which learns the task's own trials or else only those of others."""
        asked: list[Trial] = []
        scores: list[tuple[float, float, float]] = []
        past: list[Trial] = []
        for number in sorted({trial.number for trial in trials}):
            now = [trial for trial in trials if trial.number == number]
            if past:
                asked += now
                scores += [(self._asked(trial, agents, by), pooled(trial, past), rate(past)) for trial in now]
            for agent in sorted(set(agents.values())):
                self._learn([trial for trial in now if (agents[trial.task] == agent) is is_own_known], agent, by)
            past += now
        return Predictions(asked, *np.array(scores).T)

    def _asked(self, trial: Trial, agents: dict[str, str], by: str) -> float:
        return self._alma.assess(context=getattr(trial, by), agent=agents[trial.task]).confidence_score

    def _learn(self, trials: Sequence[Trial], agent: str, by: str) -> None:
        self._clock.advance(timedelta(hours=1))
        self._alma.learn_many({"agent": agent, "task": getattr(trial, by), "outcome": trial.succeeded} for trial in trials)


def pooled(trial: Trial, past: Sequence[Trial]) -> float:
    """The rate of the task's own earlier trials, with two more at the rate of all."""
    own = [earlier.succeeded for earlier in past if earlier.task == trial.task]
    return (sum(own) + PSEUDO_COUNTS * rate(past)) / (len(own) + PSEUDO_COUNTS)


def rate(past: Sequence[Trial]) -> float:
    """The share of successes."""
    return mean([trial.succeeded for trial in past])


def show_intervals(console: Console, intervals: dict[str, tuple[float, float]]) -> None:
    """Prints the 95 % intervals, a line each."""
    for what, (low, high) in intervals.items():
        console.print(f"{what}: {low:+.3f} to {high:+.3f} (95 %, bootstrap over tasks)", highlight=False)


def _known_figures(seen: Predictions) -> list[Gate]:
    won = seen.outcomes
    plain = auc(seen.pooled, won)
    result = [
        Gate("same task known, AUC", auc(seen.alma, won), "", limit=plain - NEAR_POOLED, more_is_better=True),
        Gate("  plain pooled Beta, AUC", plain, ""),
        Gate("  base rate, AUC", auc(seen.base, won), ""),
        Gate("same task known, Brier", brier(seen.alma, won), "", limit=brier(seen.base, won)),
        Gate("  plain pooled Beta, Brier", brier(seen.pooled, won), ""),
        Gate("  base rate, Brier", brier(seen.base, won), ""),
    ]
    for number in sorted({trial.number for trial in seen.trials}):
        places = np.array([trial.number == number for trial in seen.trials])
        result.append(Gate(f"  of trial {number} alone, AUC", auc(seen.alma[places], won[places]), ""))
    return result


def _reworded_figures(seen: Predictions) -> list[Gate]:
    won = seen.outcomes
    return [
        Gate("same task in other words, AUC", auc(seen.alma, won), "", limit=auc(seen.base, won), more_is_better=True),
        Gate("  base rate, AUC", auc(seen.base, won), ""),
        Gate("same task in other words, Brier", brier(seen.alma, won), ""),
        Gate("  base rate, Brier", brier(seen.base, won), ""),
    ]


def _split_figures(splits: Sequence[Predictions]) -> list[Gate]:
    won, base = splits[0].outcomes, splits[0].base
    found = [auc(seen.alma, won) for seen in splits]
    return [
        Gate("task left out, mean AUC of splits", mean(found), "", limit=auc(base, won), more_is_better=True),
        Gate("  lowest split, AUC", min(found), ""),
        Gate("  highest split, AUC", max(found), ""),
        Gate("  base rate, AUC", auc(base, won), ""),
        Gate("task left out, mean Brier of splits", mean([brier(seen.alma, won) for seen in splits]), ""),
        Gate("  base rate, Brier", brier(base, won), ""),
    ]


def _leak_figures(shuffled: Sequence[Predictions]) -> list[Gate]:
    level = mean([auc(seen.alma, seen.outcomes) for seen in shuffled])
    low, high = NO_LEAK
    return [
        Gate("outcomes shuffled, mean AUC", level, "", limit=high),
        Gate("outcomes shuffled, mean AUC (not below)", level, "", limit=low, more_is_better=True),
        Gate("  plain pooled Beta, mean AUC", mean([auc(seen.pooled, seen.outcomes) for seen in shuffled]), ""),
    ]


def _intervals(
    known: Predictions, reworded: Predictions, splits: Sequence[Predictions], seed: int
) -> dict[str, tuple[float, float]]:
    parts = {"same task known": [known], "same task in other words": [reworded], "task left out, mean of splits": splits}
    return {what: found for name, seen in parts.items() for what, found in _intervals_of(name, seen, seed).items()} | {
        "same task known, AUC less that of the plain pooled Beta": interval(
            known.tasks, lambda at: auc(known.alma[at], known.outcomes[at]) - auc(known.pooled[at], known.outcomes[at]), seed=seed
        )
    }


def _intervals_of(name: str, splits: Sequence[Predictions], seed: int) -> dict[str, tuple[float, float]]:
    """Of predictions of the same trials, one for each split: of the means, and of how far they are from the base rate's."""
    won, base = splits[0].outcomes, splits[0].base
    over = partial(interval, splits[0].tasks, seed=seed)

    def of(measure: Measure, at: Places) -> float:
        return mean([measure(seen.alma[at], won[at]) for seen in splits])

    return {
        f"{name}, AUC": over(lambda at: of(auc, at)),
        f"{name}, AUC less that of the base rate": over(lambda at: of(auc, at) - auc(base[at], won[at])),
        f"{name}, Brier": over(lambda at: of(brier, at)),
        f"{name}, Brier less that of the base rate": over(lambda at: of(brier, at) - brier(base[at], won[at])),
    }


def _trial(record: dict[str, Any]) -> Trial:
    opening = next(message["content"] for message in record["traj"] if message["role"] == "user")
    instruction = record["info"]["task"]["instruction"]
    if not (isinstance(opening, str) and isinstance(instruction, str)):
        raise TypeError("a task is no text")
    return Trial(str(record["task_id"]), int(record["trial"]), float(record["reward"]) > 0.5, instruction, opening)


def _with(trial: Trial, succeeded: bool) -> Trial:
    return Trial(trial.task, trial.number, succeeded, trial.instruction, trial.opening)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outcomes", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="tau-bench trials: JSON, JSON lines, or either gzipped")
    parser.add_argument("--embedder", default="minilm", help="name of an embedder (default: minilm)")
    parser.add_argument(
        "--folds", type=several, default=FOLDS, help=f"parts of the tasks that are kept unseen in turn (default: {FOLDS})"
    )
    parser.add_argument("--splits", type=positive, default=SPLITS, help=f"how often the tasks are split (default: {SPLITS})")
    parser.add_argument(
        "--shuffles", type=positive, default=SHUFFLES, help=f"how often outcomes are shuffled (default: {SHUFFLES})"
    )
    parser.add_argument("--seed", type=int, default=0, help="of shuffles and intervals (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
