"""Recalling: what was chosen as a slice. Writes nothing."""

from collections import Counter
from collections.abc import Sequence
from heapq import merge
from itertools import count
from time import perf_counter

from alma.memory.quarantine import doubts_together
from alma.memory.recall.answering import Answer, Asked, answered, asked, factors_of
from alma.memory.recall.events import timeline
from alma.memory.recall.explanations import explanations, place_in
from alma.memory.recall.hits import hits
from alma.memory.recall.learned import LearnedItem
from alma.memory.recall.request import RetrieveRequest
from alma.memory.recall.search import ARMS
from alma.memory.room import Room
from alma.memory.scopes import unknown_agent_hint
from alma.retrieval.relevance import relevance
from alma.types.contradictions import CONTRADICTED
from alma.types.identity import from_micros
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, Outcome
from alma.types.provenance import FLAGGED
from alma.types.recalled import Factors, Recalled, TurnHit
from alma.types.sentences import ATTEMPT, HITS, MOST_HITS
from alma.types.slice import MemorySlice
from alma.types.strategies import TRIED, StrategyRecord
from alma.types.tags import WAY, tags_for
from alma.types.timeline import Timeline

SHARED_FROM = "shared_from"
"""The key of the metadata that names the owner of a shared memory. Set here alone, whatever was stored under it."""


def retrieve(room: Room, request: RetrieveRequest, *, explain: bool = False) -> MemorySlice:
    """The memories that matter for a task, at most `top_k` of each kind, best first; with every number behind them if `explain`."""
    begun = perf_counter()
    question = asked(room, request)
    answer = answered(room, question)
    recalled = _recalled(room, question, answer, explain) if answer else ()
    ways = _tagged(answer.learned.rows, recalled) if answer else ()
    return MemorySlice(
        query=question.task,
        agent=question.reader,
        project_id=room.name,
        retrieved_at=from_micros(question.now),
        recalled=recalled,
        strategies=ways,
        contradictions=tuple(answer.disputed.pairs) if answer else (),
        timeline=_timeline(answer) if answer else None,
        relevance=_relevance(room, answer) if answer else None,
        hint=None
        if recalled or ways
        else unknown_agent_hint(room, question.partitions, question.reader, question.task, question.user),
        retrieval_time_ms=(perf_counter() - begun) * 1000,
    )


def _recalled(room: Room, question: Asked, answer: Answer, explain: bool) -> tuple[Recalled, ...]:
    near = hits(room, answer)
    shown = [_show(answer, item.memory, near.get(item.memory, ()), question.reader) for item in answer.order]
    doubts = doubts_together(shown)
    shown = [_with(memory, FLAGGED, doubts[memory.id]) if memory.id in doubts else memory for memory in shown]
    explained = explanations(room, question, answer) if explain else {}
    stated = [
        Recalled(
            tag=tag,
            memory=memory,
            score=item.score,
            factors=factors_of(item, question.profile),
            copies=item.copies,
            explanation=explained.get(item.memory),
            turns=near.get(item.memory, ()),
            is_near=not isinstance(memory, Outcome) or memory.id in answer.learned.near,
        )
        for item, memory, tag in zip(answer.order, shown, tags_for(shown), strict=True)
    ]
    return _retag(_with_rules(stated, answer.learned.items, question))


def _show(answer: Answer, row: int, near: Sequence[TurnHit], reader: str) -> AnyMemory:
    """A memory as this reader is shown it: whose it is, which of its turns are near, and what contradicts it."""
    stands_for_attempt = row in answer.folded.values()
    memory = _with_origin(_as_stored_unless(stands_for_attempt, answer.memories[row]), reader)
    if near:
        memory = _with(memory, HITS, [hit.line for hit in near[:MOST_HITS]])
    by = answer.disputed.dispreferred.get(row)
    if by is not None:
        return _with(memory, CONTRADICTED, {"by": by[1], "why": by[0]})
    return _without(memory, CONTRADICTED) if CONTRADICTED in memory.metadata else memory  # whatever was stored under the key


def _retag(items: Sequence[Recalled]) -> tuple[Recalled, ...]:
    tags = tags_for([item.memory for item in items])
    changed = {
        item.memory.id: item.model_copy(update={"tag": tag}) for tag, item in zip(tags, items, strict=True) if item.tag != tag
    }
    return tuple(changed.get(item.memory.id, item) for item in items) if changed else tuple(items)


def _with_rules(stated: list[Recalled], rules: Sequence[LearnedItem], question: Asked) -> list[Recalled]:
    """The memories with the learned rules among them: by score, rules of one kind in the order of their table, at most `top_k` of a kind."""
    learned = [
        Recalled(
            tag=tag,
            memory=rule.memory,
            score=rule.score,
            factors=Factors(
                **rule.factors, usefulness=rule.usefulness, weights=dict(question.profile.weights_of(rule.memory.kind))
            ),
        )
        for rule, tag in zip(rules, tags_for([rule.memory for rule in rules]), strict=True)
    ]
    if not learned:
        return stated
    kinds = {item.memory.kind for item in learned}
    places = Counter(item.memory.kind for item in learned)
    kept = []
    for item in stated:
        places[item.memory.kind] += 1
        if item.memory.kind not in kinds or places[item.memory.kind] <= question.top_k:
            kept.append(item)
    best_first = sorted(learned, key=_descending)
    merged = list(merge(kept, best_first, key=_descending))  # memories stay in their order, which contradictions may have changed
    for kind in kinds:
        at = [place for place, item in enumerate(merged) if item.memory.kind == kind and item.memory.metadata.get("learned")]
        for place, item in zip(at, [one for one in learned if one.memory.kind == kind], strict=True):
            merged[place] = item
    return merged


def _descending(item: Recalled) -> float:
    return -item.score


def _tagged(rows: Sequence[StrategyRecord], recalled: Sequence[Recalled]) -> tuple[StrategyRecord, ...]:
    """The rows with the tags that a prompt cites them by: those of the rules that they are, the others numbered in their order."""
    tags = {item.memory.id: item.tag for item in recalled}
    numbers = count(1)
    return tuple(
        row.model_copy(update={"tag": tags.get(row.id) if row.rule != TRIED else f"{WAY}{next(numbers)}"}) for row in rows
    )


def _timeline(answer: Answer) -> Timeline | None:
    shown = [(item.memory, answer.memories[item.memory]) for item in answer.order]
    return timeline(answer.events, answer.nearest, shown, answer.folded) if shown else None


def _relevance(room: Room, answer: Answer) -> float | None:
    """The relevance of the best conversation; `None` where there is none to judge by both searches, or the embedder separates no meanings."""
    best = next((item.memory for item in answer.order if item.kind == MemoryType.CONVERSATION), None)
    evidence = answer.found.evidence
    at = None if best is None else place_in(evidence.memories, best)
    if at is None or len(evidence.arms) < len(ARMS):
        return None
    scale = room.scale
    return None if scale is None else relevance(scale.of(float(evidence.cosines[at])), float(evidence.shares[at]))


def _as_stored_unless(stands_for_it: bool, memory: AnyMemory) -> AnyMemory:
    """Of an attempt only the outcome that stands for it has the key, whatever was stored under it."""
    return memory if stands_for_it or ATTEMPT not in memory.metadata else _without(memory, ATTEMPT)


def _without(memory: AnyMemory, name: str) -> AnyMemory:
    return memory.model_copy(update={"metadata": {key: value for key, value in memory.metadata.items() if key != name}})


def _with(memory: AnyMemory, name: str, value: object) -> AnyMemory:
    return memory.model_copy(update={"metadata": {**memory.metadata, name: value}})


def _with_origin(memory: AnyMemory, reader: str) -> AnyMemory:
    """A shared memory says whose it is; no other may say that it is shared."""
    if memory.kind != "user_preference" and memory.agent != reader:
        return _with(memory, SHARED_FROM, memory.agent)
    return _without(memory, SHARED_FROM) if SHARED_FROM in memory.metadata else memory
