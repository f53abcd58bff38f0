"""Real texts for the measurements of speed: what users and assistants wrote in LongMemEval, cut to the length of a task."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.records import DataError, read_records

TASK_CHARS = 160
STRATEGY_CHARS = 80
STRATEGIES = 200
PASSAGE_CHARS = 600
FAILURE_EVERY = 5
UNSEEN_EVERY = 10
MOST_MIXED = 10
"""At most this many times as many texts as a file has are made."""

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Task:
    """A task that was done: what, by which strategy, and whether it went well."""

    task: str
    strategy: str
    succeeded: bool

    @property
    def size(self) -> int:
        """The bytes of its texts."""
        return len(self.task.encode()) + len(self.strategy.encode())


class RealTexts:
    """The texts of a LongMemEval file, each once, users' before assistants', shuffled by a fixed seed.

    Where there are too few, others are made: the first half of the words of one and the second half of another, drawn by a fixed seed. So the
    words are as frequent as they are, but two that stand together less so. `DataError` if more than `MOST_MIXED` times as many are needed.
    """

    def __init__(self, path: Path) -> None:
        records = read_records(path)
        if "haystack_sessions" not in records[0]:
            raise DataError(f"{path} is no LongMemEval file with haystacks")
        self._path = path
        self._user = _distinct(records, "user")
        self._assistant = _distinct(records, "assistant")
        self.questions = [str(record["question"]) for record in records]

    def tasks(self, count: int) -> list[Task]:
        """So many distinct tasks. Strategies recur, as they do in an agent's life, but every tenth was never seen before; every fifth task failed."""
        texts = self._first(count, TASK_CHARS)
        told = self._first(STRATEGIES + count // UNSEEN_EVERY, STRATEGY_CHARS)
        known, unseen = told[:STRATEGIES], iter(told[STRATEGIES:])
        return [
            Task(text, _strategy(number, known, unseen), number % FAILURE_EVERY != 0)
            for number, text in enumerate(texts, start=1)
        ]

    def passages(self, count: int) -> list[str]:
        """So many distinct passages of up to 600 characters."""
        return self._first(count, PASSAGE_CHARS)

    def _first(self, count: int, chars: int) -> list[str]:
        found: dict[str, None] = {}
        for text in (*self._user, *self._assistant):
            found.update(dict.fromkeys(_pieces(text, chars)))
            if len(found) >= count:
                break
        if len(found) < count and len(found) * min(MOST_MIXED, len(found) // 4) < count:
            raise DataError(
                f"{self._path} has {len(found):,} texts of {chars} characters, {count:,} are needed; use fewer sizes or more data"
            )
        chosen = list(found)[:count]
        random.Random(0).shuffle(chosen)
        return [*chosen, *islice(_mixed(chosen, chars), count - len(chosen))]


def _mixed(texts: Sequence[str], chars: int) -> Iterator[str]:
    """Texts that begin as one of the given ones and end as another, without end, none of them twice."""
    drawn, made = random.Random(2), set(texts)
    words = [text.split() for text in texts]
    while True:
        one, other = drawn.choice(words), drawn.choice(words)
        text = " ".join([*one[: len(one) // 2], *other[len(other) // 2 :]])[:chars]
        if text and text not in made:
            made.add(text)
            yield text


def _strategy(number: int, known: Sequence[str], unseen: Iterator[str]) -> str:
    return next(unseen) if number % UNSEEN_EVERY == 0 else known[number * 7 % len(known)]


def _distinct(records: list[dict[str, Any]], role: str) -> list[str]:
    turns = (turn for record in records for session in record["haystack_sessions"] for turn in session if turn["role"] == role)
    texts = list(dict.fromkeys(_SPACE.sub(" ", turn["content"]).strip() for turn in turns))
    random.Random(1).shuffle(texts)
    return texts


def _pieces(text: str, chars: int) -> Iterator[str]:
    """The text cut at spaces into pieces of at most so many characters; scraps are left out."""
    while len(text) > chars // 4:
        end = len(text) if len(text) <= chars else max(text.rfind(" ", 0, chars), chars // 2)
        yield text[:end].strip()
        text = text[end:].strip()
