"""Two searches, each candidate of one scored exactly in the other, and the background that both are judged against."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma.memory.readable import ReadableScope
from alma.memory.room import Room
from alma.protocols import CommonWords, PassageScores, TextScores
from alma.retrieval import bm25, fusion
from alma.retrieval.named_time import Interval
from alma.types.identity import to_micros
from alma.types.timeline import DATED
from alma.vectors import AnyIndex, ascending

DENSE = "dense"
TEXT = "text"
ARMS = (DENSE, TEXT)

MOST_DATED = 300
"""Memories whose times are read for a question that names one: reading those of a whole sample would take longer than the search."""

NEVER_COMMON = CommonWords(number=sys.maxsize, share=1.0, newest=0)

_USUAL = {DENSE: fusion.DENSE, TEXT: fusion.TEXT}

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for: a vector, words, and the time that is named, if one is."""

    vector: NDArray[np.float32]
    words: Sequence[str]
    arms: Collection[str] = ARMS
    time: Interval | None = None
    is_of_time_alone: bool = False
    """Asks what was at that time, and says nothing else."""
    within: Integers | None = None
    """The memories that count by their times, ascending; `None` where all of the scope do."""
    addressed: NDArray[np.float32] | None = None
    """The vector for conversations, where the question names speakers: see `alma.memory.recall.named_speakers`."""
    speakers: frozenset[str] = frozenset()
    """The speakers that the question names."""


@dataclass(frozen=True, slots=True)
class JudgedArm:
    """One arm's scores, what they were judged against, and their deviations from it. `weight` is what the arm weighs in the fusion.

    `means` and `deviations` are those of the background of each score.
    """

    name: str
    weight: float
    scores: Floats
    means: Floats
    deviations: Floats
    z_scores: Floats


@dataclass(frozen=True, slots=True)
class Scored:
    """Some memories with what each arm gives them, as parallel arrays; `memories` ascend. `passages` are what the cosines were pooled from."""

    passages: Sequence[PassageScores]
    memories: Integers
    partitions: Integers
    ties: Integers
    cosines: Floats
    shares: Floats


@dataclass(frozen=True, slots=True)
class Evidence:
    """All memories that were scored, those included that are beside the point, as parallel arrays; `memories` ascend.

    `gains` is what each gained for the time that is named. `similarities` are of the fused `z_scores`; `is_relevant` says which memories came
    through the floor.
    """

    parts: Sequence[PassageScores]
    memories: Integers
    partitions: Integers
    ties: Integers
    cosines: Floats
    shares: Floats
    arms: Sequence[JudgedArm]
    z_scores: Floats
    gains: Floats
    similarities: Floats
    is_relevant: NDArray[np.bool_]

    @property
    def passages(self) -> PassageScores:
        """The passages of all of them. Those of a memory stand together."""
        return _joined(self.parts)


@dataclass(frozen=True, slots=True)
class Found:
    """The relevant memories with their similarity, as parallel arrays. `is_all` says that no memory of the scope was left out."""

    memories: Integers
    partitions: Integers
    ties: Integers
    similarities: Floats
    is_all: bool
    evidence: Evidence


_NO_MEMORIES = np.empty(0, dtype=np.int64)
_NO_PASSAGES = PassageScores(
    _NO_MEMORIES, _NO_MEMORIES, _NO_MEMORIES, _NO_MEMORIES, np.empty(0, dtype=np.bool_), np.empty(0, dtype=np.float32)
)


def search(
    room: Room,
    index: AnyIndex,
    question: Question,
    scope: ReadableScope,
    *,
    hits: int = 0,
    also: Integers = _NO_MEMORIES,
    always: Integers = _NO_MEMORIES,
) -> Found:
    """The memories of the scope that say something on the question. Each search contributes at least `hits` candidates, or as many as is usual. Those
    of `also` are judged even where neither finds them, and those of `always`, which ascend, are relevant whatever they say."""
    sizes = room.store.sizes
    hits = max(hits, sizes.hits)
    if question.within is not None:
        return _found_within(room, index, question, scope, question.within, hits=hits, also=also, always=always)
    also = np.concatenate([also, always])
    partitions = scope.rows
    sample, population = index.sample(partitions=partitions, all_up_to=sizes.all_up_to, otherwise=sizes.sample)
    is_all = population <= sizes.all_up_to
    is_scanned = not is_all and DENSE in question.arms
    is_beside = is_scanned and population > sizes.beside_above
    beside = room.store.beside.submit(_nearest, index, question, partitions, hits) if is_beside else None
    text = _by_words(room, question, partitions)
    best = _NO_MEMORIES if is_all else _best(text, index, 2 * hits)
    parts = [_scored(index.score(question.vector, memories=sample), text)]
    near = _NO_MEMORIES
    if is_scanned:  # a thread that is too busy to have begun need not be waited for
        near = _nearest(index, question, partitions, hits) if beside is None or beside.cancel() else beside.result()
    others = ascending(np.concatenate([also, best, near]))
    others = others[~_are_among(others, parts[0].memories)]
    if len(others):
        parts.append(_scored(index.score(question.vector, memories=others), text))
    return _judged(room, question, _together(parts), _backgrounds(question, parts[0]), scope, always, is_all=is_all)


def joined(one: Found, other: Found, of_other: Sequence[int]) -> Found:
    """Returns what two searches of one scope found: of the partitions `of_other` what the other did, of the rest what the one did."""
    first, second = one.evidence, other.evidence
    kept, taken = ~np.isin(first.partitions, of_other), np.isin(second.partitions, of_other)
    order = np.argsort(np.concatenate([first.memories[kept], second.memories[taken]]), kind="stable")

    def column(name: str, left: object = first, right: object = second) -> NDArray[Any]:
        found: NDArray[Any] = np.concatenate([getattr(left, name)[kept], getattr(right, name)[taken]])[order]
        return found

    arms = [
        JudgedArm(a.name, a.weight, *(column(name, a, b) for name in ("scores", "means", "deviations", "z_scores")))
        for a, b in zip(first.arms, second.arms, strict=True)
    ]
    parts = [_within(part, ~np.isin(part.partitions, of_other)) for part in first.parts]
    parts += [_within(part, np.isin(part.partitions, of_other)) for part in second.parts]
    columns = {name: column(name) for name in ("memories", "partitions", "ties", "cosines", "shares", "z_scores", "gains")}
    shown = column("is_relevant")
    evidence = Evidence(parts=parts, arms=arms, similarities=column("similarities"), is_relevant=shown, **columns)
    relevant = (evidence.memories[shown], evidence.partitions[shown], evidence.ties[shown], evidence.similarities[shown])
    return Found(*relevant, one.is_all and other.is_all, evidence)


def judged_anew(found: Found, cosines: Floats) -> Found:
    """Returns what was found with other cosines, parallel to the memories of its evidence, against the same background. What was left out stays
    out."""
    evidence = found.evidence
    arms = [
        replace(arm, scores=cosines, z_scores=(cosines - arm.means) / arm.deviations) if arm.name == DENSE else arm
        for arm in evidence.arms
    ]
    z = fusion.fused([(arm.z_scores, arm.weight) for arm in arms], evidence.gains)
    similarities = fusion.similarity(z)
    anew = replace(evidence, cosines=cosines, arms=arms, z_scores=z, similarities=similarities)
    return replace(found, similarities=similarities[evidence.memories.searchsorted(found.memories)], evidence=anew)


def _within(part: PassageScores, where: NDArray[np.bool_]) -> PassageScores:
    return PassageScores(*(getattr(part, field.name)[where] for field in fields(PassageScores)))


def _found_within(
    room: Room,
    index: AnyIndex,
    question: Question,
    scope: ReadableScope,
    within: Integers,
    *,
    hits: int,
    also: Integers,
    always: Integers,
) -> Found:
    """What `search` finds among these memories alone, which are their own background. Up to `all_within` of them are all compared."""
    sizes = room.store.sizes
    text = _by_words(room, question, scope.rows)
    also, always = also[_are_among(also, within)], always[_are_among(always, within)]
    if len(within) <= sizes.all_within:
        scored = _scored(index.score(question.vector, memories=within), text)
        return _judged(room, question, scored, _backgrounds(question, scored), scope, always, is_all=True)
    held, ties = index.ties(within)
    sample = np.sort(held[np.argpartition(ties, sizes.sample)[: sizes.sample]]) if len(held) > sizes.sample else held
    near = _nearest_within(index, question, scope, within, hits) if DENSE in question.arms else _NO_MEMORIES
    memories = ascending(np.concatenate([sample, near, _best(text, index, 2 * hits), also, always]))
    scored = _scored(index.score(question.vector, memories=memories), text)
    places = _places(sample, scored.memories)
    return _judged(room, question, scored, _backgrounds(question, scored, places), scope, always, is_all=False)


def _nearest_within(index: AnyIndex, question: Question, scope: ReadableScope, within: Integers, limit: int) -> Integers:
    """The memories of the `limit` nearest passages of each kind that belong to memories that count.

    A search cannot leave out the others; so each kind is searched for twice as many until enough of them count or it has no more.
    """
    found = []
    for kind in dict.fromkeys(scope.kinds[row] for row in scope.rows):
        rows, wanted = [row for row in scope.rows if scope.kinds[row] == kind], 4 * limit
        while True:
            near = index.search(question.vector, partitions=rows, limit=wanted).memories
            inside = near[_are_among(near, within)]
            if len(near) < wanted or len(inside) >= limit:
                break
            wanted *= 4
        found.append(inside)
    return np.concatenate([_NO_MEMORIES, *found])


def _by_words(room: Room, question: Question, partitions: Sequence[int]) -> TextScores:
    """What the words of the question find; nothing if it is asked without them."""
    words = question.words if TEXT in question.arms else ()
    if question.within is None:
        return bm25.scored(room.project.text_lists(words, partitions=partitions, common=room.store.sizes.common))
    # a word that is common in the scope may be listed for its newest memories only, of which none may count
    return bm25.scored(bm25.within(room.project.text_lists(words, partitions=partitions, common=NEVER_COMMON), question.within))


def _nearest(index: AnyIndex, question: Question, partitions: Sequence[int], limit: int) -> Integers:
    """The memories of what is nearest in each kind, of copies the newest."""
    return index.nearest(question.vector, partitions=partitions, limit=limit).memories


def _scored(passages: PassageScores, text: TextScores) -> Scored:
    memories, first = _distinct(passages.memories)
    cosines = fusion.pooled(passages, memories)
    return Scored([passages], memories, passages.partitions[first], passages.ties[first], cosines, _aligned(text, memories))


def _together(parts: Sequence[Scored]) -> Scored:
    """All of these, which have no memory in common, by memory."""
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([part.memories for part in parts]), kind="stable")
    return Scored(
        passages=[passages for part in parts for passages in part.passages],
        memories=np.concatenate([part.memories for part in parts])[order],
        partitions=np.concatenate([part.partitions for part in parts])[order],
        ties=np.concatenate([part.ties for part in parts])[order],
        cosines=np.concatenate([part.cosines for part in parts])[order],
        shares=np.concatenate([part.shares for part in parts])[order],
    )


def _joined(parts: Sequence[PassageScores]) -> PassageScores:
    """One behind the other."""
    if len(parts) < 2:
        return parts[0] if parts else _NO_PASSAGES
    return PassageScores(
        passages=np.concatenate([part.passages for part in parts]),
        memories=np.concatenate([part.memories for part in parts]),
        partitions=np.concatenate([part.partitions for part in parts]),
        ties=np.concatenate([part.ties for part in parts]),
        is_own=np.concatenate([part.is_own for part in parts]),
        scores=np.concatenate([part.scores for part in parts]),
    )


def _best(text: TextScores, index: AnyIndex, limit: int) -> Integers:
    """The memories of different contents that full text scores best and the index holds, equal ones by tie, of copies the newest."""
    for most in (limit, 4 * limit, len(text.memories)):
        first = _greatest(text.scores, most)
        memories, ties = index.ties(text.memories[first])
        scores = text.scores[text.memories.searchsorted(memories)]
        order = np.lexsort((-memories, ties, -scores))
        best = order[_are_first(ties[order])]
        if len(first) == len(text.memories) or len(best) >= limit:
            break
    return memories[best[:limit]]


def _are_first(values: Integers) -> NDArray[np.bool_]:
    """Which of the values differ from the one before."""
    are = np.ones(len(values), dtype=np.bool_)
    are[1:] = values[1:] != values[:-1]
    return are


def _greatest(scores: Floats, count: int) -> Integers:
    """Where the `count` greatest scores stand, in ascending order, and those that equal the last of them."""
    if count >= len(scores):
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    return np.flatnonzero(scores >= least)


def _backgrounds(question: Question, scored: Scored, places: Integers | slice = slice(None)) -> dict[str, fusion.Background]:
    """What the scores of each arm are judged against: the scores of the sample, which stand at these places."""
    scores = {DENSE: scored.cosines, TEXT: scored.shares}
    return {name: fusion.Background.of(scores[name][places], arm) for name, arm in _USUAL.items() if name in question.arms}


def _gains(room: Room, time: Interval, scored: Scored, scope: ReadableScope, z: Floats) -> Floats:
    """What each memory gains for having happened at a time. Of many the `MOST_DATED` with the greatest `z` are looked at."""
    gains = np.zeros(len(scored.memories))
    partitions = [row for row in scope.rows if scope.kinds[row] in DATED]
    dated = np.flatnonzero(np.isin(scored.partitions, partitions))
    if len(dated) > MOST_DATED:
        dated = dated[np.argsort(-z[dated], kind="stable")[:MOST_DATED]]
    memories = scored.memories[dated]
    inside = room.project.within(partitions, since=to_micros(time.start), until=to_micros(time.end), among=memories.tolist())
    gains[dated] = fusion.gains_of_time(_are_among(memories, np.array(inside, dtype=np.int64)))
    return gains


def _judged(
    room: Room,
    question: Question,
    scored: Scored,
    backgrounds: Mapping[str, fusion.Background],
    scope: ReadableScope,
    always: Integers,
    *,
    is_all: bool,
) -> Found:
    arms = _judge_arms(scored, backgrounds)
    weighed = [(arm.z_scores, arm.weight) for arm in arms]
    z, gains = fusion.fused(weighed), np.zeros(len(scored.memories))
    if question.time is not None:
        gains = _gains(room, question.time, scored, scope, z) * (fusion.OF_TIME_ALONE if question.is_of_time_alone else 1.0)
        z = fusion.fused(weighed, gains)
    memories, partitions, ties = scored.memories, scored.partitions, scored.ties
    cosines = scored.cosines if DENSE in question.arms else np.zeros(len(memories))
    kept = fusion.relevant(cosines, scored.shares, least_cosine=least_cosine(room, question.arms))
    kept |= scope.always_hold(partitions)
    kept |= _are_among(memories, always)
    if question.is_of_time_alone:
        kept |= gains > 0.0
    kept &= scope.is_open(partitions)
    similarities = fusion.similarity(z)
    evidence = Evidence(
        scored.passages, memories, partitions, ties, scored.cosines, scored.shares, arms, z, gains, similarities, kept
    )
    return Found(memories[kept], partitions[kept], ties[kept], similarities[kept], is_all, evidence)


def _judge_arms(scored: Scored, backgrounds: Mapping[str, fusion.Background]) -> list[JudgedArm]:
    scores = {DENSE: scored.cosines, TEXT: scored.shares}
    return [
        JudgedArm(
            name,
            _USUAL[name].weight,
            scores[name],
            np.full(len(scored.memories), background.mean),
            np.full(len(scored.memories), background.deviation),
            fusion.standardised(scores[name], background),
        )
        for name, background in backgrounds.items()
    ]


def least_cosine(room: Room, arms: Collection[str]) -> float:
    """Returns the cosine of the store's embedder from which on a memory is relevant to a question. Without a search by vectors none counts."""
    scale = room.scale if DENSE in arms else None
    return fusion.LEAST_COSINE if scale is None else scale.back(fusion.LEAST_COSINE)


def _are_among(memories: Integers, known: Integers) -> NDArray[np.bool_]:
    """Which of the memories are among known ones, which ascend."""
    if not len(known):
        return np.zeros(len(memories), dtype=np.bool_)
    are: NDArray[np.bool_] = known[np.minimum(known.searchsorted(memories), len(known) - 1)] == memories
    return are


def _places(sample: Integers, memories: Integers) -> Integers:
    """Where the sample stands among memories, which ascend; one that was removed meanwhile stands nowhere."""
    wanted = np.sort(sample)
    return memories.searchsorted(wanted[_are_among(wanted, memories)])


def _distinct(memories: Integers) -> tuple[Integers, Integers | slice]:
    """The memories once each, ascending, and where each stands first."""
    if (memories[1:] > memories[:-1]).all():
        return memories, slice(None)
    return np.unique(memories, return_index=True)


def _aligned(text: TextScores, memories: Integers) -> Floats:
    """The text scores of the memories, 0 where nothing matched. Memories that the vector index has not seen yet are left out."""
    if not len(text.memories):
        return np.zeros(len(memories))
    places = np.minimum(text.memories.searchsorted(memories), len(text.memories) - 1)
    return np.where(text.memories[places] == memories, text.scores[places], 0.0)
