"""A full-text index as figures by document, so that two can be compared: the one that is stored, and one made anew from the passages.

One number stands for the words of a document: the sum of their hashes modulo two to the 64th; their order is no part of it.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from alma.storage.relational.logical import View
from alma.storage.sqlite import fulltext
from alma.storage.sqlite.session import connection_of
from alma.types.passages import Passage

MEMORIES_AT_ONCE = 50_000
"""The number of memories whose documents are made anew at a time, in memory."""

_MODEL = 1
_OF_MEMORIES = """
    SELECT memory, position, is_own, text, keywords FROM passage WHERE memory BETWEEN ? AND ? AND project = ? ORDER BY memory, position"""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of an index, ascending: the size that each has by itself, the number of its words that are found, and their sum.

    `strays` is the number of entries of words in no document.
    """

    numbers: Integers
    sizes: Integers
    counts: Integers
    sums: NDArray[np.uint64]
    strays: int


def documents(connection: sqlite3.Connection, project: int) -> Documents:
    """All documents of a project's index."""
    sizes = dict(fulltext.sizes(connection, project))
    numbers = np.array(sorted(sizes), dtype=np.int64)
    counts, sums, strays = np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=np.uint64), 0
    for word, listed in fulltext.standing(connection, project):
        places = np.minimum(np.searchsorted(numbers, listed), max(len(numbers) - 1, 0))
        is_known = numbers[places] == listed if len(numbers) else np.zeros(len(listed), dtype=np.bool_)
        strays += int((~is_known).sum())
        np.add.at(counts, places[is_known], 1)
        np.add.at(sums, places[is_known], _hash(word))
    return Documents(numbers, np.array([sizes[number] for number in numbers.tolist()], dtype=np.int64), counts, sums, strays)


def made_anew(view: View, memories: Integers) -> Iterator[tuple[Integers, Documents]]:
    """The documents that memories, given ascending, should have, some thousand memories at a time."""
    for start in range(0, len(memories), MEMORIES_AT_ONCE):
        chunk = memories[start : start + MEMORIES_AT_ONCE]
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
            fulltext.create(model, _MODEL)
            model.execute("BEGIN")
            fulltext.insert_all(model, _MODEL, passages_by_memory(view, chunk.tolist()))
            model.execute("COMMIT")
            yield chunk, documents(model, _MODEL)


def passages_by_memory(view: View, memories: Sequence[int]) -> Iterator[tuple[int, list[Passage]]]:
    """The passages of memories, given ascending, as far as full text needs them. What cannot be read is found elsewhere."""
    wanted = set(memories)
    given = (memories[0], memories[-1], view.project) if memories else (0, 0, view.project)
    for memory, found in groupby(connection_of(view.session).execute(_OF_MEMORIES, given), key=lambda row: int(row[0])):
        if memory in wanted:
            yield memory, [_passage(view, (view.project, memory, position), *values) for _, position, *values in found]


def _passage(view: View, row: tuple[int, int, int], is_own: int, text: bytes, keywords: bytes) -> Passage:
    return Passage.model_construct(
        text=_text(view, text, "text", row), keywords=_text(view, keywords, "keywords", row), is_own=bool(is_own)
    )


def _text(view: View, sealed: bytes, name: str, row: tuple[int, int, int]) -> str:
    return view.seal.open(sealed, place=f"passage.{name}", row=row).decode(errors="replace")


def _hash(word: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little"))
