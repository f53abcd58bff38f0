"""Searches for what a question names: speakers of conversations, and events that it sets in time.

Who speaks says nothing of what is said: such a name misleads the vector of a question among conversations, and leads its words to the right ones.
Elsewhere, in a fact about that person, it means something. So conversations are searched by the vector of the question as it is put to these people
("What did you cook?"), all else by the whole one.

"How many days passed between the fair and the move?" is put as a whole, and as "the fair" and "the move": what answers it is often said in two
conversations, of which the whole question may resemble but one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from alma.memory.recall.query import DENSE, Query
from alma.memory.recall.search import NO_MEMORIES, Found, fuse, join_passages, search, take_passages
from alma.memory.room import Room
from alma.protocols import PassageScores
from alma.retrieval import fusion
from alma.retrieval.named_events import NamedEvents
from alma.retrieval.query import addressed, named_in, query_words
from alma.retrieval.ranking import select_contenders
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, Conversation
from alma.types.timeline import DATED, DatedEvent, Relation, Timeline
from alma.vectors import AnyIndex

MOST_READ = 20
"""Conversations whose speakers are looked at: those that were found best."""

MOST_FAVOURED = 30
"""Conversations of which it is looked at who said what."""

NEARER = 0.05
"""Added to the cosine of each sentence of the only person that a question names."""

Integers = NDArray[np.int64]


def search_named(
    room: Room, index: AnyIndex, query: Query, *, hits: int = 0, also: Integers = NO_MEMORIES, always: Integers = NO_MEMORIES
) -> Found:
    """Finds as `search` does; conversations by `query.addressed`, where that is given."""
    found = search(room, index, query, hits=hits, also=also, always=always)
    if query.addressed is None:
        return found
    by_people = search(room, index, replace(query, vector=query.addressed), hits=hits, also=also, always=always)
    return _favour_speaker(room, _merge(found, by_people, _conversations(query)), query)


def with_speakers(room: Room, query: Query, found: Found) -> Query:
    """Returns the query with the speakers that the question names, of the conversations that were found best for it."""
    best = _best_conversations(found, query, MOST_READ)
    read = room.project.memories(best.tolist()).values() if len(best) else ()
    speakers = named_in(query.task, {name for memory in read if isinstance(memory, Conversation) for name in memory.names})
    if not speakers:
        return query
    return replace(query, addressed=query.embedded(room, addressed(query.task, speakers)), speakers=speakers)


def _conversations(query: Query) -> Sequence[int]:
    return query.scope.of_kinds({MemoryType.CONVERSATION})


def _best_conversations(found: Found, query: Query, most: int) -> Integers:
    at = found.relevant_in(_conversations(query))
    return found.memories[at[np.argsort(-found.similarities[at], kind="stable")[:most]]]


def _merge(one: Found, other: Found, of_other: Sequence[int]) -> Found:
    """Returns the findings of two searches of one scope: of the other one in the partitions `of_other`, of the first one elsewhere."""
    kept, taken = ~np.isin(one.partitions, of_other), np.isin(other.partitions, of_other)
    order = np.argsort(np.concatenate([one.memories[kept], other.memories[taken]]), kind="stable")
    columns = {
        name: np.concatenate([getattr(one, name)[..., kept], getattr(other, name)[..., taken]], axis=-1)[..., order]
        for name in (field.name for field in fields(Found) if field.name != "passages")
    }
    passages = join_passages(
        [
            take_passages(one.passages, ~np.isin(one.passages.partitions, of_other)),
            take_passages(other.passages, np.isin(other.passages.partitions, of_other)),
        ]
    )
    return Found(passages=passages, **columns)


def _favour_speaker(room: Room, found: Found, query: Query) -> Found:
    """Returns what was found, with the words of the one person that the question names a little nearer, in the best conversations.

    "What did Ann cook?" is mostly answered by Ann. The background stays, and what was left out stays out.
    """
    if len(query.speakers) != 1 or DENSE not in query.arms:
        return found
    rows = np.sort(_best_conversations(found, query, MOST_FAVOURED))
    own = take_passages(found.passages, np.isin(found.passages.memories, rows))
    if not len(own.passages):
        return found
    passages = room.project.passages(own.passages[_may_count(own)].tolist())
    said = [(passage := passages.get(row)) is not None and passage.speaker in query.speakers for row in own.passages.tolist()]
    raised = replace(own, scores=own.scores + NEARER * np.array(said, dtype=np.float32))
    scores = found.scores.copy()
    scores[0, found.memories.searchsorted(rows)] = fusion.pooled(raised, rows)
    z = fuse(query, scores, found.means, found.deviations, found.gains)
    return replace(found, scores=scores, z_scores=z, similarities=fusion.similarity(z))


def _may_count(scored: PassageScores) -> Integers:
    """Returns the passages that may be among the three nearest of their memory once some are raised: others need not be looked at."""
    order = np.lexsort((-scored.scores, scored.memories))
    memories = scored.memories[order]
    first = np.append(0, np.flatnonzero(np.diff(memories)) + 1)
    last_of = np.append(first[1:], len(memories))
    least = np.repeat(scored.scores[order][np.minimum(first + 2, last_of - 1)] - NEARER, last_of - first)
    return order[scored.scores[order] >= least]


def nearest_to_events(room: Room, index: AnyIndex, query: Query, *, hits: int) -> Mapping[str, int]:
    """Returns the row of the conversation or outcome that is nearest to each event, where one is relevant to it.

    Nothing for a single event: that is what the question asks for anyway.
    """
    nearest: dict[str, int] = {}
    events = () if query.events is None else query.events.events
    for event in events if len(events) > 1 else ():
        to_speakers = None if query.addressed is None else query.embedded(room, addressed(event, query.speakers))
        about = replace(query, vector=query.embedded(room, event), words=query_words(event), addressed=to_speakers)
        found = search_named(room, index, about, hits=hits)
        at = found.relevant_in(query.scope.of_kinds(DATED))
        best = select_contenders(
            found.similarities[at], memories=found.memories[at], groups=np.zeros_like(at), ties=found.ties[at], limit=1
        )
        if best:
            nearest[event] = best[0].memory
    return nearest


def make_timeline(
    named: NamedEvents | None, nearest: Mapping[str, int], shown: Sequence[tuple[int, AnyMemory]], stands_for: Mapping[int, int]
) -> Timeline | None:
    """Returns the events of a question with those of the memories shown that are nearest to them; `None` where it sets none in time.

    `shown` are the memories by row, best first; one may stand for others that are folded into it.
    """
    if named is None or not shown:
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
