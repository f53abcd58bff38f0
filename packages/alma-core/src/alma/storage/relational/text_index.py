"""Full text as the shared code uses it: which memory holds which word, as a cache in the transaction of the rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from alma.storage.relational.session import Session
from alma.text import spaced
from alma.types.passages import Passage

OTHER_WEIGHT = 0.5
"""Weight of a word of another speaker; one of the owner's has 1."""

Integers = NDArray[np.int64]

Searched = tuple[int, Sequence[Passage]]
"""A memory, by row, and its passages."""


@dataclass(frozen=True, slots=True)
class WordLists:
    """The memories of a project that hold words, and how often, weighted: the lists of all words one after the other, each ascending by memory.

    `sizes` are the lengths of the lists. Where one of `are_whole` is false, the list goes on: it was read up to a limit.
    """

    memories: Integers
    frequencies: NDArray[np.float32]
    sizes: Sequence[int]
    are_whole: Sequence[bool]


class TextIndex(Protocol):
    """The full text of the projects of a database. Words are compared by their stems (`alma.storage.stems`)."""

    def begin(self, session: Session, project: int, /) -> None:
        """Makes what a new project needs."""

    def put(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Makes memories searchable that are not."""

    def remove(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Takes memories out again. Their passages are those that they were put in with."""

    def lists(self, session: Session, project: int, stems: Sequence[str], /, *, limit: int | None) -> WordLists:
        """Returns where each stem stands, in all memories that are searchable.

        With a limit a list may end after its first memories, in which the stem stands that many times together.
        """


def own_and_other(passages: Sequence[Passage]) -> tuple[str, str]:
    """The texts of a memory as full text takes them: what its owner said, and what others did."""
    own = "\n".join(passage.text for passage in passages if passage.is_own)
    others = "\n".join(
        text for passage in passages for text in ("" if passage.is_own else passage.text, passage.keywords) if text
    )
    return spaced(own), spaced(others)
