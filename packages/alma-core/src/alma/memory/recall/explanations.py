"""The numbers behind an answer, gathered only where they are asked for."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from alma.memory.recall.answering import Answer, Asked, factors_of
from alma.memory.recall.provenance import provenance
from alma.memory.recall.search import NEVER_COMMON, Evidence
from alma.memory.room import Room
from alma.memory.scopes import access_to
from alma.retrieval.ranking import Ranked
from alma.text import PASSAGE_CHARS, shortened
from alma.types.explanation import ArmPart, Explanation, FactorPart, PassagePart
from alma.types.provenance import MemoryProvenance
from alma.types.recalled import Factors
from alma.vectors import ascending

MOST_FOLDED = 20
"""So many of the memories that one stands for are named; all are counted."""


def explanations(room: Room, asked: Asked, answer: Answer) -> Mapping[int, Explanation]:
    """Why each memory of the answer has its place, by row."""
    evidence = answer.found.evidence
    rows = [item.memory for item in answer.order]
    words = words_in(room, answer, rows)
    of_kind: Counter[str] = Counter()
    result = {}
    for rank, item in enumerate(answer.order, 1):
        of_kind[item.kind] += 1
        result[item.memory] = explained(
            room, asked, answer, evidence, item, words[item.memory], rank=rank, rank_of_kind=of_kind[item.kind]
        )
    return result


def explained(
    room: Room,
    asked: Asked,
    answer: Answer,
    evidence: Evidence,
    item: Ranked,
    words: Sequence[str],
    *,
    rank: int | None = None,
    rank_of_kind: int | None = None,
) -> Explanation:
    """The numbers of one memory, which is part of the evidence."""
    at = place_in(evidence.memories, item.memory)
    assert at is not None
    partition = answer.scope.by_row[int(evidence.partitions[at])]
    factors = factors_of(item, asked.profile)
    return Explanation(
        access=access_to(room, partition, agent=asked.reader, user_id=asked.user),
        cosine=float(evidence.cosines[at]),
        share=float(evidence.shares[at]),
        passage=_nearest_passage(room, evidence, item.memory),
        words=tuple(words),
        arms=_arms(evidence, at),
        z=float(evidence.z_scores[at]),
        similarity=float(evidence.similarities[at]),
        factors=_parts(factors),
        usefulness=factors.usefulness,
        score=item.score,
        rank=rank,
        rank_of_kind=rank_of_kind,
        copies=item.copies,
        folded=_folded(room, answer, item) if item.copies > 1 else (),
        time=float(evidence.gains[at]) / sum(arm.weight for arm in evidence.arms),
        provenance=_provenance(room, answer, item.memory),
    )


def _provenance(room: Room, answer: Answer, row: int) -> MemoryProvenance | None:
    memory = answer.memories.get(row) or room.project.memories([row]).get(row)
    return None if memory is None else provenance(room, memory, counts=False)


def place_in(memories: NDArray[np.int64], memory: int) -> int | None:
    """Returns where a memory stands among others, which ascend; `None` if it does not."""
    at = int(np.searchsorted(memories, memory))
    return at if at < len(memories) and memories[at] == memory else None


def words_in(room: Room, answer: Answer, memories: Sequence[int]) -> Mapping[int, list[str]]:
    """Which words of the question each memory holds, in the question's order, as full text compares them."""
    found: dict[int, list[str]] = {memory: [] for memory in memories}
    rows = np.array(sorted(found), dtype=np.int64)
    for word in answer.question.words if found else ():
        lists = room.project.text_lists([word], partitions=answer.scope.rows, common=NEVER_COMMON)
        for memory in np.intersect1d(rows, lists.memories[lists.places]).tolist():
            found[memory].append(word)
    return found


def equal_ones(room: Room, answer: Answer, memory: int) -> list[int]:
    """The relevant memories of the same content, the one that stands for all first. Empty if this one is not among the relevant."""
    found, index = answer.found, room.index.current(answer.scope.rows)
    _, tie = index.ties(np.array([memory]))
    equal = np.flatnonzero(np.isin(found.ties, tie))
    if not len(equal):
        return []
    first = int(found.memories[equal[np.lexsort((-found.memories[equal], -found.similarities[equal]))[0]]])
    memories = found.memories[equal]
    newest = memories[index.copies(memories) > 0].tolist()
    equal_memories = ascending(np.concatenate([memories, *map(index.copies_of, newest)]))[::-1]
    within = answer.question.within
    others: list[int] = (equal_memories if within is None else equal_memories[np.isin(equal_memories, within)]).tolist()
    return list(dict.fromkeys([first, *others]))


def _folded(room: Room, answer: Answer, item: Ranked) -> tuple[str, ...]:
    others = [memory for memory in equal_ones(room, answer, item.memory) if memory != item.memory][:MOST_FOLDED]
    stored = room.project.memories(others)
    return tuple(stored[memory].id for memory in others if memory in stored)


def _arms(evidence: Evidence, at: int) -> dict[str, ArmPart]:
    total = sum(arm.weight for arm in evidence.arms)
    return {
        arm.name: ArmPart(
            score=float(arm.scores[at]),
            mean=float(arm.means[at]),
            deviation=float(arm.deviations[at]),
            z=float(arm.z_scores[at]),
            weight=arm.weight / total,
        )
        for arm in evidence.arms
    }


def _parts(factors: Factors) -> dict[str, FactorPart]:
    return {name: FactorPart(value=value, weight=weight, product=weight * value) for name, value, weight in _weighed(factors)}


def _weighed(factors: Factors) -> Iterator[tuple[str, float, float]]:
    for name, weight in factors.weights.items():
        yield name, getattr(factors, name), weight


def _nearest_passage(room: Room, evidence: Evidence, memory: int) -> PassagePart | None:
    of_memory = np.flatnonzero(evidence.passages.memories == memory)
    nearest = of_memory[np.argmax(evidence.passages.scores[of_memory])]
    row = int(evidence.passages.passages[nearest])
    passage = room.project.passages([row]).get(row)
    if passage is None:
        return None
    return PassagePart(
        text=shortened(passage.text, PASSAGE_CHARS),
        speaker=passage.speaker,
        position=passage.position,
        cosine=float(evidence.passages.scores[nearest]),
    )
