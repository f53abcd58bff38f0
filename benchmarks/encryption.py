"""What encryption at rest costs: `python -m benchmarks.encryption [--stored N] [--json FILE]`.

An open and an encrypted store of the same content take turns, call by call, so that a busy machine hits both alike; the ratios count. Vectors are
hashed, and making them is not counted.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rich.progress import Progress

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.phrases import Phrases
from benchmarks.screen import wide_console
from benchmarks.subject import PROJECT, HashedEmbedder

if TYPE_CHECKING:
    from alma import ALMA

STORED, CALLS, OPENS = 10_000, 300, 5
BATCH = 2_000
TYPES, STRATEGIES = 50, 200
MOST_TIMES = 1.5
KEYS: dict[str, bytes | None] = {"open": None, "encrypted": os.urandom(32)}


class _Side:
    """One of the two stores. Times leave embedding out."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder / name
        self.alma = self.opened()

    def opened(self) -> "ALMA":
        from alma import ALMA

        self._embedder = HashedEmbedder()
        return ALMA.open(
            self.folder, project_id=PROJECT, embedding_provider=self._embedder, encryption_key=KEYS[self.name], redact="off"
        )

    def milliseconds(self, call: Callable[["ALMA"], object]) -> float:
        """How long a call takes."""
        embedding, begun = self._embedder.texts.seconds, perf_counter()
        call(self.alma)
        return 1000 * (perf_counter() - begun - (self._embedder.texts.seconds - embedding))

    def first_answer(self, task: str) -> float:
        """How long it takes to open the store in a process that has loaded the code, and to get the first answer."""
        self.alma.close()
        begun = perf_counter()
        self.alma = self.opened()
        self.alma.retrieve(task, "dev")
        return 1000 * (perf_counter() - begun - self._embedder.texts.seconds)

    def bytes_on_disk(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self.folder.iterdir())


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    with tempfile.TemporaryDirectory(prefix="encryption-", dir=options.dir) as folder, Progress(console=console) as progress:
        result = measure(Path(folder), options.stored, options.calls, progress)
    gates.show(console, result, f"Encryption at rest, {options.stored:,} memories, embedding not counted")
    if options.json:
        gates.write_json(options.json, result, stored=options.stored, calls=options.calls)
    gates.enforce(result)


def measure(folder: Path, stored: int, calls: int, progress: Progress) -> list[Gate]:
    """Fills both stores and measures them in turns."""
    phrases = Phrases()
    items = _items(phrases, stored + 2 * calls)
    sides = [_Side(name, folder) for name in KEYS]
    for start in progress.track(range(0, stored, BATCH), description="filling"):
        for side in sides:
            side.alma.learn_many(items[start : min(start + BATCH, stored)])
    questions = phrases.tasks(3 * calls)
    learns, mixed = items[stored : stored + calls], items[stored + calls :]

    def pairs(called: Sequence[Callable[["ALMA"], object]], what: str) -> dict[str, list[float]]:
        taken: dict[str, list[float]] = {side.name: [] for side in sides}
        for number, call in enumerate(progress.track(called, description=what)):
            for side in sides if number % 2 else sides[::-1]:
                taken[side.name].append(side.milliseconds(call))
        return taken

    pairs([_retrieving(question) for question in questions[:3]], "warming up")
    found = {
        "retrieve": pairs([_retrieving(question) for question in questions[:calls]], "retrieve"),
        "learn": pairs([_learning(item) for item in learns], "learn"),
    }
    after: dict[str, list[float]] = {side.name: [] for side in sides}
    for number, item in enumerate(progress.track(mixed, description="retrieve after learn")):
        for side in sides if number % 2 else sides[::-1]:
            side.milliseconds(_learning(item))
            after[side.name].append(side.milliseconds(_retrieving(questions[calls + number])))
    found["retrieve after a learn"] = after
    found["open and first retrieve"] = {side.name: [] for side in sides}
    for number in range(OPENS):
        for side in sides if number % 2 else sides[::-1]:
            found["open and first retrieve"][side.name].append(side.first_answer(questions[-1 - number]))
    for side in sides:
        side.alma.close()
    return [*_figures(found), *_sizes(sides), _encrypting(sides[0])]


def _figures(found: dict[str, dict[str, list[float]]]) -> list[Gate]:
    figures = []
    for what, taken in found.items():
        limit = MOST_TIMES if what in ("retrieve", "learn") else None
        middle = {name: percentile(values, 0.5) for name, values in taken.items()}
        figures += [Gate(f"{what} p50, {name}", value, "ms") for name, value in middle.items()]
        figures.append(Gate(f"{what} p50, encrypted over open", middle["encrypted"] / middle["open"], "×", limit=limit))
    return figures


def _sizes(sides: Sequence[_Side]) -> list[Gate]:
    plain, sealed = (side.bytes_on_disk() for side in sides)
    return [Gate("bytes on disk, encrypted over open", sealed / plain, "×")]


def _encrypting(side: _Side) -> Gate:
    from alma.encryption import encrypt_store

    begun = perf_counter()
    encrypt_store(side.folder, os.urandom(32))
    return Gate("encrypting the open store", perf_counter() - begun, "s")


def _items(phrases: Phrases, count: int) -> list[dict[str, Any]]:
    strategies = phrases.strategies(STRATEGIES)
    return [
        {
            "agent": "dev",
            "task": task,
            "task_type": f"type {number % TYPES}",
            "strategy_used": strategies[number * 7 % STRATEGIES],
            "outcome": "success" if number % 5 else "failure",
        }
        for number, task in enumerate(phrases.tasks(count))
    ]


def _retrieving(question: str) -> Callable[["ALMA"], object]:
    return lambda alma: alma.retrieve(question, "dev")


def _learning(item: dict[str, Any]) -> Callable[["ALMA"], object]:
    return lambda alma: alma.learn(**item)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.encryption", description=__doc__.splitlines()[0])
    parser.add_argument("--stored", type=positive, default=STORED, help="memories that are stored first (%(default)s)")
    parser.add_argument("--calls", type=positive, default=CALLS, help="calls of each sort (%(default)s)")
    parser.add_argument("--dir", type=Path, help="where the stores are made, on the disk to measure")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser


if __name__ == "__main__":
    main()
