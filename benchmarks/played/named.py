"""ALMA with a language model that names ways, scripted: `python -m benchmarks.played --memory benchmarks.played.named:with_true_names`.

The first model knows the truth: what it makes of the figures is their ceiling. The second is wrong in one of five wordings: it gives them the name of
another way of the same question. Names are asked for once, when the log is learned.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache

from benchmarks.played.cached_embedder import CachedEmbedder
from benchmarks.played.counts import Counts
from benchmarks.played.facade import FacadeMemory, facade_opener
from benchmarks.played.memories import Memory, OpenMemory, Prompt, Row
from benchmarks.played.worlds import Attempt, Question, World

WRONG = 0.2
_STRATEGY = re.compile(r"^(\d+)\. <(strategy-\w+)>\n(.*?)\n</\2>$", re.MULTILINE | re.DOTALL)


class ScriptedNamer:
    """A model that knows of which way a wording is. `wrong` is the share of wordings that get another name."""

    def __init__(self, ways: Mapping[str, str], wrong: float) -> None:
        self._ways, self._wrong = ways, wrong

    def complete(self, prompt: str) -> str:
        """Returns the names of the numbered strategies."""
        told = [(int(number), self._ways[text], text) for number, _, text in _STRATEGY.findall(prompt)]
        names = sorted({way for _, way, _ in told})
        ways: dict[str, list[int]] = {}
        for number, way, text in told:
            chance = random.Random(text)
            others = [name for name in names if name != way]
            ways.setdefault(chance.choice(others) if others and chance.random() < self._wrong else way, []).append(number)
        return json.dumps({"ways": [{"name": name, "wordings": numbers} for name, numbers in ways.items()]})


class NamedMemory:
    """A store whose ways are named before the first question."""

    def __init__(self, memory: FacadeMemory, wrong: float) -> None:
        self._memory, self._wrong, self._ways, self._is_named = memory, wrong, dict[str, str](), False

    def learn(self, attempt: Attempt, /) -> None:
        self._ways[attempt.wording] = attempt.way
        self._memory.learn(attempt)

    def retrieve(self, question: Question, /) -> Prompt:
        self._name()
        return self._memory.retrieve(question)

    def table(self, question: Question, /) -> list[Row]:
        return self._memory.table(question)

    def assess(self, wording: str, question: Question, /) -> Counts | None:
        return self._memory.assess(wording, question)

    def check(self, wording: str, question: Question, /) -> str | None:
        return self._memory.check(wording, question)

    def wake_up(self) -> str:
        return self._memory.wake_up()

    def _name(self) -> None:
        if not self._is_named:
            self._is_named = True
            self._memory.name_ways(ScriptedNamer(self._ways, self._wrong))


@cache
def _open_plain() -> OpenMemory:
    from alma.embedding import create_embedder

    return facade_opener(CachedEmbedder(create_embedder("minilm")))


def _opener(wrong: float) -> OpenMemory:

    @contextmanager
    def open_memory(world: World) -> Iterator[Memory]:
        with _open_plain()(world) as memory:
            assert isinstance(memory, FacadeMemory)
            yield NamedMemory(memory, wrong)

    return open_memory


def with_true_names(world: World) -> AbstractContextManager[Memory]:
    """Opens a store with names by a model that knows the truth."""
    return _opener(0.0)(world)


def with_names_partly_wrong(world: World) -> AbstractContextManager[Memory]:
    """Opens a store with names of which one in five is wrong."""
    return _opener(WRONG)(world)
