"""Memories that wait for the full text, and their words meanwhile.

FTS5 writes nearly as much for one memory as for many, most of it again with the next one. So a short memory that is added waits, named in the
row of its project, until there are enough of them; then one call takes them all in. Until then each process reads their words from their
passages when it first searches, and finds them like all others.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import groupby

from alma.storage import compiled, fulltext
from alma.storage.logical import View
from alma.types.passages import Passage

MOST_WAITING = 32
LONGEST_WAITING = 4_000
"""Characters of a memory. With the number of them it bounds what a process has to read before its first search."""


def may_wait(passages: Sequence[Passage]) -> bool:
    """Whether these passages are few and short enough to be read again before they are searched."""
    return sum(len(passage.text) + len(passage.keywords) for passage in passages) <= LONGEST_WAITING


def take_in(view: View, memories: Sequence[int]) -> None:
    """Puts memories that waited into the full text. None waits any more then."""
    if memories:
        for memory, passages in searched(view, memories):
            fulltext.insert(view.connection, view.project, memory, passages)
        view.connection.execute(compiled.PROJECT_INDEXED, {"of_row": view.project, "unindexed": "[]"})


def searched(view: View, memories: Sequence[int]) -> Iterator[tuple[int, list[Passage]]]:
    """The passages of memories as far as full text needs them, by memory, ascending."""
    rows: sqlite3.Cursor = view.connection.execute(compiled.SEARCHED, {"rows": json.dumps(list(memories))})
    for memory, found in groupby(rows.fetchall(), key=lambda row: int(row[0])):
        yield memory, [_passage(view, *values) for _, *values in found]


def _passage(view: View, is_own: int, text: bytes, keywords: bytes) -> Passage:
    return Passage.model_construct(
        text=view.seal.open(text, place="passage.text").decode(),
        keywords=view.seal.open(keywords, place="passage.keywords").decode(),
        is_own=bool(is_own),
    )
