"""What ALMA costs an agent of a framework: `python -m benchmarks.adapters --adapter NAME --data FILE`, in that adapter's environment.

The same agent with the same scripted model runs with ALMA and without, in turns, on stores of real texts; what is told is the difference, with the
making of vectors left out of what the clock says, not of the time of processors. Each adapter has a file of its own, `adapter_NAME.py`, with two
functions that give an agent to run: `plain()` and `learning(alma)`.
"""

import argparse
import gc
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from rich.progress import Progress

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.records import DataError
from benchmarks.screen import wide_console
from benchmarks.subject import AGENT, AlmaSubject
from benchmarks.texts import RealTexts, Task

ADAPTERS = ("langchain", "llamaindex", "crewai")
SIZE = 10_000
ROUNDS = 60
STEPS = 8

Agent = Callable[[str, int], None]
"""Runs one agent on a task, with so many calls of a tool that does well, and returns when all that is to be kept is kept."""


@dataclass(slots=True)
class Times:
    """Milliseconds of runs without a step and with `STEPS` steps, by the clock and of the processors."""

    short: list[float] = field(default_factory=list)
    long: list[float] = field(default_factory=list)
    short_cpu: list[float] = field(default_factory=list)
    long_cpu: list[float] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        texts = RealTexts(options.data)
        tasks = texts.tasks(options.size + 2 * options.rounds)
        with tempfile.TemporaryDirectory(prefix="adapters-", dir=options.dir) as folder, Progress(console=console) as progress:
            result = measure(options.adapter, tasks, options.size, Path(folder), progress)
    except (DataError, ImportError) as error:
        sys.exit(str(error))
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, load {os.getloadavg()[0]:.1f}"
    gates.show(console, result, f"What ALMA adds to an agent of {options.adapter}, embedding not counted; {machine}")
    if options.json:
        gates.write_json(options.json, result, machine=machine, adapter=options.adapter, rounds=options.rounds, size=options.size)
    gates.enforce(result)


def measure(adapter: str, tasks: Sequence[Task], size: int, folder: Path, progress: Progress) -> list[Gate]:
    """Fills a store, then has the two agents take turns on tasks that it does not hold."""
    module = import_module(f"benchmarks.adapter_{adapter}")
    store = AlmaSubject(folder)
    try:
        bar = progress.add_task(f"{size:,} memories", total=size)
        store.fill(tasks[:size], lambda count: progress.advance(bar, count))
        plain, learning = Times(), Times()
        bare: list[float] = []
        agents: list[tuple[Agent, Times]] = [(module.plain(), plain), (module.learning(store.alma), learning)]
        for agent, _ in agents:
            agent(tasks[0].task, 1)  # what is made once is made now
        fresh = tasks[size:]
        gc.collect()
        for short, long in progress.track(list(zip(fresh[::2], fresh[1::2], strict=True)), description="runs"):
            for agent, times in agents:
                _time(store, agent, short.task, 0, times.short, times.short_cpu)
                _time(store, agent, long.task, STEPS, times.long, times.long_cpu)
            _time(store, lambda task, steps: _attempt(store, task), short.task, 0, bare, [])
    finally:
        store.close()
    return [*figures(plain, learning, size), Gate("of a run, an episode begun and ended, p50", percentile(bare, 0.5), "ms")]


def figures(plain: Times, learning: Times, size: int) -> list[Gate]:
    """What a run and a step cost more with ALMA than without."""
    runs, steps = _added(plain.short, plain.long, learning.short, learning.long)
    runs_cpu, steps_cpu = _added(plain.short_cpu, plain.long_cpu, learning.short_cpu, learning.long_cpu)
    return [
        Gate(f"a run, p50, {size:,} memories", percentile(runs, 0.5), "ms", limit=10.0),
        Gate(f"a run, p95, {size:,} memories", percentile(runs, 0.95), "ms"),
        Gate(f"a step, p50, {size:,} memories", percentile(steps, 0.5), "ms", limit=3.0),
        Gate(f"a step, p95, {size:,} memories", percentile(steps, 0.95), "ms"),
        Gate("processors, a run, p50", percentile(runs_cpu, 0.5), "ms"),
        Gate("processors, a step, p50", percentile(steps_cpu, 0.5), "ms"),
        Gate("the agent alone, a run, p50", percentile(plain.short, 0.5), "ms"),
        Gate(f"the agent alone, a run of {STEPS} steps, p50", percentile(plain.long, 0.5), "ms"),
    ]


def _added(
    plain_short: Sequence[float], plain_long: Sequence[float], short: Sequence[float], long: Sequence[float]
) -> tuple[list[float], list[float]]:
    """What each run cost more, and what each of its steps cost more beyond that."""
    runs = [with_alma - without for with_alma, without in zip(short, plain_short, strict=True)]
    steps = [(with_alma - without - median(runs)) / STEPS for with_alma, without in zip(long, plain_long, strict=True)]
    return runs, steps


def _attempt(store: AlmaSubject, task: str) -> None:
    store.alma.episode(AGENT, task, deferred=True).end()  # as the adapters begin it


def _time(store: AlmaSubject, agent: Agent, task: str, steps: int, clock: list[float], cpu: list[float]) -> None:
    """Notes the milliseconds of a run: by the clock, besides making vectors, and of the processors."""
    embedding = store.embedding_seconds
    start, start_cpu = perf_counter(), process_time()
    agent(task, steps)
    cpu.append(1e3 * (process_time() - start_cpu))
    clock.append(1e3 * (perf_counter() - start - (store.embedding_seconds - embedding)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adapters", description=__doc__)
    parser.add_argument("--adapter", choices=ADAPTERS, required=True, help="whose agents are measured")
    parser.add_argument("--data", type=Path, required=True, help="a LongMemEval file, for its texts")
    parser.add_argument("--size", type=positive, default=SIZE, metavar="N", help=f"memories in the store (default: {SIZE:,})")
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help=f"turns that each agent has (default: {ROUNDS})")
    parser.add_argument("--dir", type=Path, metavar="FOLDER", help="where the store is made: the disk that is measured")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
