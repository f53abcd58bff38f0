"""Whether `check` warns of what is known to fail, and of nothing else: `python -m benchmarks.checks [--longmemeval FILE] [--airline FILE]`.

One side of every labelled pair of strategies is stated as an anti-pattern, the other is the action about to be taken. An agent that knows this
pattern alone should be warned where the two say the same, and not where they do not. Another agent knows the patterns of all pairs; what it is
warned of beside the pair's own is counted apart: nobody labelled that, and much of it is right. It is the one that is asked about benign actions.

Benign actions have nothing to do with any of the patterns: what users said in LongMemEval, what customers of an airline asked for, and the tools
that its agent then called. But one pattern is to cancel the reservation, and where that is warned of, it was asked for. The time of a check
is that of `--memories` outcomes beside the anti-patterns, and of as many anti-patterns, with the vector of the action at hand; of the latter only
the processor time has a limit, for nobody has so many.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import mean, percentile
from benchmarks.outcomes import read_trials
from benchmarks.records import DataError, read_records
from benchmarks.screen import wide_console
from benchmarks.strategy_pairs import DATA, SPLITS
from benchmarks.subject import AGENT, PROJECT, AlmaSubject
from benchmarks.texts import RealTexts

if TYPE_CHECKING:
    from alma import ALMA

MEMORIES = 10_000
BENIGN = 1_000
ROUNDS = 20
TIMED_ACTIONS = 25
LIMIT_MS = 5.0
WHY_BAD = "it failed before"
ASKED_FOR = "Cancel the reservation"


@dataclass(frozen=True, slots=True)
class Pair:
    """A pattern that is known to fail, an action, and whether that is the same in other words; `kind` is how they differ."""

    pattern: str
    action: str
    is_same: bool
    split: str
    kind: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether an action was warned of the pattern of its pair, and the patterns of other pairs that it was warned of."""

    pair: Pair
    is_warned: bool
    others: Sequence[str]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        pairs = read_pairs(options.data)
        benign = benign_actions(options.longmemeval, options.airline, options.benign)
        with tempfile.TemporaryDirectory(prefix="checks-") as folder, Progress(console=console) as progress:
            answers, alarms = judged(pairs, benign, Path(folder) / "pairs", options.embedder, progress)
            times = timed(options.longmemeval, pairs, options.memories, Path(folder), progress) if options.longmemeval else []
    except DataError as error:
        sys.exit(str(error))
    show_alarms(console, answers, alarms)
    result = [*figures(answers), *benign_figures(benign, alarms), *times]
    gates.show(console, result, f"Checking actions against {len(patterns(pairs))} anti-patterns, embedder {options.embedder}")
    if options.json:
        about: dict[str, Any] = {"data": options.data.name, "embedder": options.embedder, "memories": options.memories}
        others = {answer.pair.action: answer.others for answer in answers if answer.others}
        gates.write_json(options.json, result, **about, alarms=alarms, others=others, false_by_kind=false_by_kind(answers))
    gates.enforce(result)


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of strategies in a file. `DataError` if they are no labelled pairs."""
    try:
        return [
            Pair(record["a"], record["b"], record["same"], record["split"], record["kind"])
            for record in read_records(path)
            if record["of"] == "strategy"
        ]
    except KeyError as error:
        raise DataError(f"{path}: a pair has no {error}") from error


def benign_actions(longmemeval: Path | None, airline: Path | None, most: int) -> dict[str, list[str]]:
    """Actions that have nothing to do with any pattern, by where they come from. `DataError` if a file is something else."""
    result = {}
    if longmemeval:
        result["LongMemEval, what users said"] = [task.task for task in RealTexts(longmemeval).tasks(most)]
    if airline:
        opened = [trial.opening for trial in read_trials(airline)]
        result["airline, what customers asked"] = list(dict.fromkeys(opened))[:most]
        result["airline, tools called"] = list(dict.fromkeys(_tools_called(airline)))[:most]
    return result


def judged(
    pairs: Sequence[Pair], benign: dict[str, list[str]], folder: Path, embedder: str, progress: Progress
) -> tuple[list[Answer], dict[str, list[tuple[str, str]]]]:
    """What `check` says of the actions of the pairs; and of benign ones the false alarms, with what was warned of."""
    from alma import ALMA, AntiPattern

    with ALMA.open(folder, project_id=PROJECT, embedding_provider=embedder) as alma:
        alma.add_many([AntiPattern(agent=AGENT, pattern=pattern, why_bad=WHY_BAD) for pattern in patterns(pairs)])
        alma.add_many(
            [AntiPattern(agent=f"pair-{number}", pattern=pair.pattern, why_bad=WHY_BAD) for number, pair in enumerate(pairs)]
        )
        tracked = progress.track(pairs, description="Pairs")
        answers = [_answer(alma, pair, f"pair-{number}") for number, pair in enumerate(tracked)]
        alarms = {
            kind: [
                (action, warned[0]) for action in progress.track(actions, description=kind) if (warned := _warned(alma, action))
            ]
            for kind, actions in benign.items()
        }
    return answers, alarms


def patterns(pairs: Sequence[Pair]) -> list[str]:
    """What is known to fail, each once."""
    return list(dict.fromkeys(pair.pattern for pair in pairs))


def figures(answers: Sequence[Answer]) -> list[Gate]:
    """Of each split: how often the warning came where it should, where it should not, and what came beside it."""
    result = []
    for split, name in SPLITS.items():
        same = [answer.is_warned for answer in answers if answer.pair.split == split and answer.pair.is_same]
        different = [answer.is_warned for answer in answers if answer.pair.split == split and not answer.pair.is_same]
        others = [bool(answer.others) for answer in answers if answer.pair.split == split]
        result += [
            Gate(f"warned, of {len(same)} same in other words, {name}", mean(same), "", more_is_better=True),
            Gate(f"  false alarms, of {len(different)} that only look alike, {name}", mean(different), ""),
            Gate(f"  warned of another pair's pattern, of {len(others)}, {name}", mean(others), ""),
        ]
    return result


def false_by_kind(answers: Sequence[Answer]) -> dict[str, tuple[int, int]]:
    """Of each kind of pair that only looks alike: the false alarms, and the pairs."""
    different = sorted((answer for answer in answers if not answer.pair.is_same), key=_kind)
    grouped = ((kind, list(group)) for kind, group in groupby(different, key=_kind))
    return {kind: (sum(answer.is_warned for answer in members), len(members)) for kind, members in grouped}


def benign_figures(benign: dict[str, list[str]], alarms: dict[str, list[tuple[str, str]]]) -> list[Gate]:
    """The share of benign actions that were warned of anything but what was asked for."""
    return [
        Gate(
            f"false alarms, of {len(actions)}: {kind}",
            sum(pattern != ASKED_FOR for _, pattern in alarms[kind]) / len(actions),
            "",
        )
        for kind, actions in benign.items()
    ]


def timed(path: Path, pairs: Sequence[Pair], memories: int, folder: Path, progress: Progress) -> list[Gate]:
    """How long a check takes in a store of outcomes and in one of anti-patterns, vectors hashed and at hand. `DataError` without texts enough."""
    from alma import AntiPattern

    texts = RealTexts(path)
    result = []
    for name in (f"{memories:,} outcomes", f"{memories:,} anti-patterns"):
        subject = AlmaSubject(folder / name)
        task = progress.add_task(f"Storing {name}", total=memories)
        subject.alma.add_many([AntiPattern(agent=AGENT, pattern=pattern, why_bad=WHY_BAD) for pattern in patterns(pairs)])
        if "outcomes" in name:
            subject.fill(texts.tasks(memories), partial(progress.advance, task))
        else:
            stated = [AntiPattern(agent=AGENT, pattern=item.task, why_bad=WHY_BAD) for item in texts.tasks(memories)]
            subject.alma.add_many(stated)
            progress.advance(task, memories)
        result += _times(subject.alma, [pair.action for pair in pairs[:TIMED_ACTIONS]], name)
        subject.close()
    return result


def show_alarms(console: Console, answers: Sequence[Answer], alarms: dict[str, list[tuple[str, str]]]) -> None:
    """Prints the false alarms, a line each, and how many there are of each kind."""
    for answer in answers:
        if answer.is_warned and not answer.pair.is_same:
            _say(console, f"false alarm: {answer.pair.action!r} for {answer.pair.pattern!r}")
    for kind, found in alarms.items():
        for action, pattern in found:
            told = "asked for" if pattern == ASKED_FOR else "false alarm"
            _say(console, f"{told}, {kind}: {action[:80]!r} for {pattern!r}")
    by_kind = (f"{false} of {pairs} {kind}" for kind, (false, pairs) in false_by_kind(answers).items())
    _say(console, f"false alarms by what differs: {', '.join(by_kind)}")


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _kind(answer: Answer) -> str:
    return answer.pair.kind


def _answer(alma: "ALMA", pair: Pair, agent: str) -> Answer:
    others = [pattern for pattern in _warned(alma, pair.action) if pattern != pair.pattern]
    return Answer(pair, bool(_warned(alma, pair.action, agent)), others)


def _warned(alma: "ALMA", action: str, agent: str = AGENT) -> list[str]:
    return [warning.anti_pattern.pattern for warning in alma.check(agent=agent, action=action).warnings]


def _times(alma: "ALMA", actions: Sequence[str], name: str) -> list[Gate]:
    """The first round is not counted: it makes the vectors and loads the index."""
    wall, own = list[float](), list[float]()
    for number in range(1 + ROUNDS):
        for action in actions:
            start, start_own = perf_counter(), thread_time()
            alma.check(agent=AGENT, action=action)
            if number:
                wall.append(1e3 * (perf_counter() - start))
                own.append(1e3 * (thread_time() - start_own))
    return [
        Gate(f"check p50, {name}", percentile(wall, 0.5), "ms", limit=LIMIT_MS if "outcomes" in name else None),
        Gate("  p95", percentile(wall, 0.95), "ms"),
        Gate("  p50 of its own processor time", percentile(own, 0.5), "ms", limit=LIMIT_MS),
    ]


def _tools_called(path: Path) -> Iterator[str]:
    try:
        for record in read_records(path):
            for message in record["traj"]:
                for call in message.get("tool_calls") or ():
                    given = json.loads(call["function"]["arguments"])
                    yield f"{call['function']['name']} {' '.join(str(value) for value in given.values())}"[:300].strip()
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: a tool call is none: {type(error).__name__} {error}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checks", description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=DATA, help="labelled pairs as JSON lines (default: those beside this benchmark)"
    )
    parser.add_argument("--longmemeval", type=Path, help="a LongMemEval file, for benign actions and for the times")
    parser.add_argument("--airline", type=Path, help="a file of tau-bench trials, for benign actions")
    parser.add_argument(
        "--benign", type=positive, default=BENIGN, help=f"benign actions of each sort at most (default: {BENIGN})"
    )
    parser.add_argument("--memories", type=positive, default=MEMORIES, help=f"where times are taken (default: {MEMORIES})")
    parser.add_argument("--embedder", default="minilm", help="name of an embedder for all but the times (default: minilm)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
