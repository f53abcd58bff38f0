"""`learn` and `retrieve` on PostgreSQL and on SQLite, in pairs: the same call on either, one right after the other.

    python -m benchmarks.stores --url postgres://alma@127.0.0.1/postgres [--memories 5000] [--pairs 200]

Embedding is part of a call; it is that of hashed words, which takes some tens of microseconds. The ratio is the median of those of the pairs.
"""

import argparse
import json
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


def row(name: str, times: list[list[float]]) -> dict[str, object]:
    ratios = [theirs / ours for ours, theirs in zip(*times, strict=True)]
    return {
        "call": name,
        "sqlite_p50_ms": round(median(times[0]), 3),
        "sqlite_p95_ms": round(percentile(times[0], 0.95), 3),
        "postgres_p50_ms": round(median(times[1]), 3),
        "postgres_p95_ms": round(percentile(times[1], 0.95), 3),
        "ratio": round(median(ratios), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="a PostgreSQL database in which a schema may be made")
    parser.add_argument("--memories", type=positive, default=5000)
    parser.add_argument("--pairs", type=positive, default=200)
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
    for each in rows:
        print(json.dumps(each))


if __name__ == "__main__":
    main()
