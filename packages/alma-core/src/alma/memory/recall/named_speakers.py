"""Searches in which a question names speakers of conversations.

Who speaks says nothing of what is said: such a name misleads the vector of a question among conversations, and leads its words to the right ones.
Elsewhere, in a fact about that person, it means something. So conversations are searched by a vector without the names, all else by the whole one.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from alma.memory.readable import ReadableScope
from alma.memory.recall.search import Found, Question, joined, search
from alma.memory.room import Room
from alma.types.kinds import MemoryType
from alma.types.memories import Conversation
from alma.vectors import AnyIndex

MOST_READ = 20
"""Conversations whose speakers are looked at: those that were found best."""

_NONE = np.empty(0, dtype=np.int64)


def search_named(
    room: Room,
    index: AnyIndex,
    question: Question,
    scope: ReadableScope,
    *,
    hits: int = 0,
    also: NDArray[np.int64] = _NONE,
    always: NDArray[np.int64] = _NONE,
) -> Found:
    """Finds as `search` does; conversations by `question.nameless`, where that is given."""
    found = search(room, index, question, scope, hits=hits, also=also, always=always)
    if question.nameless is None:
        return found
    other = search(room, index, replace(question, vector=question.nameless), scope, hits=hits, also=also, always=always)
    return joined(found, other, _conversations(scope))


def named_speakers(room: Room, question: str, found: Found, scope: ReadableScope) -> frozenset[str]:
    """Returns the speakers that a question names, of the conversations that were found best for it."""
    partitions = _conversations(scope)
    at = np.flatnonzero(np.isin(found.partitions, partitions)) if partitions else ()
    if not len(at):
        return frozenset()
    best = at[np.argsort(-found.similarities[at], kind="stable")[:MOST_READ]]
    read = room.project.memories(found.memories[best].tolist()).values()
    names = {name for memory in read if isinstance(memory, Conversation) for name in memory.names}
    words = question.casefold()
    return frozenset(name for name in names if name.casefold() in words)


def _conversations(scope: ReadableScope) -> Sequence[int]:
    return [row for row, kind in scope.kinds.items() if kind == MemoryType.CONVERSATION]
