"""`learn` and `retrieve` on PostgreSQL and on SQLite, in pairs: the same call on either, one right after the other.

    python -m benchmarks.stores --url postgres://alma@127.0.0.1/postgres [--memories 5000] [--pairs 200] [--mem0 PYTHON]

With the Python of an environment that has mem0ai and psycopg, the same calls on PostgreSQL are paired with mem0's `add` and `search`, too. It
stores the text that ALMA stores, in pgvector of the same server, without an LLM.

Embedding is part of a call; it is that of hashed words, which takes some tens of microseconds. The ratio is the median of those of the pairs.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from alma import ALMA
from benchmarks.arguments import positive
from benchmarks.measures import percentile

SUBJECTS = ("login form", "invoice", "search index", "mail queue", "password reset", "image upload", "billing service", "cache")
VERBS = ("Test", "Deploy", "Repair", "Review", "Measure", "Migrate", "Document", "Restart")


def task(number: int) -> str:
    """A short task; there are many of them."""
    verb, subject = VERBS[number % len(VERBS)], SUBJECTS[number // len(VERBS) % len(SUBJECTS)]
    return f"{verb} the {subject} of customer {number}"


def strategy(number: int) -> str:
    """One of 40 ways."""
    return f"Way {number % 40}: look at the log first, then change one thing"


def filled(folder: Path, memories: int, **store: Any) -> ALMA:
    """A store of so many outcomes."""
    alma = ALMA.open(folder, project_id="bench", embedding_provider="hash", **store)
    items = [
        {
            "agent": "helena",
            "task": task(number),
            "outcome": "success" if number % 3 else "failure",
            "strategy_used": strategy(number),
        }
        for number in range(memories)
    ]
    alma.learn_many(items)
    return alma


def milliseconds(call: Callable[[int], object], number: int) -> float:
    began = time.perf_counter()
    call(number)
    return (time.perf_counter() - began) * 1000


def in_pairs(calls: Sequence[Callable[[int], object]], pairs: int) -> list[list[float]]:
    """The times of either call, in milliseconds; each of them is first in half of the pairs."""
    times: list[list[float]] = [[], []]
    for number in range(pairs):
        for which in (0, 1) if number % 2 else (1, 0):
            times[which].append(milliseconds(calls[which], number))
    return times


def row(name: str, times: list[list[float]], subjects: Sequence[str] = ("sqlite", "postgres")) -> dict[str, object]:
    ratios = [theirs / ours for ours, theirs in zip(*times, strict=True)]
    first, second = subjects
    return {
        "call": name,
        f"{first}_p50_ms": round(median(times[0]), 3),
        f"{first}_p95_ms": round(percentile(times[0], 0.95), 3),
        f"{second}_p50_ms": round(median(times[1]), 3),
        f"{second}_p95_ms": round(percentile(times[1], 0.95), 3),
        "ratio": round(median(ratios), 2),
    }


class Mem0:
    """mem0 on pgvector, in a process of another environment."""

    def __init__(self, python: Path, url: str, folder: str) -> None:
        collection = f"mem0_{uuid.uuid4().hex[:12]}"
        address = url.partition("?")[0].replace("postgres://", "postgresql://", 1)
        root = Path(__file__).parent.parent
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.peer.mem0_driver", address, collection, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(root)},
        )
        self._answer()

    def add(self, text: str) -> None:
        self._ask("add", text)

    def search(self, text: str) -> None:
        self._ask("search", text)

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def _ask(self, *call: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(call)}\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> None:
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError("mem0 ended; see its message above")


def beside_mem0(alma: ALMA, mem0: Mem0, memories: int, pairs: int) -> list[dict[str, object]]:
    """The calls of a store on PostgreSQL and mem0's, in pairs."""
    for number in range(memories):
        mem0.add(f"{task(number)}. {strategy(number)}")
    first, names = 4 * memories, ("postgres", "mem0")
    asked = [lambda number: alma.retrieve(task(7 * number), "helena"), lambda number: mem0.search(task(7 * number))]
    told = [
        lambda number: alma.learn("helena", task(first + number), "success", strategy(number)),
        lambda number: mem0.add(f"{task(first + number)}. {strategy(number)}"),
    ]
    return [row("retrieve | search", in_pairs(asked, pairs), names), row("learn | add", in_pairs(told, pairs), names)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="a PostgreSQL database in which a schema may be made")
    parser.add_argument("--memories", type=positive, default=5000)
    parser.add_argument("--pairs", type=positive, default=200)
    parser.add_argument(
        "--mem0", type=Path, metavar="PYTHON", help="the Python of an environment with mem0ai and psycopg[binary,pool]"
    )
    options = parser.parse_args()
    schema = f"bench_{uuid.uuid4().hex[:12]}"
    mark = "&" if "?" in options.url else "?"
    with (
        tempfile.TemporaryDirectory() as folder,
        filled(Path(folder), options.memories) as ours,
        filled(Path(folder), options.memories, storage=f"{options.url}{mark}schema={schema}") as theirs,
    ):
        both = (ours, theirs)
        for alma in both:  # the first call fills the caches
            alma.retrieve(task(1), "helena")
            alma.learn("helena", task(1), "success", strategy(1))
        first = options.memories

        def retrieve(alma: ALMA) -> Callable[[int], object]:
            return lambda number: alma.retrieve(task(7 * number), "helena")

        def learn(alma: ALMA) -> Callable[[int], object]:
            return lambda number: alma.learn("helena", task(first + number), "success", strategy(number))

        def learn_then_retrieve(alma: ALMA) -> Callable[[int], object]:
            def call(number: int) -> None:
                alma.learn("helena", task(2 * first + number), "success", strategy(number))
                alma.retrieve(task(7 * number), "helena")

            return call

        rows = [
            row(made.__name__, in_pairs([made(alma) for alma in both], options.pairs))
            for made in (retrieve, learn, learn_then_retrieve)
        ]
        if options.mem0:
            mem0 = Mem0(options.mem0, options.url, folder)
            rows += beside_mem0(theirs, mem0, options.memories, options.pairs)
            mem0.close()
    for each in rows:
        print(json.dumps(each))


if __name__ == "__main__":
    main()
