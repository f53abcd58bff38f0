"""The system under test: what a memory must be able to do to be played with."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from benchmarks.played.counts import Counts
from benchmarks.played.worlds import Attempt, Question, World


@dataclass(frozen=True, slots=True)
class Row:
    """A way in the table with its counts. `wordings` are the strategies behind it, where the memory can name them; else it stays empty.

    `is_of_other_kind` marks a way that the memory knows, and shows, as tried on another kind of task alone.
    """

    strategy: str
    counts: Counts
    wordings: Sequence[str] = ()
    is_of_other_kind: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """The notes for a question. `read_rules` returns for each rule among them the strategies of the outcomes behind it."""

    text: str
    read_rules: Callable[[], Sequence[Sequence[str]]] = tuple


class Memory(Protocol):
    """Learns attempts and answers questions. It must not look at the `situation` of either, nor at the `way` of an attempt."""

    def learn(self, attempt: Attempt, /) -> None:
        """Learns one attempt. They come in the order of their times."""

    def retrieve(self, question: Question, /) -> Prompt:
        """Returns what an agent with this question reads first."""

    def table(self, question: Question, /) -> Sequence[Row]:
        """Returns the ways known for the question, the best first."""

    def assess(self, wording: str, question: Question, /) -> Counts | None:
        """Returns the counts stated for a way, or `None` where it says that it does not know."""

    def check(self, wording: str, question: Question, /) -> str | None:
        """Returns the warning in words, or `None` where there is none."""

    def wake_up(self) -> str:
        """Returns what an agent reads before it knows its task."""


OpenMemory = Callable[[World], AbstractContextManager[Memory]]
"""Opens an empty memory for the agent, the user and the preferences of a world."""
