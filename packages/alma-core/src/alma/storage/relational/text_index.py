"""Full text as the shared code uses it: which memory holds which word, as a cache in the transaction of the rows."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from alma.errors import CorruptStoreError
from alma.storage.relational.logical import View
from alma.storage.relational.seal import Seal
from alma.storage.relational.session import Session
from alma.storage.stems import stems
from alma.text import spaced
from alma.types.passages import Passage

OTHER_WEIGHT = 0.5
"""Weight of a word of another speaker; one of the owner's has 1."""

FILLED_AT_ONCE = 2_000

Integers = NDArray[np.int64]

Searched = tuple[int, Sequence[Passage]]
"""A memory, by row, and its passages."""


@dataclass(frozen=True, slots=True)
class WordList:
    """The memories of a project that hold a word, ascending, and how often, weighted. Unless it `is_whole`, the list was read up to a limit."""

    memories: Integers
    frequencies: NDArray[np.float32]
    is_whole: bool


class TextIndex(Protocol):
    """The full text of the projects of a database. Words are compared by their stems (`alma.storage.stems`)."""

    def begin(self, session: Session, project: int, /) -> None:
        """Makes the full text of a project empty, whatever is left of it."""

    def put(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Makes memories searchable that are not."""

    def remove(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Takes memories out again. Their passages are those that they were put in with."""

    def lists(self, session: Session, project: int, stems: Sequence[str], /, *, limit: int | None) -> Sequence[WordList]:
        """Returns where each stem stands, in all memories that are searchable.

        With a limit a list may end after its first memories, in which the stem stands that many times together.
        """


def own_and_other(passages: Sequence[Passage]) -> tuple[list[str], list[str]]:
    """Returns the stems of a memory: of what its owner said, and of what others did."""
    own = "\n".join(passage.text for passage in passages if passage.is_own)
    others = "\n".join(
        text for passage in passages for text in ("" if passage.is_own else passage.text, passage.keywords) if text
    )
    return stems(spaced(own)), stems(spaced(others))


def frequencies(passages: Sequence[Passage]) -> dict[str, float]:
    """Returns how often each stem stands in a memory, weighted."""
    own, other = map(Counter, own_and_other(passages))
    return {stem: own[stem] + OTHER_WEIGHT * other[stem] for stem in own | other}


def fill(view: View, text: TextIndex, *, into: Session | None = None) -> None:
    """Makes the full text of a project anew from its passages, in another session where one is given."""
    session = into or view.session
    text.begin(session, view.project)
    found = searched(view.session.all("texts_searched", {"project": view.project}), view.project, view.seal)
    while portion := list(islice(found, FILLED_AT_ONCE)):
        text.put(session, view.project, portion)


def searched(rows: Iterable[tuple[int, int, int, bytes, bytes]], project: int, seal: Seal) -> Iterator[Searched]:
    """Yields each memory with its passages, of rows given memory by memory. A text that is damaged is empty; `verify` reports it."""
    for memory, found in groupby(rows, key=lambda row: int(row[0])):
        yield (
            memory,
            [
                Passage.model_construct(
                    text=_opened(seal, text, "text", (project, memory, position)),
                    keywords=_opened(seal, keywords, "keywords", (project, memory, position)),
                    is_own=bool(is_own),
                )
                for _, position, is_own, text, keywords in found
            ],
        )


def _opened(seal: Seal, stored: bytes, name: str, row: tuple[int, int, int]) -> str:
    try:
        return seal.open(stored, place=f"passage.{name}", row=row).decode(errors="replace")
    except CorruptStoreError:
        return ""
