"""Ranks similarities into a slice: the best of each kind, equal content folded, ties broken by content."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from alma import scoring
from alma.protocols import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


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
