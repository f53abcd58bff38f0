"""Memories near a text, or with its words, in the scope of a reader."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from alma.memory.room import Room
from alma.memory.scopes import readable
from alma.retrieval import bm25
from alma.retrieval.query import without_names

NEAREST = 100
"""Number of passages of each kind and owner that are looked at."""


@dataclass(frozen=True, slots=True)
class Near:
    """A memory near a text, with its cosine. `tie` is the hash of its content, which orders equal cosines."""

    memory: int
    cosine: float
    tie: int


def near(room: Room, *, reader: str, user_id: str | None, text: str, kinds: Collection[str], least: float) -> list[Near]:
    """The memories of these kinds that a reader sees, nearest first."""
    scope = readable(room, agent=reader, user_id=user_id)
    partitions = scope.of_kinds(kinds)
    if not partitions:
        return []
    names = scope.owners | {reader}
    vector = room.store.texts.query(without_names(text, names), room.project)
    found = room.index.current(partitions).search(vector, partitions=partitions, limit=NEAREST)
    best: dict[int, tuple[float, int]] = {}
    scores = np.asarray(found.scores, dtype=np.float64).tolist()
    for memory, tie, score in zip(found.memories.tolist(), found.ties.tolist(), scores, strict=True):
        if score >= least:
            best[memory] = min(best.get(memory, (1.0, tie)), (-score, tie))
    ordered = sorted(best.items(), key=lambda item: (item[1], -item[0]))
    return [Near(memory, -negative, tie) for memory, (negative, tie) in ordered]


def holding(
    room: Room, *, reader: str, user_id: str | None, words: Sequence[str], kinds: Collection[str], most: int
) -> list[int]:
    """The rows of the memories of these kinds that a reader sees and that hold most of the words, by their weight."""
    partitions = readable(room, agent=reader, user_id=user_id).of_kinds(kinds)
    if not partitions or not words:
        return []
    found = bm25.scored(room.project.text_lists(words, partitions=partitions, common=room.store.sizes.common))
    memories, ties = room.index.current(partitions).ties(found.memories)
    scores = found.scores[found.memories.searchsorted(memories)]
    return [int(row) for row in memories[np.lexsort((ties, -scores))[:most]]]
