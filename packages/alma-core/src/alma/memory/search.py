"""Two searches side by side, each candidate of one scored exactly in the other, and the background that both are judged against."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.memory.room import Room
from alma.protocols import PassageScores, TextScores
from alma.retrieval import fusion
from alma.types.kinds import MemoryType
from alma.types.partition import Partition
from alma.vectors import ProjectIndex

ALL_UP_TO = 2_000
"""A scope of at most so many memories is searched whole, and is its own background."""

SAMPLE = 1_000
HITS = 100
"""How many candidates each arm of a larger scope contributes at least."""

ALWAYS_HOLD = frozenset({MemoryType.USER_PREFERENCE.value})
"""What a user wants holds for every task: such memories are ranked, but never left out as beside the point."""

DENSE = "dense"
TEXT = "text"
ARMS = (DENSE, TEXT)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for: a vector and words."""

    vector: NDArray[np.float32]
    words: Sequence[str]
    arms: Collection[str] = ARMS


@dataclass(frozen=True, slots=True)
class JudgedArm:
    """One arm's scores, what they were judged against, and their deviations from it. `weight` is what the arm weighs in the fusion."""

    name: str
    weight: float
    scores: Floats
    background: fusion.Background
    z_scores: Floats


@dataclass(frozen=True, slots=True)
class Evidence:
    """All memories that were scored, those included that are beside the point, as parallel arrays; `memories` ascend.

    `similarities` are of the fused `z_scores`; `is_relevant` says which memories came through the floor.
    """

    passages: PassageScores
    memories: Integers
    partitions: Integers
    ties: Integers
    cosines: Floats
    shares: Floats
    arms: Sequence[JudgedArm]
    z_scores: Floats
    similarities: Floats
    is_relevant: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Found:
    """The relevant memories with their similarity, as parallel arrays. `is_all` says that no memory of the scope was left out."""

    memories: Integers
    partitions: Integers
    ties: Integers
    similarities: Floats
    is_all: bool
    evidence: Evidence


_NONE = np.empty(0, dtype=np.int64)


def search(
    room: Room,
    index: ProjectIndex,
    question: Question,
    scope: Sequence[Partition],
    *,
    hits: int = HITS,
    also: Integers = _NONE,
) -> Found:
    """The memories of the scope that say something on the question. Those of `also` are judged even where neither search finds them."""
    partitions = [partition.row for partition in scope]
    background, population = index.sample(partitions=partitions, all_up_to=ALL_UP_TO, otherwise=SAMPLE)
    is_all = population <= ALL_UP_TO
    near = None
    if not is_all and DENSE in question.arms:
        near = room.store.beside.submit(index.search, question.vector, partitions=partitions, limit=hits)
    words = question.words if TEXT in question.arms else ()
    text = room.project.text_scores(words, within=np.sort(background) if is_all else None)
    parts = [index.score(question.vector, memories=background)]
    others = also if is_all else np.concatenate([also, _best(text, index, partitions, 2 * hits)])
    parts += _further(index, question, others, parts)
    if near:
        parts += _further(index, question, near.result().memories, parts)
    return _judged(question, _together(parts), text, background, scope, is_all)


def _further(index: ProjectIndex, question: Question, memories: Integers, known: Sequence[PassageScores]) -> list[PassageScores]:
    """The scores of those of the memories that are not scored yet: while the other search goes on, all but what it finds can be scored."""
    wanted = np.unique(memories)
    for part in known:
        wanted = wanted[~_marked(wanted, part.memories)]
    return [index.score(question.vector, memories=wanted)] if len(wanted) else []


def _together(parts: Sequence[PassageScores]) -> PassageScores:
    """All of these, which have no memory in common, by memory."""
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([part.memories for part in parts]), kind="stable")
    return PassageScores(
        passages=np.concatenate([part.passages for part in parts])[order],
        memories=np.concatenate([part.memories for part in parts])[order],
        partitions=np.concatenate([part.partitions for part in parts])[order],
        ties=np.concatenate([part.ties for part in parts])[order],
        is_own=np.concatenate([part.is_own for part in parts])[order],
        scores=np.concatenate([part.scores for part in parts])[order],
    )


def _best(text: TextScores, index: ProjectIndex, partitions: Sequence[int], limit: int) -> Integers:
    """The memories of the partitions that full text scores best, newer before older among equals."""
    for most in (limit, 4 * limit, len(text.memories)):
        first = _greatest(text.scores, most)
        memories, scores = text.memories[first], text.scores[first]
        inside = index.among(memories, partitions=partitions)
        if most >= len(text.memories) or np.count_nonzero(inside) >= min(limit, most):
            break
    memories, scores = memories[inside], scores[inside]
    return memories[np.lexsort((-memories, -scores))[:limit]]


def _greatest(scores: Floats, count: int) -> Integers:
    """Where the `count` greatest scores stand, in ascending order, and those that equal the last of them."""
    if count >= len(scores):
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    return np.flatnonzero(scores >= least)


def _judged(
    question: Question,
    passages: PassageScores,
    text: TextScores,
    background: Integers,
    scope: Sequence[Partition],
    is_all: bool,
) -> Found:
    memories, first = _distinct(passages.memories)
    cosines = fusion.pooled(passages, memories)
    shares = _aligned(text, memories)
    of_background = _marked(memories, background)
    arms = [
        _judged_arm(name, scores, scores[of_background], arm)
        for name, scores, arm in ((DENSE, cosines, fusion.DENSE), (TEXT, shares, fusion.TEXT))
        if name in question.arms
    ]
    z = fusion.fused([(arm.z_scores, arm.weight) for arm in arms])
    partitions, ties = passages.partitions[first], passages.ties[first]
    told = cosines if DENSE in question.arms else np.zeros(len(memories))
    kept = fusion.relevant(told, shares) | _within(partitions, [p.row for p in scope if p.kind in ALWAYS_HOLD])
    kept &= _within(partitions, [partition.row for partition in scope])
    similarities = fusion.similarity(z)
    evidence = Evidence(passages, memories, partitions, ties, cosines, shares, arms, z, similarities, kept)
    return Found(memories[kept], partitions[kept], ties[kept], similarities[kept], is_all, evidence)


def _judged_arm(name: str, scores: Floats, of_background: Floats, arm: fusion.Arm) -> JudgedArm:
    background = fusion.Background.of(of_background, arm)
    return JudgedArm(name, arm.weight, scores, background, fusion.standardised(scores, background))


def _marked(memories: Integers, some: Integers) -> NDArray[np.bool_]:
    """Which of the memories, which ascend, are among some."""
    marked = np.zeros(len(memories), dtype=np.bool_)
    if len(memories):
        places = np.searchsorted(memories, some).clip(max=len(memories) - 1)
        marked[places[memories[places] == some]] = True
    return marked


def _within(partitions: Integers, rows: Sequence[int]) -> NDArray[np.bool_]:
    """Which of the partitions are among the rows. Rows are small numbers, so a table of them is quicker than a search."""
    table = np.zeros(max(int(partitions.max(initial=0)), max(rows, default=0)) + 1, dtype=np.bool_)
    table[list(rows)] = True
    return table[partitions]


def _distinct(memories: Integers) -> tuple[Integers, Integers]:
    """The memories once each, ascending, and where each stands first."""
    if (memories[1:] > memories[:-1]).all():
        return memories, np.arange(len(memories))
    return np.unique(memories, return_index=True)


def _aligned(text: TextScores, memories: Integers) -> Floats:
    """The text scores of the memories, 0 where nothing matched. Memories that the vector index has not seen yet are left out."""
    if not len(text.memories):
        return np.zeros(len(memories))
    places = np.searchsorted(text.memories, memories).clip(max=len(text.memories) - 1)
    return np.where(text.memories[places] == memories, text.scores[places], 0.0)
