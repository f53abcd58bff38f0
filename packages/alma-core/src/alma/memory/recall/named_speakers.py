"""Searches in which a question names speakers of conversations.

Who speaks says nothing of what is said: such a name misleads the vector of a question among conversations, and leads its words to the right ones.
Elsewhere, in a fact about that person, it means something. So conversations are searched by the vector of the question as it is put to these people
("What did you cook?"), all else by the whole one.
"""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from alma.memory.readable import ReadableScope
from alma.memory.recall.search import DENSE, Found, Question, joined, judged_anew, search
from alma.memory.room import Room
from alma.protocols import PassageScores
from alma.retrieval import fusion
from alma.retrieval.query import named_in
from alma.types.kinds import MemoryType
from alma.types.memories import Conversation
from alma.vectors import AnyIndex

MOST_READ = 20
"""Conversations whose speakers are looked at: those that were found best."""

MOST_FAVOURED = 30
"""Conversations of which it is looked at who said what."""

NEARER = 0.05
"""What is added to the cosine of a sentence of the one person that a question names."""

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
    """Finds as `search` does; conversations by `question.addressed`, where that is given."""
    found = search(room, index, question, scope, hits=hits, also=also, always=always)
    if question.addressed is None:
        return found
    other = search(room, index, replace(question, vector=question.addressed), scope, hits=hits, also=also, always=always)
    return _favoured(room, joined(found, other, _conversations(scope)), question, scope)


def _favoured(room: Room, found: Found, question: Question, scope: ReadableScope) -> Found:
    """What was found, with what the one person said that the question names a little nearer, in the conversations that were found best.

    "What did Ann cook?" is mostly answered by Ann.
    """
    if len(question.speakers) != 1 or DENSE not in question.arms:
        return found
    evidence, scored = found.evidence, found.evidence.passages
    rows = np.sort(_best(found, scope, MOST_FAVOURED))
    own = np.flatnonzero(np.isin(scored.memories, rows))
    if not len(own):
        return found
    raised = PassageScores(*(getattr(scored, field.name)[own] for field in fields(PassageScores)))
    nearest = _may_count(raised)
    passages = room.project.passages(raised.passages[nearest].tolist())
    said = [
        (passage := passages.get(row)) is not None and passage.speaker in question.speakers for row in raised.passages.tolist()
    ]
    raised = replace(raised, scores=raised.scores + NEARER * np.array(said, dtype=np.float32))
    cosines = evidence.cosines.copy()
    cosines[evidence.memories.searchsorted(rows)] = fusion.pooled(raised, rows)
    return judged_anew(found, cosines)


def _may_count(scored: PassageScores) -> NDArray[np.int64]:
    """The passages that may be among the three nearest of their memory once some are raised: what is farther need not be looked at."""
    order = np.lexsort((-scored.scores, scored.memories))
    memories = scored.memories[order]
    first = np.append(0, np.flatnonzero(np.diff(memories)) + 1)
    last_of = np.append(first[1:], len(memories))
    third = np.minimum(first + 2, last_of - 1)
    least = np.repeat(scored.scores[order][third] - NEARER, last_of - first)
    return order[scored.scores[order] >= least]


def named_speakers(room: Room, question: str, found: Found, scope: ReadableScope) -> frozenset[str]:
    """Returns the speakers that a question names, of the conversations that were found best for it."""
    best = _best(found, scope, MOST_READ)
    read = room.project.memories(best.tolist()).values() if len(best) else ()
    names = {name for memory in read if isinstance(memory, Conversation) for name in memory.names}
    return named_in(question, names)


def _best(found: Found, scope: ReadableScope, most: int) -> NDArray[np.int64]:
    """The conversations that were found best, best first."""
    partitions = _conversations(scope)
    at = np.flatnonzero(np.isin(found.partitions, partitions)) if partitions else _NONE
    return found.memories[at[np.argsort(-found.similarities[at], kind="stable")[:most]]]


def _conversations(scope: ReadableScope) -> Sequence[int]:
    return [row for row, kind in scope.kinds.items() if kind == MemoryType.CONVERSATION]
