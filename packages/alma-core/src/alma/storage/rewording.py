"""Whether the full text holds the words that the memories say: their documents are made anew, and the words of each compared as one number.

The number of a document is the sum of the hashes of its words, modulo two to the 64th, so the order of the words is no part of it.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from alma.storage import fulltext
from alma.storage.logical import View
from alma.types.passages import Passage

CHUNK = 50_000
"""The documents of so many memories are made anew at a time, in memory."""

_MODEL = 1

Integers = NDArray[np.int64]


def reworded(view: View, memories: Sequence[int]) -> Iterator[int]:
    """Those of the searchable memories, given ascending, whose words in the full text are not those of their passages."""
    rows = np.array(memories, dtype=np.int64)
    held = _sums(view.connection, view.project, _documents(rows))
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        differing = held[2 * start : 2 * (start + CHUNK)] != _sums_anew(view, chunk)
        yield from chunk[differing.reshape(-1, 2).any(axis=1)].tolist()


def _documents(memories: Integers) -> Integers:
    """The numbers that the documents of memories have, ascending: two each."""
    return np.stack([2 * memories, 2 * memories + 1], axis=1).reshape(-1)


def _sums_anew(view: View, memories: Integers) -> NDArray[np.uint64]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        fulltext.create(model, _MODEL)
        model.execute("BEGIN")
        for memory, passages in _passages(view, memories):
            fulltext.insert(model, _MODEL, memory, passages)
        model.execute("COMMIT")
        return _sums(model, _MODEL, _documents(memories))


def _passages(view: View, memories: Integers) -> Iterator[tuple[int, list[Passage]]]:
    """The passages of memories as far as full text needs them. What cannot be read is found elsewhere."""
    rows = view.connection.execute(
        "SELECT memory, is_own, text, keywords FROM passage WHERE memory BETWEEN ? AND ? AND project = ? ORDER BY memory, position",
        (int(memories[0]), int(memories[-1]), view.project),
    )
    wanted = set(memories.tolist())
    for memory, found in groupby(rows, key=lambda row: int(row[0])):
        if memory in wanted:
            yield (
                memory,
                [
                    Passage.model_construct(
                        text=_text(view, text, "text"), keywords=_text(view, keywords, "keywords"), is_own=bool(is_own)
                    )
                    for _, is_own, text, keywords in found
                ],
            )


def _text(view: View, sealed: bytes, name: str) -> str:
    return view.seal.open(sealed, place=f"passage.{name}").decode(errors="replace")


def _sums(connection: sqlite3.Connection, project: int, documents: Integers) -> NDArray[np.uint64]:
    """The number of each of the documents; 0 for one that has no words. Reads the whole index."""
    sums = np.zeros(len(documents), dtype=np.uint64)
    if len(documents):
        for word, listed in fulltext.standing(connection, project):
            places = np.minimum(np.searchsorted(documents, listed), len(documents) - 1)
            np.add.at(sums, places[documents[places] == listed], _hash(word))
    return sums


def _hash(word: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little"))
