"""How precise warnings of `get_proactive_suggestions` are: `python -m benchmarks.suggestions --data FILE`, a file of tau-bench trials.

Every run becomes an episode: its tool calls are steps, and its reward is the verdict. Round by round, each run of a task is asked about
before it is learned, by what the user said first; the first round is only learned. A run counts as warned where a warning reaches the
threshold, and the warning was right if the run failed. In two ways: the task's own earlier runs are known, or an agent for each part of
the tasks has learned those of all other parts (as many parts as tasks leave one task out).

The threshold is chosen on every second task, by the best lower bound of precision less base rate among thresholds that warn of at least
a tenth of the runs. The other tasks judge it. Intervals are over tasks drawn again. The control gives the warnings to other runs of the
same round at random. Silence is a result, too: without a warning there is no precision.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.progress import Progress

from benchmarks import gates
from benchmarks.arguments import several
from benchmarks.gates import Gate
from benchmarks.measures import mean
from benchmarks.predictions import Numbers, interval
from benchmarks.records import DataError, read_records
from benchmarks.screen import wide_console

if TYPE_CHECKING:
    from alma import ALMA

THRESHOLDS = tuple(round(0.3 + 0.05 * step, 2) for step in range(13))
"""0.30 to 0.90."""
LEAST_WARNED = 0.1
SHUFFLES = 1000


@dataclass(frozen=True, slots=True)
class Attempt:
    """A run: its task, its round, what the user said first, its calls as (name, arguments, result), its last answer, and its end."""

    task: str
    number: int
    opening: str
    calls: tuple[tuple[str, str, str], ...]
    answer: str
    has_failed: bool


@dataclass(frozen=True, slots=True)
class Warned:
    """The strongest warning before each run, 0 for none."""

    attempts: Sequence[Attempt]
    scores: Numbers

    @property
    def failed(self) -> Numbers:
        return np.array([attempt.has_failed for attempt in self.attempts], float)

    def part(self, tasks: frozenset[str]) -> "Warned":
        places = [place for place, attempt in enumerate(self.attempts) if attempt.task in tasks]
        return Warned([self.attempts[place] for place in places], self.scores[places])

    def lift(self, threshold: float) -> float:
        """The precision of warnings less the base rate; nan without a warning."""
        return _lift(self.failed, self.scores >= threshold)

    def lift_interval(self, threshold: float, seed: int) -> tuple[float, float]:
        failed, warned = self.failed, self.scores >= threshold
        if not warned.any():
            return math.nan, math.nan
        tasks = [attempt.task for attempt in self.attempts]
        return interval(tasks, lambda at: _lift(failed[at], warned[at]), seed=seed)

    def shuffled(self, threshold: float, seed: int) -> float:
        """The mean lift where the scores of each round are dealt to its runs at random."""
        chance, rounds = np.random.default_rng(seed), np.array([attempt.number for attempt in self.attempts])
        lifts = []
        for _ in range(SHUFFLES):
            dealt = self.scores.copy()
            for number in set(rounds.tolist()):
                places = np.flatnonzero(rounds == number)
                dealt[places] = dealt[chance.permutation(places)]
            lifts.append(_lift(self.failed, dealt >= threshold))
        return mean(lifts)


def _lift(failed: Numbers, warned: Any) -> float:
    return float(failed[warned].mean() - failed.mean()) if warned.any() else math.nan


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        attempts = read_attempts(options.data)
    except DataError as error:
        sys.exit(str(error))
    with tempfile.TemporaryDirectory(prefix="suggestions-") as folder, Progress(console=console) as progress:
        known, unknown = measure(attempts, Path(folder), options, progress)
    result, intervals = figures(known, unknown, options.seed)
    gates.show(console, result, f"{len(attempts)} runs in {options.data.name}, embedder {options.embedder}")
    for what, (low, high) in intervals.items():
        console.print(f"{what}: {low:+.3f} to {high:+.3f} (95 %, bootstrap over tasks)", highlight=False)
    if options.json:
        about: dict[str, Any] = {"data": options.data.name, "embedder": options.embedder, "seed": options.seed}
        gates.write_json(options.json, result, **about, folds=options.folds, intervals=intervals)
    gates.enforce(result)


def read_attempts(path: Path) -> list[Attempt]:
    """The runs of a file, in rounds. `DataError` if it holds something else, or one round only."""
    try:
        attempts = [_attempt(record) for record in read_records(path)]
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise DataError(f"{path} holds no tau-bench trials: {type(error).__name__} {error}") from error
    if len({attempt.number for attempt in attempts}) < 2:
        raise DataError(f"{path} holds one trial of each task; there is nothing to warn of")
    return sorted(attempts, key=lambda attempt: attempt.number)


def measure(attempts: Sequence[Attempt], folder: Path, options: argparse.Namespace, progress: Progress) -> tuple[Warned, Warned]:
    """The warnings with the task known, and with it left out."""
    from alma import ALMA

    with ALMA.open(folder, project_id="airline", embedding_provider=options.embedder) as alma:
        tasks = list(dict.fromkeys(attempt.task for attempt in attempts))
        parts = {task: f"without-{place % options.folds}" for place, task in enumerate(tasks)}
        known = _asked(alma, attempts, dict.fromkeys(tasks, "all"), progress, is_own_known=True)
        return known, _asked(alma, attempts, parts, progress, is_own_known=False)


def _asked(
    alma: "ALMA", attempts: Sequence[Attempt], agents: dict[str, str], progress: Progress, *, is_own_known: bool
) -> Warned:
    asked: list[Attempt] = []
    scores: list[float] = []
    rounds = sorted({attempt.number for attempt in attempts})
    for number in progress.track(rounds, description="own task known" if is_own_known else "own task left out"):
        now = [attempt for attempt in attempts if attempt.number == number]
        if number != rounds[0]:
            asked += now
            scores += [_warning(alma, attempt, agents[attempt.task]) for attempt in now]
        if number == rounds[-1]:
            break
        for agent in sorted(set(agents.values())):
            learn(alma, [attempt for attempt in now if (agents[attempt.task] == agent) is is_own_known], agent)
    return Warned(asked, np.array(scores))


def _warning(alma: "ALMA", attempt: Attempt, agent: str) -> float:
    found = alma.get_proactive_suggestions(attempt.opening, agent, threshold=0.0, limit=100)
    return max((one.score for one in found if one.kind == "warning"), default=0.0)


def learn(alma: "ALMA", attempts: Sequence[Attempt], agent: str) -> None:
    """Records runs as an adapter does: a step for each call, and the reward as the verdict."""
    from alma.integration import Integration, Verdict, VerdictSource, tool_use

    integration = Integration(alma, agent=agent)
    for attempt in attempts:
        run = integration.run(attempt.opening)
        for name, given, result in attempt.calls:
            run.tool_returned(tool_use(name, given, task=run.task), result)
        verdict = Verdict.FAILURE if attempt.has_failed else Verdict.SUCCESS
        run.end(attempt.answer, verdict=verdict, source=VerdictSource.TOOL)


def chosen(warned: Warned, seed: int) -> float:
    """The threshold with the best lower bound of the lift, among those that warn often enough."""
    often = [one for one in THRESHOLDS if (warned.scores >= one).mean() >= LEAST_WARNED]
    return max(often, key=lambda one: (warned.lift_interval(one, seed)[0], one), default=THRESHOLDS[-1])


def figures(known: Warned, unknown: Warned, seed: int) -> tuple[list[Gate], dict[str, tuple[float, float]]]:
    """The figures by threshold, of the chosen threshold on the other half, and the intervals of the lifts."""
    tasks = sorted({attempt.task for attempt in known.attempts})
    first, second = frozenset(tasks[::2]), frozenset(tasks[1::2])
    result, intervals = [Gate("base rate of failures", float(known.failed.mean()), "")], {}
    for name, warned in (("own task known", known), ("own task left out", unknown)):
        for threshold in THRESHOLDS:
            result += _at(f"{name}, threshold {threshold}", warned, threshold)
            intervals[f"{name}, threshold {threshold}, lift"] = warned.lift_interval(threshold, seed)
        best, judging = chosen(warned.part(first), seed), warned.part(second)
        result.append(Gate(f"{name}, threshold chosen on half of the tasks", best, ""))
        result += _at(f"{name}, on the other half", judging, best)
        result.append(Gate(f"{name}, on the other half, shuffled lift", judging.shuffled(best, seed), ""))
        intervals[f"{name}, on the other half, lift"] = judging.lift_interval(best, seed)
    return result, intervals


def _at(what: str, warned: Warned, threshold: float) -> list[Gate]:
    is_warned = warned.scores >= threshold
    precision = float(warned.failed[is_warned].mean()) if is_warned.any() else math.nan
    return [Gate(f"{what}, warned", float(is_warned.mean()), ""), Gate(f"{what}, precision", precision, "")]


def _attempt(record: dict[str, Any]) -> Attempt:
    messages = record["traj"]
    opening = next(message["content"] for message in messages if message["role"] == "user")
    if not isinstance(opening, str):
        raise TypeError("a user said no text")
    said = [message["content"] for message in messages if message["role"] == "assistant" and message.get("content")]
    calls: dict[str, tuple[str, str]] = {}
    made = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            given = call["function"]["arguments"]
            calls[call["id"]] = call["function"]["name"], given if isinstance(given, str) else json.dumps(given)
        if message["role"] == "tool":
            name, given = calls.get(message.get("tool_call_id", ""), (message["name"], "{}"))
            made.append((name, given, str(message["content"])))
    failed = float(record["reward"]) <= 0.5
    return Attempt(str(record["task_id"]), int(record["trial"]), opening, tuple(made), said[-1] if said else "", failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suggestions", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="tau-bench trials: JSON, JSON lines, or either gzipped")
    parser.add_argument("--embedder", default="minilm", help="name of an embedder (default: minilm)")
    parser.add_argument("--folds", type=several, default=25, help="parts of the tasks that are left out in turn (default: 25)")
    parser.add_argument("--seed", type=int, default=0, help="of shuffles and intervals (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
