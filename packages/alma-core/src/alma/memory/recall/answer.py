"""An answer, and the slice that shows it: whose each memory is, what contradicts it, its nearest turns, rules among memories, tags."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from importlib.metadata import entry_points
from itertools import count
from operator import itemgetter
from typing import Any

from alma.errors import ConfigurationError
from alma.memory.quarantine import doubts_together
from alma.memory.recall.named_search import make_timeline
from alma.memory.recall.query import ARMS, Query
from alma.memory.recall.rank import Ranking
from alma.memory.recall.search import Found
from alma.memory.recall.turn_hits import find_turns
from alma.memory.recall.ways import RulesNear, ShownRule
from alma.memory.room import OpenStore, Room
from alma.protocols import FindContradictions
from alma.retrieval.fusion import relevance
from alma.retrieval.ranking import Contender, Ranked
from alma.text import spelt
from alma.types.identity import from_micros
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, DomainKnowledge, Outcome, UserPreference
from alma.types.provenance import FLAGGED, is_vouched_for
from alma.types.recalled import CONTRADICTED, Contradiction, Disputes, Explanation, Factors, Recalled, TurnHit
from alma.types.sentences import ATTEMPT, HITS, MOST_HITS
from alma.types.slice import MemorySlice
from alma.types.strategies import TRIED
from alma.types.tags import WAY, tags_for

SHARED_FROM = "shared_from"
"""The key of the metadata that names the owner of a shared memory. Set here only, whatever was stored under it."""

ENTRY_POINTS = "alma.contradictions"

Claimed = DomainKnowledge | UserPreference


@dataclass(frozen=True, slots=True)
class Answer:
    """The memories and rules that a query gets, best first, and the material that they were chosen from.

    `dispreferred` has what speaks against a memory, by row: why another is preferred, and the id of that. `nearest` has
    the rows of the memories that are nearest to the events of the question.
    """

    query: Query
    found: Found
    contenders: Sequence[Contender]
    ranking: Ranking
    rules: RulesNear
    order: Sequence[Ranked]
    contradictions: Sequence[Contradiction]
    dispreferred: Mapping[int, tuple[str, str]]
    nearest: Mapping[str, int]


def make_slice(room: Room, query: Query, answer: Answer | None, explained: Mapping[int, Explanation]) -> MemorySlice:
    """Returns what a reader is shown of an answer; `None` is an answer where nothing is readable."""
    about: dict[str, Any] = {
        "query": query.task,
        "agent": query.reader,
        "project_id": room.name,
        "retrieved_at": from_micros(query.now),
    }
    recalled = () if answer is None else _show_memories(room, answer, explained)
    tags, numbers = {item.memory.id: item.tag for item in recalled}, count(1)
    ways = tuple(
        [
            row.model_copy(update={"tag": tags.get(row.id) if row.rule != TRIED else f"{WAY}{next(numbers)}"})
            for row in (answer.rules.rows if answer else ())
        ]
    )
    hint = None if recalled or ways else room.scopes.hint(query.reader, query.task, query.user, partitions=query.scope.known)
    if answer is None:
        return MemorySlice(**about, hint=hint)
    shown = [(item.memory, answer.ranking.memories[item.memory]) for item in answer.order]
    return MemorySlice(
        **about,
        hint=hint,
        recalled=recalled,
        strategies=ways,
        contradictions=tuple(answer.contradictions),
        timeline=make_timeline(query.events, answer.nearest, shown, answer.ranking.folded),
        relevance=_relevance(room, answer),
    )


def factors_of(item: Ranked | ShownRule, kind: str, query: Query) -> Factors:
    """Returns the factors of a score with their weights, and the multiplier."""
    return Factors(**item.factors, usefulness=item.usefulness, weights=dict(query.profile.weights_of(kind)))


def _show_memories(room: Room, answer: Answer, explained: Mapping[int, Explanation]) -> tuple[Recalled, ...]:
    query = answer.query
    near = find_turns(room, query, answer.found, answer.ranking.memories)
    shown = [_show(answer, item.memory, near.get(item.memory, ())) for item in answer.order]
    doubts = doubts_together(shown)
    stated: list[dict[str, Any]] = [
        {
            "memory": _with(memory, FLAGGED, doubts[memory.id]) if memory.id in doubts else memory,
            "score": item.score,
            "factors": factors_of(item, item.kind, query),
            "copies": item.copies,
            "explanation": explained.get(item.memory),
            "turns": near.get(item.memory, ()),
            "is_near": not isinstance(memory, Outcome) or memory.id in answer.rules.near,
        }
        for item, memory in zip(answer.order, shown, strict=True)
    ]
    merged = _merge_rules(stated, answer.rules.rules, query)
    tags = tags_for([item["memory"] for item in merged])
    return tuple([Recalled(tag=tag, **item) for tag, item in zip(tags, merged, strict=True)])


def _show(answer: Answer, row: int, near: Sequence[TurnHit]) -> AnyMemory:
    """Returns a memory as its reader is shown it. Whatever was stored under the keys that say so is left out."""
    memory = answer.ranking.memories[row]
    set_here = {SHARED_FROM, CONTRADICTED} if row in answer.ranking.folded.values() else {SHARED_FROM, CONTRADICTED, ATTEMPT}
    metadata = {key: value for key, value in memory.metadata.items() if key not in set_here}
    if memory.kind != MemoryType.USER_PREFERENCE and memory.agent != answer.query.reader:
        metadata[SHARED_FROM] = memory.agent
    if near:
        metadata[HITS] = [hit.line for hit in near[:MOST_HITS]]
    if row in answer.dispreferred:
        why, by = answer.dispreferred[row]
        metadata[CONTRADICTED] = {"by": by, "why": why}
    return memory if metadata == memory.metadata else memory.model_copy(update={"metadata": metadata})


def _with(memory: AnyMemory, name: str, value: object) -> AnyMemory:
    return memory.model_copy(update={"metadata": {**memory.metadata, name: value}})


def _merge_rules(stated: Sequence[dict[str, Any]], rules: Sequence[ShownRule], query: Query) -> list[dict[str, Any]]:
    """Returns the memories with the learned rules among them: by score, rules of one kind in the order of their table, at most `top_k` of a
    kind."""
    if not rules:
        return list(stated)
    learned: list[dict[str, Any]] = [
        {"memory": rule.memory, "score": rule.score, "factors": factors_of(rule, rule.memory.kind, query)} for rule in rules
    ]
    places = Counter([rule.memory.kind for rule in rules])
    kept = []
    for item in stated:
        places[item["memory"].kind] += 1
        if places[item["memory"].kind] <= query.top_k:
            kept.append(item)
    by_score = itemgetter("score")
    best_first = sorted(learned, key=by_score, reverse=True)
    merged = merge(
        kept, best_first, key=by_score, reverse=True
    )  # memories stay in their order, which contradictions may have changed
    in_table = {kind: iter([one for one in learned if one["memory"].kind == kind]) for kind in places}
    return [item if "turns" in item else next(in_table[item["memory"].kind]) for item in merged]


def _relevance(room: Room, answer: Answer) -> float | None:
    """Returns the relevance of the best conversation; `None` where there is none to judge by both searches, or the embedder separates no
    meanings."""
    best = next((item.memory for item in answer.order if item.kind == MemoryType.CONVERSATION), None)
    at, scale = None if best is None else answer.found.place_of(best), room.scale
    if at is None or scale is None or len(set(answer.query.arms)) < len(ARMS):
        return None
    cosine, share = answer.found.scores[:, at].tolist()
    return relevance(scale.of(cosine), share)


def find_disputes(
    store: OpenStore, order: Sequence[Ranked], memories: Mapping[int, AnyMemory], *, verified: bool
) -> tuple[Sequence[Ranked], Sequence[Contradiction], Mapping[int, tuple[str, str]]]:
    """Returns the order in which ranked memories are shown, the contradictions among these, and what speaks against each, by row. With `verified`
    memories are left out to which another one is preferred."""
    claimed = [memory for item in order if isinstance(memory := memories[item.memory], Claimed)]
    if len(claimed) < 2:
        return order, (), {}
    if store.find_contradictions is None:
        store.find_contradictions = _load_finder()
    found = store.find_contradictions(claimed)
    items = {memories[item.memory].id: item for item in order}
    dispreferred = {items[one].memory: why for one, why in found.beaten.items()}
    facts = iter(found.order)
    placed = [items[next(facts)] if isinstance(memories[item.memory], Claimed) else item for item in order]
    pairs = [pair.model_copy(update={"is_left_out": verified}) for pair in found.pairs]
    return [item for item in placed if not (verified and item.memory in dispreferred)], pairs, dispreferred


def _load_finder() -> FindContradictions:
    """Returns the first by name of the finders that are installed; `newest_first` without any."""
    for plugin in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            finder: FindContradictions = plugin.load()
        except ImportError as error:
            raise ConfigurationError(f"contradictions: {plugin.name!r} ({plugin.value}) could not be loaded: {error}") from error
        return finder
    return newest_first


def newest_first(memories: Sequence[Claimed]) -> Disputes:
    """Returns no contradiction. Facts of one domain, and preferences of one category, take their places with the newest first; those for which no
    one vouches come behind the others."""
    newest = sorted(memories, key=lambda memory: (is_vouched_for(memory.source, memory.metadata), memory.seen_at), reverse=True)
    subjects = [_subject_of(memory) for memory in memories]
    queues = {subject: iter([memory.id for memory in newest if _subject_of(memory) == subject]) for subject in set(subjects)}
    return Disputes((), {}, [next(queues[subject]) for subject in subjects])


def _subject_of(memory: Claimed) -> tuple[str, str, str | None, str]:
    label = memory.domain if isinstance(memory, DomainKnowledge) else memory.category
    return memory.kind, memory.agent, memory.user_id, spelt(label)
