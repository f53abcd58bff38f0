"""The way of a retrieval: scope, two searches, rules near, rank, fold, slice. Writes nothing."""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np

from alma.memory.recall.answer import Answer, find_disputes, make_slice
from alma.memory.recall.explanations import explain_answer
from alma.memory.recall.query import Query, RetrieveRequest, understand
from alma.memory.recall.rank import contenders_for, rank, select_from
from alma.memory.recall.search import Found, nearest_to_events, search_named, with_speakers
from alma.memory.recall.ways import rules_near
from alma.memory.room import Room
from alma.retrieval.fusion import Contender
from alma.types.memories import Outcome
from alma.types.slice import MemorySlice


def retrieve(room: Room, request: RetrieveRequest, *, explain: bool = False) -> MemorySlice:
    """Returns the memories that matter for a task, at most `top_k` of each kind, best first; with every number behind them if `explain`."""
    begun = perf_counter()
    query = understand(room, request)  # checked, redacted and embedded, with the readable scope
    answer = find_answer(room, query)
    explained = explain_answer(room, answer) if explain and answer else {}
    shown = make_slice(room, query, answer, explained)
    return shown.model_copy(update={"retrieval_time_ms": (perf_counter() - begun) * 1000})


def find_answer(room: Room, query: Query) -> Answer | None:
    """Returns what is given back for a query, and what it was chosen from; `None` where nothing is readable."""
    if query.scope.is_empty:
        return None
    with room.project.moment():  # all that is read is of one state of the store
        query, found, contenders, nearest = _search(room, query)
        ranking = rank(room, query, contenders)  # attempts are folded into one outcome each
        rules = rules_near(room, query, [one.id for one in ranking.memories.values() if isinstance(one, Outcome)])
    order, contradictions, dispreferred = find_disputes(room.store, ranking.order, ranking.memories, verified=query.verified)
    return Answer(query, found, contenders, ranking, rules, order, contradictions, dispreferred, nearest)


def _search(room: Room, query: Query) -> tuple[Query, Found, list[Contender], Mapping[str, int]]:
    """Searches once for the question as it is put; again for the speakers that it names, if it names any, and for the events.

    Returns the query with what the store knows of it, what was found, the contenders, and the memory nearest to each event.
    """
    index, hits = room.index.current(query.scope.rows), contenders_for(query.top_k)
    if (times := query.times) is not None:  # read from the store: exact, whatever the searches hold
        rows = room.project.within(query.scope.rows, since=times.since, until=times.until, known_by=times.known_by)
        query = replace(query, within=np.array(rows, dtype=np.int64))
    found = search_named(room, index, query, hits=hits)
    query = with_speakers(room, query, found)
    if query.speakers:
        found = search_named(room, index, query, hits=hits)
    contenders = select_from(index, query, found)
    nearest = nearest_to_events(room, index, query, hits=hits)
    near = set(nearest.values())
    if near - {one.memory for one in contenders}:
        always = np.array(sorted(near), dtype=np.int64)
        found = search_named(room, index, query, hits=hits, always=always)
        contenders = select_from(index, query, found, always)
    return query, found, [one._replace(is_kept=True) if one.memory in near else one for one in contenders], nearest
