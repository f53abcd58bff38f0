"""The numbers behind an answer, gathered only where they are asked for, and where a memory comes from."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alma.errors import MemoryNotFoundError
from alma.memory import arguments as args
from alma.memory.recall.answer import Answer, factors_of
from alma.memory.recall.query import ARMS
from alma.memory.recall.search import NEVER_COMMON, Found, weights_of
from alma.memory.room import Room
from alma.memory.rules import find_rules
from alma.retrieval.fusion import Ranked
from alma.text import PASSAGE_CHARS, quoted, shortened
from alma.types.episodes import EPISODE, STEP
from alma.types.memories import AnyMemory, Outcome
from alma.types.provenance import MemoryProvenance, provenance_of
from alma.types.recalled import ArmPart, Explanation, FactorPart, PassagePart

MOST_FOLDED = 20
"""Limit on the folded memories that are named; all are counted."""

MOST_OUTCOMES = 100


def explain_answer(room: Room, answer: Answer) -> Mapping[int, Explanation]:
    """Returns why each memory of the answer has its place, by row."""
    words = match_words(room, answer, [item.memory for item in answer.order])
    ranks: Counter[str] = Counter()
    result = {}
    for rank, item in enumerate(answer.order, 1):
        ranks[item.kind] += 1
        explanation = explain_ranked(room, answer, answer.found, item, words[item.memory])
        result[item.memory] = explanation.model_copy(update={"rank": rank, "rank_of_kind": ranks[item.kind]})
    return result


def explain_ranked(room: Room, answer: Answer, found: Found, item: Ranked, words: Sequence[str]) -> Explanation:
    """Returns the numbers of one memory that was scored."""
    at, query = found.place_of(item.memory), answer.query
    assert at is not None
    factors, weights = factors_of(item, item.kind, query), weights_of(query.arms)
    total = sum(weights.values())
    memory = answer.ranking.memories.get(item.memory) or room.project.memories([item.memory]).get(item.memory)
    values = {name: getattr(factors, name) for name in factors.weights}
    cosine, share = found.scores[:, at].tolist()
    return Explanation(
        access=room.scopes.access_to(query.scope.by_row[int(found.partitions[at])], agent=query.reader, user_id=query.user),
        cosine=cosine,
        share=share,
        passage=_find_passage(room, found, item.memory),
        words=tuple(words),
        arms={
            arm: ArmPart(score=score, mean=mean, deviation=deviation, z=(score - mean) / deviation, weight=weights[arm] / total)
            for arm, score, mean, deviation in zip(
                ARMS,
                (cosine, share),
                found.means[:, at].tolist(),
                found.deviations[:, at].tolist(),
                strict=True,
            )
            if arm in weights
        },
        z=float(found.z_scores[at]),
        similarity=float(found.similarities[at]),
        factors={
            name: FactorPart(value=value, weight=factors.weights[name], product=factors.weights[name] * value)
            for name, value in values.items()
        },
        usefulness=factors.usefulness,
        score=item.score,
        rank=None,
        rank_of_kind=None,
        copies=item.copies,
        folded=_name_folded(room, answer, item) if item.copies > 1 else (),
        time=float(found.gains[at]) / total,
        provenance=None if memory is None else provenance(room, memory, counts=False),
    )


def match_words(room: Room, answer: Answer, memories: Sequence[int]) -> Mapping[int, list[str]]:
    """Returns which words of the question each memory holds, in the question's order, as full text compares them."""
    found: dict[int, list[str]] = {memory: [] for memory in memories}
    for word in answer.query.words if found else ():
        lists = room.project.text_lists([word], partitions=answer.query.scope.rows, common=NEVER_COMMON)
        for memory in np.intersect1d(list(found), lists.memories[lists.places]).tolist():
            found[memory].append(word)
    return found


def equal_ones(room: Room, answer: Answer, memory: int) -> list[int]:
    """Returns the relevant memories of the same content, the shown one first. Empty if this memory is not among the relevant."""
    found, index = answer.found, room.index.current(answer.query.scope.rows)
    _, tie = index.ties(np.array([memory]))
    equal = np.flatnonzero(found.is_relevant & np.isin(found.ties, tie))
    if not len(equal):
        return []
    memories = found.memories[equal]
    first = int(memories[np.lexsort((-memories, -found.similarities[equal]))[0]])
    newest = memories[index.copies(memories) > 0].tolist()
    alike = np.unique(np.concatenate([memories, *map(index.copies_of, newest)]))[::-1]
    within = answer.query.within
    others = alike if within is None else alike[np.isin(alike, within)]
    return list(dict.fromkeys([first, *others.tolist()]))


def _name_folded(room: Room, answer: Answer, item: Ranked) -> tuple[str, ...]:
    others = [memory for memory in equal_ones(room, answer, item.memory) if memory != item.memory][:MOST_FOLDED]
    stored = room.project.memories(others)
    return tuple(stored[memory].id for memory in others if memory in stored)


def _find_passage(room: Room, found: Found, memory: int) -> PassagePart | None:
    of_memory = np.flatnonzero(found.passages.memories == memory)
    nearest = of_memory[np.argmax(found.passages.scores[of_memory])]
    row = int(found.passages.passages[nearest])
    passage = room.project.passages([row]).get(row)
    if passage is None:
        return None
    return PassagePart(
        text=shortened(passage.text, PASSAGE_CHARS),
        speaker=passage.speaker,
        position=passage.position,
        cosine=float(found.passages.scores[nearest]),
    )


def provenance(room: Room, memory: AnyMemory, *, counts: bool = True) -> MemoryProvenance:
    """Returns where a memory comes from, with what the records of its attempt add. `counts` says whether the outcomes behind a learned rule are
    counted, which takes longest."""
    found = provenance_of(memory)
    added: dict[str, Any] = {}
    if (key := found.episode_id) is not None:
        step_key = f"{key}/{found.step}"
        with room.project.moment():
            _, opening = room.project.record(EPISODE, [key])[key]
            _, step = room.project.record(STEP, [step_key])[step_key] if found.step is not None else (0, {})
        session = found.session_id or opening.get("thread_id")
        added = {"run_id": opening.get("run_id"), "session_id": session, "tool": found.tool or step.get("tool")}
    if counts and found.is_learned:
        sources = Counter(one.verdict_source for one in outcomes_behind(room, memory_id=memory.id, limit=MOST_OUTCOMES))
        added["learned_from"] = dict(sorted(sources.items(), key=lambda item: (-item[1], item[0])))
    return found.model_copy(update=added)


def outcomes_behind(room: Room, memory_id: str, limit: int = 20) -> list[Outcome]:
    """Returns the outcomes that a heuristic or an anti-pattern was learned from, newest first, forgotten ones too; none if it was
    stated.

    `MemoryNotFoundError` if there is no such memory.
    """
    (wanted,) = args.checked_ids([memory_id], "memory_id")
    most = args.checked_count(limit, "limit")
    if room.project.find([wanted]):
        return []
    rule = find_rules(room, [wanted], with_archived=True).get(wanted)
    if rule is None:
        raise MemoryNotFoundError(f"project {room.name!r} has no memory {quoted(wanted)}")
    found = room.project.named(rule.row.outcomes)
    outcomes = [outcome for outcome in found.values() if isinstance(outcome, Outcome)]
    places = {outcome_id: place for place, outcome_id in enumerate(rule.row.outcomes)}
    return sorted(outcomes, key=lambda outcome: (-outcome.timestamp.timestamp(), places[outcome.id]))[:most]
