"""Whether `check` warns of what is known to fail, and of nothing else: `python -m benchmarks.checks [--longmemeval FILE] [--airline FILE]`.

A pair is a pattern that is stated as an anti-pattern, an action about to be taken, and whether the one should warn of the other. Pairs are judged by
`alma_learning.is_warned_of` and the cosine of their vectors, as `check` judges what it finds in a store. Rules and limits were tuned on
`data/check_tuning.jsonl`; `check_held_out.jsonl` was written before, too, in other verbs, tools and phrasing, and is spent. The blind sets
(`check_judging*.jsonl`) were written later, each by somebody who did not know the rules; of these only the totals by kind were looked at. What other
patterns of a set warn of an action is counted apart: nobody labelled that, and most of it is right.

The labelled pairs of strategies (`data/strategy_pairs.jsonl`) are asked in the same way. Of those that only look alike the narrower ones are left
out: who is warned of "use Redis" should be warned of "use Redis as a message queue".

Benign actions have nothing to do with any of the patterns: what users said in LongMemEval, what customers of an airline asked for, and the tools
that its agent then called. But some patterns name one of these tools, one is to cancel the reservation, and where these are warned of, it was asked
for.

With a task, a warning that was learned is to come where it was learned from like tasks: tasks of twelve intents (`data/check_tasks.jsonl`), an action
that failed twice for each of two tasks of an intent, asked about for the other tasks of that intent and for those of the other intents.

The time of a check is that of a store with `--memories` outcomes beside the anti-patterns, and with as many anti-patterns, with the vector of the
action at hand; of the latter only the processor time has a limit, for nobody has so many.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, groupby, islice
from pathlib import Path
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from alma_learning import Question, Side, is_warned_of, words_of_code
from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import mean, percentile
from benchmarks.outcomes import read_trials
from benchmarks.records import DataError, read_records
from benchmarks.screen import wide_console
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.strategy_pairs import DATA as STRATEGIES
from benchmarks.subject import AGENT, AlmaSubject
from benchmarks.texts import RealTexts
from benchmarks.trials import fold, make_trial

if TYPE_CHECKING:
    from alma import ALMA

FOLDER = Path(__file__).with_name("data")
TUNING, HELD_OUT, TASKS = FOLDER / "check_tuning.jsonl", FOLDER / "check_held_out.jsonl", FOLDER / "check_tasks.jsonl"
BLIND = tuple(FOLDER / f"check_judging{number}.jsonl" for number in ("", "_2", "_3", "_4"))
TUNED_ON, ALL_BLIND = "tuned on", "all blind sets"
SETS = (TUNED_ON, "held out", ALL_BLIND, "strategies, tuned on", "strategies, held out")
LEAST_WARNED, MOST_FALSE, MOST_FALSE_BENIGN = 0.55, 0.12, 0.03
NARROWER = "narrower"
MEMORIES = 10_000
BENIGN = 1_000
ROUNDS = 20
TIMED_ACTIONS = 25
FOUNDINGS = 5
"""How many pairs of tasks of each intent a strategy fails for."""
LIMIT_MS = 5.0
LEAST_COSINE = 0.4
WHY_BAD = "it failed before"
ASKED_FOR = "Cancel the reservation"
FAILING = "Do all of it by hand"

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Pair:
    """A pattern that is known to fail, an action, and whether it should be warned of; `of` names the set, `kind` is how the two differ."""

    pattern: str
    action: str
    should_warn: bool
    of: str
    kind: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether an action was warned of the pattern of its pair, and the patterns of other pairs that it was warned of."""

    pair: Pair
    is_warned: bool
    others: Sequence[str]


@dataclass(frozen=True, slots=True)
class Task:
    """A task and what is wanted of it."""

    split: str
    intent: str
    text: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        pairs = [
            *read_pairs(options.tuning, TUNED_ON),
            *read_pairs(options.held_out, SETS[1]),
            *read_strategies(options.strategies),
        ]
        pairs += read_blind(options.blind, pairs)
        tasks = read_tasks(options.tasks)
        benign = benign_actions(options.longmemeval, options.airline, options.benign)
        with tempfile.TemporaryDirectory(prefix="checks-") as folder, Progress(console=console) as progress:
            embedder = CachedEmbedder(options.embedder)
            answers, alarms = judged(pairs, benign, embedder, progress)
            learned = task_figures(tasks, embedder, progress)
            times = timed(options.longmemeval, pairs, options.memories, Path(folder), progress) if options.longmemeval else []
    except DataError as error:
        sys.exit(str(error))
    show_wrong(console, answers, alarms, is_all=options.show_held_out)
    result = [*figures(answers), *benign_figures(benign, alarms), *learned, *times]
    gates.show(console, result, f"Checking actions against {len(patterns(pairs))} anti-patterns, embedder {options.embedder}")
    if options.json:
        about: dict[str, Any] = {"embedder": options.embedder, "memories": options.memories}
        others = {answer.pair.action: answer.others for answer in answers if answer.others}
        gates.write_json(options.json, result, **about, alarms=alarms, others=others, by_kind=by_kind(answers))
    gates.enforce(result)


def read_pairs(path: Path, of: str) -> list[Pair]:
    """The labelled pairs of a file. `DataError` if they are none."""
    try:
        return [Pair(one["pattern"], one["action"], one["warn"], of, one["kind"]) for one in read_records(path)]
    except KeyError as error:
        raise DataError(f"{path}: a pair has no {error}") from error


def read_blind(paths: Sequence[Path], others: Sequence[Pair]) -> list[Pair]:
    """The pairs of blind sets that are in no other set."""
    known = {(pair.pattern, pair.action) for pair in others}
    return [pair for path in paths for pair in read_pairs(path, ALL_BLIND) if (pair.pattern, pair.action) not in known]


def read_strategies(path: Path) -> list[Pair]:
    """The pairs of strategies in a file, the first one as the pattern. `DataError` if they are no labelled pairs."""
    named = {"dev": SETS[3], "held_out": SETS[4]}
    try:
        pairs = [
            Pair(one["a"], one["b"], one["same"], named[one["split"]], one["kind"])
            for one in read_records(path)
            if one["of"] == "strategy"
        ]
    except KeyError as error:
        raise DataError(f"{path}: a pair has no {error}") from error
    return [pair for pair in pairs if pair.kind != NARROWER]


def read_tasks(path: Path) -> list[Task]:
    """Tasks with what is wanted of them. `DataError` if they are none."""
    try:
        return [Task(one["split"], one["intent"], one["task"]) for one in read_records(path)]
    except KeyError as error:
        raise DataError(f"{path}: a task has no {error}") from error


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
    pairs: Sequence[Pair], benign: dict[str, list[str]], embedder: CachedEmbedder, progress: Progress
) -> tuple[list[Answer], dict[str, list[tuple[str, str]]]]:
    """What is said of the actions of the pairs; and of benign ones the false alarms, with what was warned of."""
    known = patterns(pairs)
    judge = Judge(known, embedder)
    warned = judge.warned([pair.action for pair in progress.track(pairs, description="Pairs")])
    answers = [
        Answer(pair, pair.pattern in found, [pattern for pattern in found if pattern != pair.pattern])
        for pair, found in zip(pairs, warned, strict=True)
    ]
    alarms = {
        kind: [
            (action, found[0])
            for action, found in zip(actions, judge.warned(progress.track(actions, description=kind)), strict=True)
            if found
        ]
        for kind, actions in benign.items()
    }
    return answers, alarms


class Judge:
    """Patterns with their vectors. Below `LEAST_COSINE` a pattern is looked at only where it has a word of the code in an action, as in `check`."""

    def __init__(self, known: Sequence[str], embedder: CachedEmbedder) -> None:
        self._known, self._embedder = known, embedder
        self._vectors = embedder.embed(known)
        self._words = [set(_WORD.findall(pattern.lower())) for pattern in known]
        self._says = embedder.fingerprint.model != "hash"

    def warned(self, actions: Iterable[str]) -> list[list[str]]:
        """Returns the patterns that each action is warned of, the nearest first."""
        return [self._of(action) for action in actions]

    def _of(self, action: str) -> list[str]:
        cosines = self._vectors @ self._embedder.embed([action])[0]
        code = set(words_of_code(action))
        return [
            self._known[place]
            for place in np.argsort(-cosines, kind="stable").tolist()
            if (cosines[place] >= LEAST_COSINE or not code.isdisjoint(self._words[place]))
            and is_warned_of(self._known[place], action, float(cosines[place]) if self._says else None)
        ]


def patterns(pairs: Sequence[Pair]) -> list[str]:
    """What is known to fail, each once."""
    return list(dict.fromkeys(pair.pattern for pair in pairs))


def figures(answers: Sequence[Answer]) -> list[Gate]:
    """Of each set: how often the warning came where it should, how often it was right, where it should not have come, and what came beside it."""
    result = []
    for of in SETS:
        wanted = [answer.is_warned for answer in answers if answer.pair.of == of and answer.pair.should_warn]
        unwanted = [answer.is_warned for answer in answers if answer.pair.of == of and not answer.pair.should_warn]
        others = [bool(answer.others) for answer in answers if answer.pair.of == of]
        least, most = (LEAST_WARNED, MOST_FALSE) if of == ALL_BLIND else (None, None)
        if wanted and unwanted:
            result += [
                Gate(f"warned, of {len(wanted)} that should be, {of}", mean(wanted), "", limit=least, more_is_better=True),
                Gate(f"  false alarms, of {len(unwanted)}, {of}", mean(unwanted), "", limit=most),
                Gate(f"  precision, {of}", sum(wanted) / max(sum(wanted) + sum(unwanted), 1), "", more_is_better=True),
                Gate(f"  warned of another pair's pattern, of {len(others)}, {of}", mean(others), ""),
            ]
    return result


def by_kind(answers: Sequence[Answer]) -> dict[str, dict[str, tuple[int, int]]]:
    """Of each set and kind of pair: how many were warned of, and how many there are."""
    ordered = sorted(answers, key=_kind)
    counted: dict[str, dict[str, tuple[int, int]]] = {of: {} for of in SETS}
    for (of, should_warn, kind), group in groupby(ordered, key=_kind):
        members = list(group)
        name = f"{kind}, {'should warn' if should_warn else 'should not'}"
        counted[of][name] = (sum(answer.is_warned for answer in members), len(members))
    return counted


def task_figures(tasks: Sequence[Task], embedder: CachedEmbedder, progress: Progress) -> list[Gate]:
    """Of each half of the intents: how often what failed for two tasks is warned of for others of the same intent, and for those of other intents."""
    result = []
    for split in dict.fromkeys(task.split for task in tasks):
        members = [task for task in tasks if task.split == split]
        warned = asked_for_tasks(members, embedder, progress)
        own, foreign = ([is_warned for is_own, is_warned in warned if is_own is wanted] for wanted in (True, False))
        name = split.replace("_", " ")
        result += [
            Gate(f"learned, warned of for {len(own)} tasks of the same intent, {name}", mean(own), "", more_is_better=True),
            Gate(f"  and for {len(foreign)} tasks of other intents, {name}", mean(foreign), ""),
        ]
    return result


def asked_for_tasks(tasks: Sequence[Task], embedder: CachedEmbedder, progress: Progress) -> list[tuple[bool, bool]]:
    """Of what failed for two tasks, and each other task: whether it is of the same intent, and whether it is warned of."""
    intents = [[task for task in tasks if task.intent == intent] for intent in dict.fromkeys(task.intent for task in tasks)]
    foundings = [founding for members in intents for founding in islice(combinations(members, 2), FOUNDINGS)]
    warned = []
    for founding in progress.track(foundings, description="Tasks"):
        trials = (make_trial(number, task.text, FAILING, 0.0) for number, task in enumerate((*founding, *founding)))
        learned = fold(embedder.embed, trials)
        for task in tasks:
            if task not in founding:
                found = learned.find(FAILING, Question(task.text))
                is_warned = found is not None and not found.is_elsewhere and found.row.side is Side.FAILS
                warned.append((task.intent == founding[0].intent, is_warned))
    return warned


def benign_figures(benign: dict[str, list[str]], alarms: dict[str, list[tuple[str, str]]]) -> list[Gate]:
    """The share of benign actions that were warned of anything but what was asked for."""
    return [
        Gate(
            f"false alarms, of {len(actions)}: {kind}",
            sum(not _was_asked_for(*alarm) for alarm in alarms[kind]) / len(actions),
            "",
            limit=MOST_FALSE_BENIGN,
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


def show_wrong(console: Console, answers: Sequence[Answer], alarms: dict[str, list[tuple[str, str]]], *, is_all: bool) -> None:
    """Prints a line for each pair that was judged wrong, of those held out only if `is_all`, for each benign alarm, and for the kinds of each set."""
    for answer in answers:
        pair = answer.pair
        if answer.is_warned != pair.should_warn and (is_all or pair.of == TUNED_ON):
            _say(console, f"{'missed' if pair.should_warn else 'false alarm'}: {pair.action!r} for {pair.pattern!r}")
    for kind, found in alarms.items():
        for action, pattern in found:
            if not _was_asked_for(action, pattern):
                _say(console, f"false alarm, {kind}: {action[:80]!r} for {pattern!r}")
    for of, counted in by_kind(answers).items():
        if counted:
            _say(console, f"{of}: {', '.join(f'{warned} of {pairs} {kind}' for kind, (warned, pairs) in counted.items())}")


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _was_asked_for(action: str, pattern: str) -> bool:
    """Whether an alarm is right: the action calls a tool that the pattern names, or it is to cancel a reservation."""
    tool = action.split()[0]
    return pattern == ASKED_FOR or ("_" in tool and tool in pattern)


def _kind(answer: Answer) -> tuple[str, bool, str]:
    return answer.pair.of, answer.pair.should_warn, answer.pair.kind


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
    for name, path, what in (
        ("--tuning", TUNING, "pairs that were tuned on"),
        ("--held-out", HELD_OUT, "pairs that were not"),
        ("--strategies", STRATEGIES, "labelled pairs of strategies"),
        ("--tasks", TASKS, "tasks with what is wanted of them"),
    ):
        parser.add_argument(name, type=Path, default=path, help=f"{what}, as JSON lines (default: those beside this benchmark)")
    parser.add_argument(
        "--blind", type=Path, nargs="*", default=BLIND, help="pairs that nobody looked at (default: those beside this benchmark)"
    )
    parser.add_argument("--show-held-out", action="store_true", help="show which pairs that were not tuned on are judged wrong")
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
