"""The memories that are nearest to the events that a question sets in time.

"How many days passed between the fair and the move?" is put as a whole, and as "the fair" and "the move": what answers it is often said in two
conversations, of which the whole question may resemble but one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from alma.memory.readable import ReadableScope
from alma.memory.recall.named_speakers import search_named
from alma.memory.recall.search import Found, Question
from alma.memory.room import Room
from alma.retrieval.named_events import NamedEvents
from alma.retrieval.query import addressed, query_words, without_names
from alma.retrieval.ranking import contenders
from alma.types.memories import AnyMemory
from alma.types.timeline import DATED, DatedEvent, Relation, Timeline
from alma.vectors import AnyIndex


def nearest_to_events(
    room: Room,
    index: AnyIndex,
    question: Question,
    named: NamedEvents,
    scope: ReadableScope,
    *,
    without: frozenset[str],
    hits: int,
) -> Mapping[str, int]:
    """Returns the row of the conversation or outcome that is nearest to each event, where one is relevant to it. `without` are the names of agents.

    Nothing for a single event: that is what the question asks for anyway.
    """
    if len(named.events) < 2:
        return {}
    nearest = {
        event: _nearest(search_named(room, index, _about(room, question, event, without), scope, hits=hits), scope)
        for event in named.events
    }
    return {event: row for event, row in nearest.items() if row is not None}


def _about(room: Room, question: Question, event: str, without: frozenset[str]) -> Question:
    """The question about one event alone."""

    def vector_of(text: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
        return room.store.texts.query(without_names(text, without), room.project)

    to_speakers = None if question.addressed is None else vector_of(addressed(event, question.speakers))
    return replace(question, vector=vector_of(event), words=query_words(event), addressed=to_speakers)


def _nearest(found: Found, scope: ReadableScope) -> int | None:
    """The memory that happened at a time and was found best, of several that are equally near always the same."""
    dated = np.flatnonzero(np.isin(found.partitions, [row for row in scope.rows if scope.kinds[row] in DATED]))
    groups = np.zeros(len(dated), dtype=np.int64)
    best = contenders(found.similarities[dated], memories=found.memories[dated], groups=groups, ties=found.ties[dated], limit=1)
    return best[0].memory if best else None


def timeline(
    named: NamedEvents | None, nearest: Mapping[str, int], shown: Sequence[tuple[int, AnyMemory]], stands_for: Mapping[int, int]
) -> Timeline | None:
    """Returns the events of a question with those of the memories shown that are nearest to them; `None` where it sets none in time.

    `shown` are the memories by row, best first; one may stand for others that are folded into it.
    """
    if named is None:
        return None
    memories = dict(shown)
    if named.relation in (Relation.AGE, Relation.DATE):
        best = next((row for row, memory in shown if memory.kind in DATED), None)
        nearest = {} if best is None else dict.fromkeys(named.events, best)
    rows = {event: stands_for.get(row, row) for event, row in nearest.items()}
    dated = [
        DatedEvent(event=event, memory_id=memories[row].id, at=memories[row].seen_at)
        for event, row in rows.items()
        if row in memories
    ]
    return Timeline(relation=named.relation, events=tuple(sorted(dated, key=lambda one: one.at)))
