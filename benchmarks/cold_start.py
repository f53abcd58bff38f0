"""How long a new process takes to its first answer, real model included: `python -m benchmarks.cold_start --data FILE`.

The clock runs from before the process is started until its answer arrives here. Also told: what `import alma` adds to a bare Python. Files
have been read before, so the disk's part is that of a warm machine.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from rich.progress import Progress

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.records import DataError
from benchmarks.screen import wide_console
from benchmarks.texts import RealTexts, Task

MEMORIES = 1_000
RUNS = 15
AGENT = "dev"
PROJECT = "benchmark"
BARE = "print(0, flush=True)"
IMPORT = f"import alma; {BARE}"
FIRST_ANSWER = f"""
import sys
from alma import ALMA
alma = ALMA.open(sys.argv[1], project_id={PROJECT!r})
print(alma.retrieve(task=sys.argv[2], agent={AGENT!r}).total_items, flush=True)
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        texts = RealTexts(options.data)
        with tempfile.TemporaryDirectory(prefix="cold-start-", dir=options.dir) as folder, Progress(console=console) as progress:
            tasks = texts.tasks(options.memories)
            fill(Path(folder), tasks, options.embedder)
            result = measure(Path(folder), [task.task for task in tasks], options.runs, progress)
    except DataError as error:
        sys.exit(str(error))
    gates.show(
        console, result, f"Cold start, {options.memories:,} memories, embedder {options.embedder}, median of {options.runs} runs"
    )
    if options.json:
        gates.write_json(options.json, result, memories=options.memories, embedder=options.embedder, runs=options.runs)
    gates.enforce(result)


def fill(folder: Path, tasks: Sequence[Task], embedder: str) -> None:
    """Makes the store that the new processes open."""
    from alma import ALMA

    with ALMA.open(folder, project_id=PROJECT, embedding_provider=embedder) as alma:
        alma.learn_many(
            {"agent": AGENT, "task": task.task, "outcome": task.succeeded, "strategy_used": task.strategy} for task in tasks
        )


def measure(folder: Path, queries: Sequence[str], runs: int, progress: Progress) -> list[Gate]:
    """Starts processes of each sort in turn, so that a busy moment hits all sorts."""
    bare: list[float] = []
    imported: list[float] = []
    answered: list[float] = []
    for number in progress.track(range(runs + 1), description="Starting processes"):
        times = (
            seconds_of(BARE),
            seconds_of(IMPORT),
            seconds_of(FIRST_ANSWER, str(folder), queries[number % len(queries)]),
        )
        if number:  # the first start reads the files of all sorts
            for kept, seconds in zip((bare, imported, answered), times, strict=True):
                kept.append(seconds)
    middle = percentile(answered, 0.5)
    return [
        Gate("a new process to its first answer", middle, "s", limit=1.3, reference=3.1),
        Gate("slowest of them", max(answered), "s"),
        Gate("bare Python", percentile(bare, 0.5), "s"),
        Gate(
            "import alma, more than bare Python",
            percentile(imported, 0.5) - percentile(bare, 0.5),
            "s",
            limit=0.05,
            reference=0.09,
        ),
    ]


def seconds_of(code: str, *arguments: str) -> float:
    """From before the start of a process until the first line it prints. `RuntimeError` if it prints none, or found nothing."""
    start = perf_counter()
    with subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout else ""
        seconds = perf_counter() - start
    if not line.strip() or (arguments and line.strip() == "0"):
        raise RuntimeError(f"a started process found nothing; it ended with {process.returncode}")
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a LongMemEval file, for its texts")
    parser.add_argument("--memories", type=positive, default=MEMORIES, metavar="N", help=f"in the store (default: {MEMORIES:,})")
    parser.add_argument("--runs", type=positive, default=RUNS, help=f"processes of each sort (default: {RUNS})")
    parser.add_argument("--embedder", default="minilm", help="name of an embedder (default: minilm)")
    parser.add_argument("--dir", type=Path, metavar="FOLDER", help="where the store is made")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
