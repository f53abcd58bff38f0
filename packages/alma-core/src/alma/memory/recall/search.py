"""Two searches, each candidate of one scored exactly in the other, and the background that both are judged against."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from alma.errors import StorageError
from alma.memory.pool import Job
from alma.memory.recall.query import ARMS, DENSE, TEXT, Query
from alma.memory.room import Room
from alma.protocols import CommonWords, PassageScores, TextScores
from alma.retrieval import fusion
from alma.retrieval.fusion import select_contenders
from alma.retrieval.named_time import NamedEvents
from alma.text import addressed, named_in, query_words
from alma.types.identity import to_micros
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, Conversation
from alma.types.timeline import DATED, DatedEvent, Relation, Timeline
from alma.vectors import AnyIndex, ascending

MOST_DATED = 300
"""Memories whose times are read for a question that names one: reading those of a whole sample would take longer than the search."""

MOST_READ = 20
"""Conversations whose speakers are looked at: those that were found best."""

MOST_FAVOURED = 30
"""Conversations of which it is looked at who said what."""

NEARER = 0.05
"""Added to the cosine of each sentence of the only person that a question names."""

NEVER_COMMON = CommonWords(number=sys.maxsize, share=1.0, newest=0)

_USUAL = {DENSE: fusion.DENSE, TEXT: fusion.TEXT}

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NO_MEMORIES = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """All memories that were scored, irrelevant ones included, as parallel arrays; `memories` ascend.

    `scores`, and the `means` and `deviations` of the background that they are judged against, have a row for each of `ARMS`. `gains` is what each
    memory gains for the time that the question names. `similarities` are of the fused `z_scores`; `is_relevant` marks the memories above the
    floor. `passages` are those of all the memories.
    """

    passages: PassageScores
    memories: Integers
    partitions: Integers
    ties: Integers
    scores: Floats
    means: Floats
    deviations: Floats
    gains: Floats
    z_scores: Floats
    similarities: Floats
    is_relevant: Flags

    def place_of(self, memory: int) -> int | None:
        """Returns where a memory stands; `None` if it was not scored."""
        at = int(self.memories.searchsorted(memory))
        return at if at < len(self.memories) and self.memories[at] == memory else None

    def relevant_in(self, partitions: Collection[int]) -> Integers:
        """Returns the places of the relevant memories of some partitions."""
        return np.flatnonzero(self.is_relevant & np.isin(self.partitions, list(partitions)))


def search(
    room: Room, index: AnyIndex, query: Query, *, hits: int = 0, also: Integers = NO_MEMORIES, always: Integers = NO_MEMORIES
) -> Found:
    """Finds the memories of the scope that say something on the question.

    Each arm contributes at least `hits` candidates, or as many as is usual. Memories of `also` are judged even where neither arm finds them;
    memories of `always` are relevant whatever they say.
    """
    gather = _gather if query.within is None else _gather_within
    text, passages, sample = gather(room, index, query, max(hits, room.store.sizes.hits), np.concatenate([also, always]))
    passages, memories, first = _sort_by_memory(passages)
    scores = np.stack([fusion.pooled(passages, memories), _align(text, memories)])
    sampled = scores if sample is None else scores[:, find_among(sample, memories)[1]]
    backgrounds = [fusion.Background.of(row, _USUAL[arm]) for arm, row in zip(ARMS, sampled, strict=True)]
    means = np.array([[background.mean] for background in backgrounds])
    deviations = np.array([[background.deviation] for background in backgrounds])
    z = fuse(query, scores, means, deviations)
    gains = np.zeros(len(memories))
    partitions = passages.partitions[first]
    if query.time is not None:
        gains = _gain_by_time(room, query, memories, partitions, z)
        z = fuse(query, scores, means, deviations, gains)
    cosines, shares = scores if DENSE in query.arms else (np.zeros(len(memories)), scores[1])
    kept = fusion.relevant(cosines, shares, least_cosine=least_cosine(room, query.arms))
    kept |= query.scope.always_hold(partitions)
    if len(always):
        kept |= np.isin(memories, always)
    if query.is_of_time_alone:
        kept |= gains > 0.0
    kept &= query.scope.is_open(partitions)
    return Found(
        passages=passages,
        memories=memories,
        partitions=partitions,
        ties=passages.ties[first],
        scores=scores,
        means=np.zeros(scores.shape) + means,
        deviations=np.zeros(scores.shape) + deviations,
        gains=gains,
        z_scores=z,
        similarities=fusion.similarity(z),
        is_relevant=kept,
    )


def fuse(query: Query, scores: Floats, means: Floats, deviations: Floats, gains: Floats | float = 0.0) -> Floats:
    """Returns the fused z of scores, by the arms that the query asks for."""
    z = (scores - means) / deviations
    return fusion.fused([(row, _USUAL[arm].weight) for arm, row in zip(ARMS, z, strict=True) if arm in query.arms], gains)


def weights_of(arms: Collection[str]) -> dict[str, float]:
    """Returns what each of some arms weighs in the fusion."""
    return {arm: usual.weight for arm, usual in _USUAL.items() if arm in arms}


def least_cosine(room: Room, arms: Collection[str]) -> float:
    """Returns the cosine of the store's embedder from which on a memory is relevant. Without a search by vectors none counts."""
    scale = room.scale if DENSE in arms else None
    return fusion.LEAST_COSINE if scale is None else scale.back(fusion.LEAST_COSINE)


def join_passages(parts: Sequence[PassageScores]) -> PassageScores:
    """Returns the passages of all parts, one behind the other."""
    if len(parts) == 1:
        return parts[0]
    return PassageScores(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(PassageScores)))


def take_passages(passages: PassageScores, places: Integers | Flags) -> PassageScores:
    """Returns the passages at some places."""
    return PassageScores(*(getattr(passages, field.name)[places] for field in fields(PassageScores)))


def _gather(
    room: Room, index: AnyIndex, query: Query, hits: int, also: Integers
) -> tuple[TextScores, PassageScores, Integers | None]:
    """Returns what the words find, the passages of all candidates with their cosines, and the memories of the background; `None` where it is
    all candidates."""
    sizes, partitions = room.store.sizes, query.scope.rows
    of_sample, population = index.background(
        query.vector, partitions=partitions, all_up_to=sizes.all_up_to, otherwise=sizes.sample
    )
    sample = ascending(of_sample.memories)
    is_scanned = population > sizes.all_up_to and DENSE in query.arms
    is_large = is_scanned and population > sizes.beside_above
    find_nearest: Callable[[], Integers] = partial(_find_nearest, index, query, hits)
    if is_large:
        nearest = Job(find_nearest)
        find_nearest = nearest.result
        with suppress(StorageError):  # without a thread this one searches
            room.store.beside.submit(nearest.run)
    text = _match_words(room, query)
    if population > sizes.all_up_to:
        also = np.concatenate([also, _find_by_words(text, index, 2 * hits)])
    if is_scanned:
        also = np.concatenate([also, find_nearest()])
    others = ascending(also)
    others = others[~find_among(sample, others)[1]]
    if not len(others):
        return text, of_sample, None
    return text, join_passages([of_sample, index.score(query.vector, memories=others)]), sample


def _find_nearest(index: AnyIndex, query: Query, limit: int) -> Integers:
    """Returns the memories that are nearest in each kind, of copies the newest."""
    return index.nearest(query.vector, partitions=query.scope.rows, limit=limit).memories


def _gather_within(
    room: Room, index: AnyIndex, query: Query, hits: int, also: Integers
) -> tuple[TextScores, PassageScores, Integers | None]:
    """Returns as `_gather` does, among the memories that count by their times. Up to `all_within` of them are all compared."""
    within, sizes, text = query.within, room.store.sizes, _match_words(room, query)
    assert within is not None
    if len(within) <= sizes.all_within:
        return text, index.score(query.vector, memories=within), None
    held, ties = index.ties(within)
    sample = np.sort(held[np.argpartition(ties, sizes.sample)[: sizes.sample]]) if len(held) > sizes.sample else held
    found = [sample, _find_by_words(text, index, 2 * hits), also[np.isin(also, within)]]
    if DENSE in query.arms:
        found.append(_find_nearest_within(index, query, within, hits))
    return text, index.score(query.vector, memories=np.unique(np.concatenate(found))), sample


def _find_nearest_within(index: AnyIndex, query: Query, within: Integers, limit: int) -> Integers:
    """Returns the memories of the `limit` nearest passages of each kind that belong to memories that count.

    A search cannot leave out the others; so each kind is searched for four times as many until enough of them count or it has no more.
    """
    found, scope = [NO_MEMORIES], query.scope
    for kind in dict.fromkeys(scope.kinds[row] for row in scope.rows):
        rows, wanted = [row for row in scope.rows if scope.kinds[row] == kind], 4 * limit
        while True:
            near = index.search(query.vector, partitions=rows, limit=wanted).memories
            inside = near[np.isin(near, within)]
            if len(near) < wanted or len(inside) >= limit:
                break
            wanted *= 4
        found.append(inside)
    return np.concatenate(found)


def _match_words(room: Room, query: Query) -> TextScores:
    """Returns what the words of the question find; nothing if it is asked without them."""
    words = query.words if TEXT in query.arms else ()
    if query.within is None:
        return fusion.score_words(room.project.text_lists(words, partitions=query.scope.rows, common=room.store.sizes.common))
    # a word that is common in the scope may be listed for its newest memories only, of which none may count
    lists = room.project.text_lists(words, partitions=query.scope.rows, common=NEVER_COMMON)
    return fusion.score_words(fusion.narrow(lists, query.within))


def _find_by_words(text: TextScores, index: AnyIndex, limit: int) -> Integers:
    """Returns the memories of different contents that full text scores best and the index holds, equal ones by tie, of copies the newest."""
    best = memories = NO_MEMORIES
    for most in (limit, 4 * limit, len(text.memories)):  # copies of one content may crowd out the rest
        first = _find_greatest(text.scores, most)
        memories, ties = index.ties(text.memories[first])
        order = np.lexsort((-memories, ties, -text.scores[text.memories.searchsorted(memories)]))
        best = order[np.append(True, np.diff(ties[order]) != 0)[: len(order)]]
        if len(first) == len(text.memories) or len(best) >= limit:
            break
    return memories[best[:limit]]


def _find_greatest(scores: Floats, count: int) -> Integers:
    """Returns the places of the `count` greatest scores, ascending, and of all that equal the last of them."""
    if count >= len(scores):
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - count)[len(scores) - count])


def _gain_by_time(room: Room, query: Query, memories: Integers, partitions: Integers, z: Floats) -> Floats:
    """Returns what each memory gains for having happened when the question says. Of many the `MOST_DATED` with the greatest `z` are read."""
    assert query.time is not None
    gains = np.zeros(len(memories))
    of_dated = query.scope.of_kinds(DATED)
    dated = np.flatnonzero(np.isin(partitions, of_dated))
    if len(dated) > MOST_DATED:
        dated = dated[np.argsort(-z[dated], kind="stable")[:MOST_DATED]]
    since, until = to_micros(query.time.start), to_micros(query.time.end)
    inside = room.project.within(of_dated, since=since, until=until, among=memories[dated].tolist())
    gains[dated] = fusion.gains_of_time(np.isin(memories[dated], inside))
    return gains * (fusion.OF_TIME_ALONE if query.is_of_time_alone else 1.0)


def _sort_by_memory(passages: PassageScores) -> tuple[PassageScores, Integers, Integers | slice]:
    """Returns the passages by ascending memory, the memories once each, and where each stands first."""
    memories = passages.memories
    if (memories[1:] < memories[:-1]).any():
        passages = take_passages(passages, np.argsort(memories, kind="stable"))
        memories = passages.memories
    is_other = memories[1:] != memories[:-1]
    if is_other.all():
        return passages, memories, slice(None)
    first = np.append(0, np.flatnonzero(is_other) + 1)
    return passages, memories[first], first


def find_among(values: Integers, wanted: Integers) -> tuple[Integers, Flags]:
    """Returns where each wanted number stands in values, which ascend, and whether it is there."""
    if not len(values):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    places = np.minimum(values.searchsorted(wanted), len(values) - 1)
    return places, values[places] == wanted


def _align(text: TextScores, memories: Integers) -> Floats:
    """Returns the text scores of the memories, 0 where nothing matched."""
    places, is_there = find_among(text.memories, memories)
    return np.where(is_there, text.scores[places], 0.0) if len(text.memories) else np.zeros(len(memories))


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

    `shown` are the memories by row, best first; others may be folded into one.
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
