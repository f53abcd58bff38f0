"""Makes an order of what two searches found: BM25 of the words, both fused into one similarity by z-scores against a background, ranked into a slice.

BM25 is a pure function of the posting lists of full text. A score is a *share* in [0, 1): the BM25 of a memory divided by the most that BM25 gives
for these words. It is the sum over the words of idf times a factor below k1 + 1. Words of others (an assistant, a tool) weigh less, as a weaker
stream does in BM25F (Robertson and Zaragoza 2009, "The probabilistic relevance framework: BM25 and beyond"). A scope is assumed to hold a few more,
unrelated memories: in a scope of one memory no word would count otherwise.

Standardising beats rank fusion, because a rank does not say how far ahead the first result was. Memories are identified by their place in parallel
arrays. Of each kind the best are taken, equal content folded, ties broken by content.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from alma import scoring
from alma.protocols import Candidate, PassageScores
from alma.text import CommonWords
from alma.types.stored import TextLists, TextScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

K1 = 1.2
B = 0.75
PRIOR_MEMORIES = 16

PRIOR_LENGTH = 600.0
PRIOR_LENGTHS = 16
"""The mean length is shrunk to `PRIOR_LENGTH`, the length of a usual text, with the weight of this many texts."""

COMMON = CommonWords(number=4_000, share=0.1, newest=1_000)
"""Common words say least. Without them .99 of the best 50 stay among a million memories; with a share of .04 .95 did, hardly quicker."""


def score_words(found: TextLists) -> TextScores:
    """Returns every memory in one of the lists, ascending, with its share of the greatest possible score."""
    idfs = [_idf(held_by, found.count) for held_by in found.held_by]
    frequencies = found.frequencies.astype(np.float64)
    weights = np.repeat([idf * (K1 + 1) for idf in idfs], found.sizes)
    total = np.bincount(found.places, weights * frequencies / (frequencies + _norms(found)))
    named = np.flatnonzero(total > 0)
    return TextScores(found.memories[named], total[named] / ((K1 + 1) * sum(idfs)))


def narrow(found: TextLists, memories: "NDArray[np.int64]") -> TextLists:
    """Returns the lists as if the scope held only these memories, which ascend. Their mean length is taken to be that of the scope."""
    kept = np.isin(found.memories, memories)
    new_places = np.cumsum(kept, dtype=np.int32) - 1
    starts = np.concatenate([[0], np.cumsum(found.sizes)]).astype(np.int64)
    listed = kept[found.places]
    before = np.concatenate([[0], np.cumsum(listed)])
    sizes = (before[starts[1:]] - before[starts[:-1]]).tolist()
    share = len(memories) / found.count if found.count else 0.0
    return TextLists(
        memories=found.memories[kept],
        lengths=found.lengths[kept],
        count=len(memories),
        total_length=found.total_length * share,
        places=new_places[found.places[listed]].astype(np.int32),
        frequencies=found.frequencies[listed],
        sizes=sizes,
        held_by=sizes,
    )


def _norms(found: TextLists) -> "NDArray[np.float64]":
    """Returns the length norm of each frequency: greater in a memory that is longer than the mean."""
    mean = (found.total_length + PRIOR_LENGTHS * PRIOR_LENGTH) / (found.count + PRIOR_LENGTHS)
    norms: NDArray[np.float64] = K1 * (1 - B + B * found.lengths[found.places].astype(np.float64) / mean)
    return norms


def _idf(held_by: int, count: int) -> float:
    total = count + PRIOR_MEMORIES
    return max(math.log((total - held_by + 0.5) / (held_by + 0.5)), 1e-6)


SECOND_SHARE = 0.3
THIRD_SHARE = 0.1
"""Shares of a memory's second and third passage in its score, as far as they are nearer than unrelated ones usually are."""

PRIOR_COUNT = 20.0
"""Number of imagined unrelated memories that steady the background of a small scope."""

LEAST_DEVIATION = 0.02

MIDDLE = 2.0
"""The z at which similarity is one half."""


@dataclass(frozen=True, slots=True)
class Arm:
    """Usual distribution of the scores of unrelated memories in one arm, and the arm's weight."""

    usual_mean: float
    usual_deviation: float
    weight: float = 1.0


DENSE = Arm(usual_mean=0.12, usual_deviation=0.12)
TEXT = Arm(usual_mean=0.03, usual_deviation=0.06, weight=0.6)

MOST_OF_TIME = 1.5
"""The most that a memory gains for lying in the time that a question names, as a z-score."""

OF_TIME_ALONE = 4.0
"""The factor of this gain where the question says nothing else: then the time decides."""

LEAST_COSINE = 0.2
LEAST_SHARE = 0.1
"""A memory below both, in cosine on the scale of all-MiniLM-L6-v2 and in share of the greatest text score, is irrelevant to the question."""


def relevant(cosines: "Floats", shares: "Floats", *, least_cosine: float = LEAST_COSINE) -> "NDArray[np.bool_]":
    """Marks the memories that are relevant, by absolute evidence. z-scores cannot decide that, since some memory is always the best.
    `least_cosine` is the embedder's own cosine for `LEAST_COSINE`."""
    return (cosines >= least_cosine) | (shares >= LEAST_SHARE)


def pooled(scores: PassageScores, memories: "Integers") -> "Floats":
    """Returns one score per memory: its best passage plus a damped share of the next two. `memories` ascend; one without a passage scores
    0.

    A missing second or third passage adds nothing, nor does an unrelated one, so that short and long memories compare.
    """
    values = scores.scores.astype(np.float64)
    if np.array_equal(scores.memories, memories):
        return values
    places = np.searchsorted(memories, scores.memories)
    counts = np.bincount(places, minlength=len(memories))
    total = np.zeros(len(memories))
    is_alone = counts[places] == 1
    total[places[is_alone]] = values[is_alone]
    several = np.flatnonzero(counts > 1)
    ranked = values[~is_alone][np.lexsort((-values[~is_alone], places[~is_alone]))]
    starts = np.cumsum(counts[several]) - counts[several]
    for rank, share in enumerate((1.0, SECOND_SHARE, THIRD_SHARE)):
        has = counts[several] > rank
        found = ranked[starts[has] + rank]
        total[several[has]] += share * (found if rank == 0 else np.maximum(found - DENSE.usual_mean, 0.0))
    return total


@dataclass(frozen=True, slots=True)
class Background:
    """Distribution of the scores of one arm over memories in general, against which each score is judged."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, scores: "Floats", arm: Arm) -> "Background":
        """Returns mean and deviation of the scores, shrunk to what is usual in the arm.

        They are the pooled moments of the scores and of `PRIOR_COUNT` imagined ones with the usual mean and deviation.
        """
        total = len(scores) + PRIOR_COUNT
        mean = float(scores.sum() + PRIOR_COUNT * arm.usual_mean) / total
        squares = ((scores - mean) ** 2).sum() + PRIOR_COUNT * (arm.usual_deviation**2 + (arm.usual_mean - mean) ** 2)
        return cls(mean, max(float(np.sqrt(squares / total)), LEAST_DEVIATION))


def standardised(scores: "Floats", background: Background) -> "Floats":
    """Returns the scores as deviations from a background."""
    z: Floats = (scores - background.mean) / background.deviation
    return z


def fused(z_scores: "list[tuple[Floats, float]]", gains: "Floats | float" = 0.0) -> "Floats":
    """Returns the mean of the arms' z-scores, each with its arm's weight, with `gains` added to their sum."""
    total = sum(weight for _, weight in z_scores)
    return (sum((weight * scores for scores, weight in z_scores), start=np.zeros(1)) + gains) / total


def gains_of_time(inside: "NDArray[np.bool_]") -> "Floats":
    """Returns what memories inside the time that a question names gain over the others: the logarithm of how much it narrows.

    `ln(n / hits)`, at most `MOST_OF_TIME`, for the `hits` inside among n. 0 for all if it leaves out none, or all.
    """
    hits = int(inside.sum())
    return np.where(inside, min(math.log(len(inside) / hits), MOST_OF_TIME), 0.0) if hits else np.zeros(len(inside))


def similarity(z: "Floats") -> "Floats":
    """Turns z into a factor in [0, 1] by a fixed logistic function, which keeps the order."""
    return 1.0 / (1.0 + np.exp(MIDDLE - z))


OF_COSINE, OF_SHARE, OFFSET = 7.3, 7.4, -6.15
"""Log-odds of relevance: `OF_COSINE` times the cosine plus `OF_SHARE` times the share of words plus `OFFSET`. They are those of a logistic
regression (docs: decisions on retrieval) on cosines of all-MiniLM-L6-v2."""


def relevance(cosine: float, share: float) -> float:
    """Returns the probability that a conversation with this cosine, on the scale of all-MiniLM-L6-v2, and this share of words is about the
    question, so that an agent can say that it does not know. Questions of either sort are taken to be equally frequent."""
    return 1.0 / (1.0 + math.exp(-(OF_COSINE * cosine + OF_SHARE * share + OFFSET)))


_UNUSED = (0, 0, 0, 0, 0.0, 0.0)
"""The last columns of a candidate that was never shown."""


class Contender(NamedTuple):
    """A memory that may be returned: its similarity, and the number of equal memories that it represents.

    One that `is_kept` is returned before others of its kind, whatever its score.
    """

    memory: int
    similarity: float
    copies: int
    is_kept: bool = False


class Ranked(NamedTuple):
    """A memory that is returned, with its score and the factors behind it."""

    memory: int
    kind: str
    score: float
    factors: Mapping[str, float]
    usefulness: float
    copies: int
    tie: bytes


def select_contenders(
    similarities: "Floats", *, memories: "Integers", groups: "Integers", ties: "Integers", limit: int
) -> list[Contender]:
    """Returns the `limit` most similar memories of each group, equal content folded into the newest.

    All arrays are parallel. Equal similarities are ordered by tie, which is the content's hash; `memories` ascend with time of writing.
    Groups are small numbers from 0 on.
    """
    order = np.lexsort((-memories, ties, -similarities))
    tied, grouped = ties[order], groups[order]
    is_other = np.ones(len(order), dtype=np.bool_)  # equal content is mostly adjacent, because it is equally similar
    is_other[1:] = (tied[1:] != tied[:-1]) | (grouped[1:] != grouped[:-1])
    order = order[is_other]
    left = {group: min(count, limit) for group, count in enumerate(np.bincount(groups).tolist())}
    wanted = sum(left.values())
    seen: set[tuple[int, int]] = set()
    first: list[int] = []
    for place, group, tie in zip(order.tolist(), groups[order].tolist(), ties[order].tolist(), strict=True):
        if len(first) == wanted:
            break
        if left[group] and (group, tie) not in seen:
            seen.add((group, tie))
            left[group] -= 1
            first.append(place)
    places = np.array(first, dtype=np.int64)
    copies = _count_copies(ties, groups, places)
    return list(map(Contender, memories[places].tolist(), similarities[places].tolist(), copies.tolist()))


def _count_copies(ties: "Integers", groups: "Integers", places: "Integers") -> "Integers":
    """Returns for each place how many memories of its group have its content, itself included."""
    ordered = np.sort(ties)
    copies: Integers = ordered.searchsorted(ties[places], side="right") - ordered.searchsorted(ties[places])
    for number in (copies > 1).nonzero()[0].tolist():
        place = places[number]
        copies[number] = np.count_nonzero((ties == ties[place]) & (groups == groups[place]))
    return copies


def rank_contenders(
    found: Sequence[Contender],
    candidates: Sequence[Candidate],
    *,
    kinds: Mapping[int, str],
    profile: scoring.Profile,
    now: int,
    top_k: int,
) -> list[Ranked]:
    """Scores the contenders that still exist. Returns at most `top_k` of each kind, best first. `kinds` maps a partition to its kind."""
    stored = {candidate.memory: candidate for candidate in candidates}
    scored = [
        _score(contender, stored[contender.memory], kinds, profile, now) for contender in found if contender.memory in stored
    ]
    scored.sort(key=attrgetter("tie", "memory"))
    scored.sort(key=attrgetter("score"), reverse=True)
    kept = {contender.memory for contender in found if contender.is_kept}
    left = dict.fromkeys([one.kind for one in scored], top_k)
    chosen = set()
    for one in sorted(scored, key=lambda one: one.memory not in kept) if kept else scored:
        if left[one.kind]:
            left[one.kind] -= 1
            chosen.add(one.memory)
    return [one for one in scored if one.memory in chosen]


def _score(contender: Contender, candidate: Candidate, kinds: Mapping[int, str], profile: scoring.Profile, now: int) -> Ranked:
    """Returns a contender with its score: the weighed factors, times the multiplier for measured usefulness."""
    kind = kinds[candidate.partition]
    factors = {
        "similarity": contender.similarity,
        "recency": scoring.recency(candidate.seen_at, now, profile.half_life_days),
        "success": scoring.success(kind, candidate.successes, candidate.trials),
        "confidence": candidate.confidence,
    }
    is_used = candidate[-len(_UNUSED) :] != _UNUSED  # not `candidate.usage`: a call for each contender
    useful = scoring.usefulness(*candidate.usage) if is_used and profile.counts_usefulness else 1.0
    score = useful * profile.score(factors, kind)
    return Ranked(contender.memory, kind, score, factors, useful, contender.copies, candidate.content_hash)
