"""Texts where no data set is given: words that people wrote, drawn at random, the same every time. They mean nothing."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.records import read_records

PAIRS = Path(__file__).with_name("data") / "strategy_pairs.jsonl"
TASK_WORDS = 12
STRATEGY_WORDS = 6


class Phrases:
    """Distinct tasks and strategies, as many as are asked for."""

    def __init__(self, seed: int = 0) -> None:
        said = " ".join(f"{record['a']} {record['b']}" for record in read_records(PAIRS))
        self._words = sorted(set(re.findall(r"[a-z]{3,}", said.lower())))
        self._chance = random.Random(seed)

    def tasks(self, count: int) -> list[str]:
        """As many distinct tasks."""
        return self._distinct(count, TASK_WORDS)

    def strategies(self, count: int) -> list[str]:
        """As many distinct strategies."""
        return self._distinct(count, STRATEGY_WORDS)

    def _distinct(self, count: int, words: int) -> list[str]:
        found: dict[str, None] = {}
        drawn = self._drawn(words)
        while len(found) < count:
            found[next(drawn)] = None
        return list(found)

    def _drawn(self, words: int) -> Iterator[str]:
        while True:
            yield " ".join(self._chance.choices(self._words, k=words)).capitalize()
