"""The evidence near a text: that of the outcomes and rules which say something on it, in the scope of a reader."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.learning.known_texts import unpacked
from alma.memory.room import Room
from alma.memory.scopes import readable
from alma.protocols import StoredEvidence
from alma.retrieval import bm25
from alma.retrieval.query import without_names
from alma.types.kinds import MemoryType

Vectors = Mapping[str, NDArray[np.float32]]
"""Vectors by text."""

NEAREST = 100
"""So many passages of each kind and owner are looked at."""

LEARNED_KINDS = frozenset({MemoryType.OUTCOME.value, MemoryType.HEURISTIC.value, MemoryType.ANTI_PATTERN.value})


@dataclass(frozen=True, slots=True)
class Near:
    """A memory near a text, with its cosine."""

    memory: int
    cosine: float


@dataclass(frozen=True, slots=True)
class NearClass:
    """A class of some agent's tasks, and how near its nearest memory is."""

    agent: str
    task_class: str
    cosine: float


def near(room: Room, *, reader: str, text: str, kinds: Collection[str], least: float) -> list[Near]:
    """The memories of these kinds that a reader sees, nearest first."""
    scope = readable(room, agent=reader, user_id=None)
    partitions = [row for row, kind in scope.kinds.items() if kind in kinds]
    if not partitions:
        return []
    names = frozenset({scope.by_row[row].owner for row in partitions} | {reader})
    vector = room.store.texts.query(without_names(text, names), room.project)
    found = room.index.current().search(vector, partitions=partitions, limit=NEAREST)
    best: dict[int, tuple[float, int]] = {}
    scores = np.asarray(found.scores, dtype=np.float64).tolist()
    for memory, tie, score in zip(found.memories.tolist(), found.ties.tolist(), scores, strict=True):
        if score >= least:
            best[memory] = min(best.get(memory, (1.0, tie)), (-score, tie))
    return [Near(memory, -negative) for memory, (negative, _) in sorted(best.items(), key=lambda item: (item[1], -item[0]))]


def holding(room: Room, *, reader: str, words: Sequence[str], kinds: Collection[str], most: int) -> list[int]:
    """The rows of the memories of these kinds that a reader sees and that hold most of the words, by their weight."""
    partitions = [row for row, kind in readable(room, agent=reader, user_id=None).kinds.items() if kind in kinds]
    if not partitions or not words:
        return []
    found = bm25.scored(room.project.text_lists(words, partitions=partitions, common=bm25.COMMON))
    memories, ties = room.index.current().ties(found.memories)
    scores = found.scores[found.memories.searchsorted(memories)]
    return [int(row) for row in memories[np.lexsort((ties, -scores))[:most]]]


def near_classes(room: Room, found: list[Near]) -> list[NearClass]:
    """The classes that the memories belong to, nearest first."""
    behind = room.project.learned.behind([item.memory for item in found])
    classes: dict[tuple[str, str], float] = {}
    for item in found:
        stored = behind.get(item.memory)
        if stored is not None:
            classes.setdefault(place_of(stored), item.cosine)
    return [NearClass(agent, task_class, cosine) for (agent, task_class), cosine in classes.items()]


def vectors_of(room: Room, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """The stored vectors of those of the texts that have one."""
    return {text: unpacked(vector) for text, vector in room.project.vectors(texts).items()}


def cosine_of(vectors: Vectors, one: str, other: str) -> float:
    """The cosine of two texts, 0 where the vector of one is not there."""
    return float(vectors[one] @ vectors[other]) if one in vectors and other in vectors else 0.0


def place_of(stored: StoredEvidence) -> tuple[str, str]:
    """Whose class of tasks it is about."""
    return stored.evidence.agent, stored.evidence.task_class
