"""How quick ALMA is, and beside it other memories in the same run: `python -m benchmarks.speed --data FILE [--peer PYTHON] [--beside NAME=PYTHON …]`.

Texts are real (LongMemEval turns cut to the length of a task; beyond their number, halves of two), vectors are hashed and the same for all, and
making them is not counted. `--peer` is the public reference; `--beside` is what does less: mem0 without its LLM, a bare collection of Chroma,
LangGraph's store on SQLite. None of these learns from outcomes: `learn` stores a text there.
Subjects take turns in small blocks, so that whatever else the machine does hits all of them alike. They learn, then they answer, then they do
both in turn as an agent does, where each call finds the processor's caches full of what the other one needed. Last come the other calls and small
readers beside the large one (`benchmarks.speed_calls`).
"""

import argparse
import gc
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from rich.progress import Progress

from benchmarks import gates, speed_calls, speed_picture
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.peer.client import Peer, PeerError
from benchmarks.peer.driver import SUBJECTS
from benchmarks.probe import disk, probe
from benchmarks.records import DataError
from benchmarks.screen import wide_console
from benchmarks.subject import AlmaSubject, Subject
from benchmarks.texts import RealTexts, Task

SIZES = (1_000, 10_000, 100_000)
PEER_SIZE = 10_000
ROUNDS = 20
BLOCK = 15
PEER = "reference"
REFERENCE = "alma-memory"
BARE_CHROMA = 5.0
"""`retrieve` at 100,000 memories has to be so many times as quick as a bare query of Chroma."""
PROBES = 40
FILLED_AT_ONCE = 1_000


@dataclass(slots=True)
class Times:
    """Milliseconds of each call that was measured on one subject: of one sort in a row, and of both in turn."""

    learn: list[float] = field(default_factory=list)
    retrieve: list[float] = field(default_factory=list)
    learn_between: list[float] = field(default_factory=list)
    retrieve_between: list[float] = field(default_factory=list)
    others: Mapping[str, Sequence[float]] = field(default_factory=dict)
    encodes: int = 0


@dataclass(frozen=True, slots=True)
class Filling:
    """How many memories were stored in bulk, in what time, with how much text."""

    count: int
    seconds: float
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, with which texts. `fresh` are tasks that no store holds yet."""

    sizes: Sequence[int]
    passages: int
    peer: Path | None
    beside: Mapping[str, Path]
    peer_size: int
    rounds: int
    block: int
    texts: RealTexts
    tasks: Sequence[Task]
    fresh: Sequence[Task]

    @property
    def queries(self) -> Iterator[str]:
        """Questions of people and tasks nobody has done yet, in turn, for ever."""
        questions = self.texts.questions
        number = 0
        while True:
            yield questions[number % len(questions)]
            yield self.fresh[number % len(self.fresh)].task
            number += 1


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    before = _load()
    try:
        plan = _plan(options)
        gc.collect()
        gc.freeze()  # the reference has no such heap of texts in its process, which a collection would have to walk through
        with tempfile.TemporaryDirectory(prefix="speed-", dir=options.dir) as folder, Progress(console=console) as progress:
            result = measure(plan, Path(folder), progress)
    except (DataError, PeerError) as error:
        sys.exit(str(error))
    machine = f"{_machine()}, load {before} before and {_load()} after"
    gates.show(console, result, f"Speed, embedding not counted; {machine}")
    if options.picture:
        options.picture.write_text(speed_picture.drawn(result, plan.sizes), encoding="utf-8")
    if options.json:
        gates.write_json(options.json, result, machine=machine, sizes=list(plan.sizes), rounds=plan.rounds, block=plan.block)
    gates.enforce(result)


def measure(plan: Plan, folder: Path, progress: Progress) -> list[Gate]:
    """Fills the stores, takes turns between them, then looks at each from a new process."""
    with ExitStack() as stack:
        stores = {size: AlmaSubject(_made(folder / f"alma-{size}")) for size in plan.sizes}
        for store in stores.values():
            stack.callback(store.close)
        fillings = {size: _filled(store, plan.tasks[:size], progress) for size, store in stores.items()}
        subjects: dict[str, Subject] = {str(size): store for size, store in stores.items()}
        if plan.peer:
            subjects[PEER] = _peer(REFERENCE, plan.peer, plan, folder, stack, progress)
        for name, python in plan.beside.items():
            subjects[name] = _peer(name, python, plan, folder, stack, progress)
        times = _take_turns(plan, subjects, progress)
        for size, others in _other_calls(plan, stores, progress).items():
            times[str(size)].others = others
        passages = _passages(plan, folder, progress) if plan.passages else []
    result = _task_gates(plan, times, fillings)
    for name in plan.beside:
        result += _beside_gates(name, plan.peer_size, times[name], times.get(str(plan.peer_size)))
    result += passages
    for size, filling in fillings.items():
        result += _seen_from_outside(stores[size].folder, size, filling.text_bytes + _bytes(plan.fresh), plan)
    return result


def _take_turns(plan: Plan, subjects: Mapping[str, Subject], progress: Progress) -> dict[str, Times]:
    """Every subject has a block of each sort of calls, round after round. The first answer of each is not counted: it loads an index."""
    times = {name: Times() for name in subjects}
    queries, tasks = plan.queries, iter(plan.fresh)
    for subject in subjects.values():
        subject.retrieve(plan.texts.questions[:5])
    for _ in progress.track(range(plan.rounds), description="learning"):
        learned = list(islice(tasks, plan.block))
        for name, subject in subjects.items():
            before = subject.encodes
            times[name].learn += subject.learn(learned)
            times[name].encodes += subject.encodes - before
    for _ in progress.track(range(plan.rounds), description="answering"):
        asked = list(islice(queries, plan.block))
        for name, subject in subjects.items():
            times[name].retrieve += subject.retrieve(asked)
    for _ in progress.track(range(plan.rounds), description="both in turn"):
        pairs = list(zip(islice(queries, plan.block), islice(tasks, plan.block), strict=True))
        for name, subject in subjects.items():
            for query, task in pairs:
                times[name].retrieve_between += subject.retrieve([query])
                times[name].learn_between += subject.learn([task])
    return times


def _other_calls(
    plan: Plan, stores: Mapping[int, AlmaSubject], progress: Progress
) -> Mapping[int, Mapping[str, Sequence[float]]]:
    """Every store makes all other calls for a few queries, round after round."""
    calls = {}
    for size, store in stores.items():
        speed_calls.fill_beside(store, plan.fresh)
        calls[size] = speed_calls.OtherCalls(store)
    pairs = zip(plan.queries, plan.fresh, strict=False)
    for _ in progress.track(range(plan.rounds), description="other calls"):
        asked = list(islice(pairs, plan.block // 2))
        for one in calls.values():
            one.make(asked)
    return {size: one.times for size, one in calls.items()}


def _task_gates(plan: Plan, times: Mapping[str, Times], fillings: Mapping[int, Filling]) -> list[Gate]:
    result = []
    peer = times.get(PEER)
    for size in plan.sizes:
        mine = times[str(size)]
        result += _retrieve_gates(size, mine, peer if size == plan.peer_size else None)
        result += _learn_gates(size, mine, peer if size == plan.peer_size else None)
        result += _between_gates(size, mine, peer if size == plan.peer_size else None)
        result += speed_calls.gates(size, mine.others)
        filling = fillings[size]
        result.append(
            Gate(f"learn_many, up to {size:,}", filling.count / filling.seconds, "/s", limit=3_000, more_is_better=True)
        )
    low, high = plan.sizes[0], plan.sizes[-1]
    if low < high:
        growth = percentile(times[str(high)].learn, 0.5) / percentile(times[str(low)].learn, 0.5)
        result.append(Gate(f"learn p50, {high:,} over {low:,}", growth, "×", limit=1.3))
    return result


def _retrieve_gates(size: int, mine: Times, peer: Times | None) -> list[Gate]:
    limits = {10_000: (3.0, None, 4.2, None), 100_000: (5.0, 15.0, 71.0, 116.0), 1_000_000: (60.0, 200.0, None, None)}
    middle, slow, usual_middle, usual_slow = limits.get(size, (None, None, None, None))
    return [
        Gate(
            f"retrieve {name}, {size:,} memories",
            percentile(mine.retrieve, share),
            "ms",
            limit=limit,
            reference=percentile(peer.retrieve, share) if peer else usual,
            is_same_run=peer is not None,
        )
        for name, share, limit, usual in (
            ("p50", 0.5, middle, usual_middle),
            ("p95", 0.95, slow, usual_slow),
            ("p99", 0.99, None, None),
        )
    ]


def _learn_gates(size: int, mine: Times, peer: Times | None) -> list[Gate]:
    result = [
        Gate(
            f"learn {name}, {size:,} memories",
            percentile(mine.learn, share),
            "ms",
            reference=percentile(peer.learn, share) if peer else None,
            is_same_run=peer is not None,
        )
        for name, share in (("p50", 0.5), ("p95", 0.95))
    ]
    rate, theirs = _rate(mine.learn), _rate(peer.learn) if peer else None
    result.append(
        Gate(f"learn, {size:,} memories", rate, "/s", reference=theirs, is_same_run=peer is not None, more_is_better=True)
    )
    if theirs:
        result.append(Gate(f"learn against the reference, {size:,} memories", rate / theirs, "×", limit=3.0, more_is_better=True))
    result.append(
        Gate(
            f"calls of the embedder a learn, {size:,} memories",
            mine.encodes / len(mine.learn),
            "",
            limit=1.0,
            reference=peer.encodes / len(peer.learn) if peer else None,
            is_same_run=peer is not None,
        )
    )
    return result


def _between_gates(size: int, mine: Times, peer: Times | None) -> list[Gate]:
    return [
        Gate(
            f"{name} p50, both in turn, {size:,} memories",
            percentile(ours, 0.5),
            "ms",
            reference=percentile(theirs, 0.5) if theirs else None,
            is_same_run=theirs is not None,
        )
        for name, ours, theirs in (
            ("retrieve", mine.retrieve_between, peer.retrieve_between if peer else None),
            ("learn", mine.learn_between, peer.learn_between if peer else None),
        )
    ]


def _beside_gates(name: str, size: int, theirs: Times, ours: Times | None) -> Iterator[Gate]:
    """What another memory took, and over how much ALMA did, where it holds as many."""
    for call, limit in (("retrieve", BARE_CHROMA if name == "chroma" and size == 100_000 else None), ("learn", None)):
        for share, what in ((0.5, "p50"), (0.95, "p95")):
            yield Gate(f"{call} {what}, {name}, {size:,} memories", percentile(getattr(theirs, call), share), "ms")
        if ours:
            ratio = percentile(getattr(theirs, call), 0.5) / percentile(getattr(ours, call), 0.5)
            yield Gate(f"{call} p50, {name} over ALMA, {size:,} memories", ratio, "×", limit=limit, more_is_better=True)


def _passages(plan: Plan, folder: Path, progress: Progress) -> list[Gate]:
    """A store of facts, each one passage of up to 600 characters."""
    texts = plan.texts.passages(plan.passages)
    store = AlmaSubject(_made(folder / "alma-passages"))
    try:
        task = progress.add_task(f"{len(texts):,} passages", total=len(texts))
        seconds = store.fill_facts(texts, lambda count: progress.advance(task, count))
        store.retrieve(plan.texts.questions[:5])
        queries = plan.queries
        times = store.retrieve([next(queries) for _ in range(plan.rounds * plan.block)])
    finally:
        store.close()
    name = f"{len(texts):,} passages of {sum(map(len, texts)) // len(texts)} characters"
    return [
        Gate(f"retrieve p50, {name}", percentile(times, 0.5), "ms", limit=10.0),
        Gate(f"retrieve p95, {name}", percentile(times, 0.95), "ms"),
        Gate(f"add_many, up to {name}", len(texts) / seconds, "/s", more_is_better=True),
    ]


def _seen_from_outside(folder: Path, size: int, text_bytes: int, plan: Plan) -> list[Gate]:
    """A closed store: its disk, and a new process that opens it."""
    taken = disk(folder, text_bytes)
    queries = plan.queries
    seen = probe(folder, [next(queries) for _ in range(PROBES)])
    count = size + len(plan.fresh) + 3 * speed_calls.BESIDE
    return [
        Gate(f"open in a new process, {size:,} memories", seen.open_seconds, "s"),
        Gate(f"first retrieve there, {size:,} memories", seen.first_seconds, "s"),
        Gate(
            f"resident memory there, {size:,} memories",
            seen.resident_mb,
            "MB",
            limit=250.0 if size == 100_000 else None,
            reference=755.0 if size == 100_000 else None,
        ),
        Gate(f"of it not mapped from files, {size:,} memories", seen.private_mb, "MB"),
        Gate(f"disk a memory, {size:,} memories", taken.files / count / 1e3, "kB", reference=2.5),
        Gate(f"of it neither text nor journal, {size:,} memories", taken.overhead / count / 1e3, "kB", limit=2.0),
    ]


def _filled(store: AlmaSubject, tasks: Sequence[Task], progress: Progress) -> Filling:
    task = progress.add_task(f"{len(tasks):,} memories", total=len(tasks))
    seconds = store.fill(tasks, lambda count: progress.advance(task, count))
    return Filling(len(tasks), seconds, _bytes(tasks))


def _peer(name: str, python: Path, plan: Plan, folder: Path, stack: ExitStack, progress: Progress) -> Peer:
    """A peer with as many memories as the plan says."""
    peer = Peer(name, python, _made(folder / name))
    stack.callback(peer.close)
    tasks = plan.tasks[: plan.peer_size]
    for start in progress.track(range(0, len(tasks), FILLED_AT_ONCE), description=f"{len(tasks):,} memories of {name}"):
        peer.fill(tasks[start : start + FILLED_AT_ONCE])
    return peer


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _bytes(tasks: Sequence[Task]) -> int:
    return sum(task.size for task in tasks)


def _rate(milliseconds: Sequence[float]) -> float:
    return 1e3 * len(milliseconds) / sum(milliseconds)


def _machine() -> str:
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"


def _load() -> str:
    """How many processes want to run, over the last minute. With more of them than cores, the figures are of the others, too."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _plan(options: argparse.Namespace) -> Plan:
    texts = RealTexts(options.data)
    sizes = sorted(set(options.sizes))
    most = max(*sizes, options.peer_size if options.peer or options.beside else 0)
    tasks = texts.tasks(most + 2 * options.rounds * options.block)
    return Plan(
        sizes=sizes,
        passages=options.passages,
        peer=options.peer,
        beside=dict(options.beside),
        peer_size=options.peer_size,
        rounds=options.rounds,
        block=options.block,
        texts=texts,
        tasks=tasks[:most],
        fresh=tasks[most:],
    )


def _beside(given: str) -> tuple[str, Path]:
    name, _, python = given.partition("=")
    if name not in SUBJECTS or name == REFERENCE or not python:
        raise argparse.ArgumentTypeError(f"{given!r} is not NAME=PYTHON with mem0, chroma or langgraph as the name")
    return name, Path(python)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a LongMemEval file, for its texts")
    parser.add_argument("--sizes", type=positive, nargs="+", default=list(SIZES), metavar="N", help="memories in each store")
    parser.add_argument("--passages", type=int, default=0, metavar="N", help="also a store of so many passages of 600 characters")
    parser.add_argument("--peer", type=Path, metavar="PYTHON", help="a Python that has alma-memory 0.11, numpy and faiss-cpu")
    parser.add_argument(
        "--beside",
        type=_beside,
        nargs="+",
        default=[],
        metavar="NAME=PYTHON",
        help="mem0, chroma or langgraph, and a Python that has it",
    )
    parser.add_argument("--peer-size", type=positive, default=PEER_SIZE, metavar="N", help="memories in the stores of the others")
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help=f"turns that each subject has (default: {ROUNDS})")
    parser.add_argument("--block", type=positive, default=BLOCK, help=f"calls of each sort a turn (default: {BLOCK})")
    parser.add_argument("--dir", type=Path, metavar="FOLDER", help="where the stores are made: the disk that is measured")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw cost against size here, as SVG")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
