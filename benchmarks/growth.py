"""What grows, and how: `python -m benchmarks.growth [--json FILE]`, statements a call, learning with many classes and agents, memory held.

Vectors are hashed, and making them is not counted. Stores that are compared take turns in the same run, so a busy machine hits all of them alike;
where one is slow, the ratios count. Figures of memory are of a process of its own.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.progress import Progress

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.memory import held
from benchmarks.phrases import Phrases
from benchmarks.screen import wide_console
from benchmarks.statements import Trace, traced
from benchmarks.subject import PROJECT, AlmaSubject, HashedEmbedder

STORED = (10_000, 20_000)
MANY = 2_000
BATCH = 2_000
LEARNS, RETRIEVES = 20_000, 100_000
ROUNDS, BLOCK = 20, 10
KNOWN_STRATEGIES = 200
ONE_CLASS = "one class"

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and how large."""

    stored: Sequence[int]
    many: int
    learns: int
    retrieves: int
    rounds: int
    block: int
    crowd: int
    folder: Path


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    with tempfile.TemporaryDirectory(prefix="growth-", dir=options.dir) as folder, Progress(console=console) as progress:
        plan = Plan(
            stored=sorted(set(options.stored)),
            many=options.many,
            learns=options.learns,
            retrieves=options.retrieves,
            rounds=options.rounds,
            block=options.block,
            crowd=options.crowd,
            folder=Path(folder),
        )
        result = [gate for part in (_statements, _learn_many, _retrieve, _memory) for gate in part(plan, progress)]
    gates.show(console, result, "Growth, embedding not counted")
    if options.json:
        gates.write_json(options.json, result, stored=list(plan.stored), many=plan.many)
    gates.enforce(result)


def _statements(plan: Plan, progress: Progress) -> Iterator[Gate]:
    """Statements of calls on a store where all of their classes are known."""
    with traced() as trace:
        subject = AlmaSubject(_made(plan.folder / "statements"))
        try:
            counts = _counted(subject, trace)
        finally:
            subject.close()
    progress.console.log("statements counted")
    limits = {"learn": 10, "record_usage of 10": 8, "an episode's end after 9 steps": 14}
    for what, (count, _) in counts.items():
        limit = next((most for name, most in limits.items() if what.startswith(name)), None)
        yield Gate(f"statements: {what}", count, "", limit=limit)
    for what, (_, everything) in counts.items():
        yield Gate(f"with BEGIN and COMMIT: {what}", everything, "")


def _counted(subject: AlmaSubject, trace: Trace) -> dict[str, tuple[int, int]]:
    alma, agent = subject.alma, "dev"
    for number in range(25):
        for kind in ("deploying", None):
            alma.learn(agent, f"Deploy the service {number}", number % 4 != 3, f"Way {number % 2}", task_type=kind)
    counts = {}
    for kind, name in (("deploying", "by its type"), (None, "by a near task")):
        task = f"Deploy the service again, {name}"
        learn = partial(alma.learn, agent, task, "success", "Way 0", task_type=kind)
        counts[f"learn, its class known {name}"] = trace.of(learn)
        episode = alma.episode(agent, "Deploy the service anew", task_type=kind)
        for step in range(9):
            episode.step(f"Do part {step}", ok=step % 3 != 1, tool=f"tool {step % 2}")
        episode.used(episode.memories.ids[:4])
        counts[f"an episode's end after 9 steps, its class known {name}"] = trace.of(partial(episode.succeed, "Way 0"))
    ids = [memory.id for memory in alma.list_memories("outcome", limit=10)]
    counts["record_usage of 10"] = trace.of(partial(alma.record_usage, ids, ids[:5], agent=agent))
    for number in range(10):
        with alma.episode(agent, f"Task {number}") as episode:
            episode.step("Try", ok=True)
            episode.succeed("by hand")
    counts["recent_episodes(10)"] = trace.of(partial(alma.recent_episodes, 10))
    return counts


def _learn_many(plan: Plan, progress: Progress) -> Iterator[Gate]:
    """Rates of `learn_many` where classes, agents or strategies are one or many, a store for each, in turns."""
    stores = {name: _Learning(plan.folder / name.replace(" ", "-"), items) for name, items in _worlds(plan).items()}
    rates: dict[tuple[str, int], list[float]] = {}
    last = plan.stored[-1]
    batch = min(BATCH, plan.stored[0])
    for start in progress.track(range(0, last, batch), description="learn_many"):
        for name, store in stores.items():
            rate = store.rate(start, start + batch)
            for size in plan.stored:
                if size // 2 < start + batch <= size:
                    rates.setdefault((name, size), []).append(rate)
    for store in stores.values():
        store.close()
    for size in plan.stored:
        one = percentile(rates[ONE_CLASS, size], 0.5)
        for name in stores:
            rate = percentile(rates[name, size], 0.5)
            limit = None if name.endswith("without a type") else 3_000
            yield Gate(f"learn_many, {name}, {size:,} stored", rate, "/s", limit=limit, more_is_better=True)
            if name != ONE_CLASS:
                yield Gate(f"learn_many, {name} over {ONE_CLASS}, {size:,} stored", rate / one, "×", more_is_better=True)


def _worlds(plan: Plan) -> Mapping[str, Callable[[int], Item]]:
    """What is learned as the outcome of a number, by what there is many of."""
    phrases, many, last = Phrases(), plan.many, plan.stored[-1]
    tasks, strategies = phrases.tasks(last), phrases.strategies(max(many, KNOWN_STRATEGIES))

    def item(number: int, **given: Any) -> Item:
        strategy = strategies[number * 7 % KNOWN_STRATEGIES]
        usual = {"agent": "dev", "task": tasks[number], "task_type": "one", "strategy_used": strategy, "outcome": number % 5 != 0}
        return {**usual, **given}

    return {
        ONE_CLASS: item,
        f"{many:,} classes": lambda number: item(number, task_type=f"type {number % many}"),
        f"{many:,} agents": lambda number: item(number, agent=f"agent {number % many}"),
        f"{many:,} strategies": lambda number: item(number, strategy_used=strategies[number % many]),
        f"{many:,} tasks without a type": lambda number: item(number, task=tasks[number % many], task_type=None),
        f"{many:,} agents without a type": lambda number: item(
            number, agent=f"agent {number % many}", task=tasks[number % 50], task_type=None
        ),
    }


class _Learning:
    """A store that learns in batches."""

    def __init__(self, folder: Path, item: Callable[[int], Item]) -> None:
        from alma import ALMA

        self._embedder, self._item = HashedEmbedder(), item
        self._alma = ALMA.open(_made(folder), project_id=PROJECT, embedding_provider=self._embedder)

    def rate(self, start: int, end: int) -> float:
        """Learns the outcomes of these numbers in one call; gives how many a second, embedding left out."""
        items = list(map(self._item, range(start, end)))
        embedding, begun = self._embedder.texts.seconds, perf_counter()
        self._alma.learn_many(items)
        return (end - start) / (perf_counter() - begun - (self._embedder.texts.seconds - embedding))

    def close(self) -> None:
        self._alma.close()


def _retrieve(plan: Plan, progress: Progress) -> Iterator[Gate]:
    """Answers where all outcomes are alike, and where they are those of many agents, beside stores without that, in turns."""
    few, most = max(plan.stored[-1] // 20, 1), plan.stored[-1]
    phrases = Phrases(seed=1)
    tasks, strategies = phrases.tasks(plan.crowd), phrases.strategies(KNOWN_STRATEGIES)
    same = {"agent": "dev", "task": tasks[0], "outcome": "success", "strategy_used": strategies[0]}

    def crowd(agents: int) -> list[Item]:
        return [
            {"agent": f"agent {number % agents}", "task": task, "outcome": "success", "strategy_used": strategies[number % 200]}
            for number, task in enumerate(tasks)
        ]

    agents = min(plan.many, plan.crowd)
    worlds = {
        f"{few:,} identical outcomes": ("dev", tasks[:1], [same] * few),
        f"{most:,} identical outcomes": ("dev", tasks[:1], [same] * most),
        f"{plan.crowd:,} memories of one agent": ("agent 0", tasks, crowd(1)),
        f"{plan.crowd:,} memories of {agents:,} agents": ("agent 0", tasks, crowd(agents)),
    }
    times = _answering(plan, worlds, progress)
    middles = {name: percentile(found, 0.5) for name, found in times.items()}
    for name, middle in middles.items():
        yield Gate(f"retrieve p50, {name}", middle, "ms")
    few_alike, many_alike, one_agent, many_agents = middles.values()
    yield Gate(f"retrieve p50, {most:,} over {few:,} identical outcomes", many_alike / few_alike, "×", limit=1.5)
    yield Gate(f"retrieve p50, {agents:,} agents over one", many_agents / one_agent, "×")


def _answering(
    plan: Plan, worlds: Mapping[str, tuple[str, Sequence[str], Sequence[Item]]], progress: Progress
) -> dict[str, list[float]]:
    from alma import ALMA

    stores = {}
    for number, (name, (agent, asked, items)) in enumerate(worlds.items()):
        alma = ALMA.open(_made(plan.folder / f"answering-{number}"), project_id=PROJECT, embedding_provider=HashedEmbedder())
        for start in range(0, len(items), BATCH):
            alma.learn_many(items[start : start + BATCH])
        alma.retrieve(asked[0], agent)
        stores[name] = alma
    times: dict[str, list[float]] = {name: [] for name in stores}
    for turn in progress.track(range(plan.rounds), description="retrieve"):
        for name, alma in stores.items():
            agent, asked, _ = worlds[name]
            for number in range(plan.block):
                begun = perf_counter()
                alma.retrieve(asked[(turn * plan.block + number) % min(len(asked), 200)], agent)
                times[name].append(1e3 * (perf_counter() - begun))
    for alma in stores.values():
        alma.close()
    return times


def _memory(plan: Plan, progress: Progress) -> Iterator[Gate]:
    progress.console.log(
        f"{plan.learns:,} outcomes are learned and {plan.retrieves:,} questions answered in a process of its own"
    )
    found = held(_made(plan.folder / "memory"), plan.learns, plan.retrieves)
    yield Gate("resident memory before", found.before_mb, "MB")
    yield Gate(f"after {plan.learns:,} learns", found.learned_mb, "MB")
    yield Gate(f"and {plan.retrieves:,} retrieves", found.answered_mb, "MB")
    yield Gate("of the index, a memory", found.index_bytes, "B")
    yield Gate("a learn, second half", found.learn_slope, "B", limit=500.0 if plan.learns >= LEARNS else None)
    yield Gate("a retrieve, second half", found.retrieve_slope, "B", limit=20.0 if plan.retrieves >= RETRIEVES else None)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument(
        "--stored", type=positive, nargs="+", default=list(STORED), metavar="N", help="sizes of the stores that learn"
    )
    parser.add_argument("--many", type=positive, default=MANY, help=f"classes, agents and strategies (default: {MANY:,})")
    parser.add_argument("--crowd", type=positive, default=12_000, help="memories of many agents that answers are sought among")
    parser.add_argument("--learns", type=positive, default=LEARNS, help=f"learned while memory is watched (default: {LEARNS:,})")
    parser.add_argument(
        "--retrieves", type=positive, default=RETRIEVES, help=f"answered while memory is watched (default: {RETRIEVES:,})"
    )
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help=f"turns that each store answers (default: {ROUNDS})")
    parser.add_argument("--block", type=positive, default=BLOCK, help=f"questions a turn (default: {BLOCK})")
    parser.add_argument("--dir", type=Path, metavar="FOLDER", help="where the stores are made")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
