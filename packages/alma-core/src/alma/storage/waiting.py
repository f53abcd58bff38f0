"""Memories that wait for the full text, and their words meanwhile.

FTS5 writes nearly as much for one memory as for many, most of it again with the next one. So a short memory that is added waits, named in the
row of its project, until there are enough of them; then one call takes them all in. Until then each process reads their words from their
passages when it first searches, and finds them like all others.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from alma.storage import compiled, fulltext
from alma.storage.logical import View
from alma.types.passages import Passage

MOST_WAITING = 64
LONGEST_WAITING = 4_000
"""Characters of a memory. With the number of them it bounds what a process has to read before its first search."""


def may_wait(passages: Sequence[Passage]) -> bool:
    """Whether these passages are few and short enough to be read again before they are searched."""
    return sum(len(passage.text) + len(passage.keywords) for passage in passages) <= LONGEST_WAITING


def take_in(view: View, memories: Sequence[int], known: Mapping[int, Sequence[Passage]] | None = None) -> None:
    """Puts memories that waited into the full text. None waits any more then. Passages that are `known` are not read again."""
    if memories:
        in_hand = {memory: passages for memory, passages in (known or {}).items() if memory in memories}
        read = list(searched(view, [memory for memory in memories if memory not in in_hand]))
        fulltext.insert_all(view.connection, view.project, [*read, *in_hand.items()])
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
