"""Ranks similarities into a slice: the best of each kind, equal content folded, ties broken by content."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from alma import scoring
from alma.protocols import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


LOOK_AHEAD = 4
"""The first pass looks at this many times the number wanted. Only where copies of one content crowd out the rest, a second pass looks at
all."""

_Scored = tuple[float, bytes, int, str, Mapping[str, float], float, int]
"""The score negated, the tie, the memory, its kind, the factors, the usefulness and the copies of a contender: they sort as they are ranked."""

_MEMORY: Final = 2

_UNUSED = (0, 0, 0, 0, 0.0, 0.0)


class Contender(NamedTuple):
    """A memory that may be returned: its similarity, and the number of equal memories that it represents.

    One that `is_kept` is returned before others of its kind, whatever its score.
    """

    memory: int
    similarity: float
    copies: int
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory that is returned, with its score and the factors behind it."""

    memory: int
    kind: str
    score: float
    factors: Mapping[str, float]
    usefulness: float
    copies: int
    tie: bytes


def contenders(
    similarities: "Floats", *, memories: "Integers", groups: "Integers", ties: "Integers", limit: int
) -> list[Contender]:
    """Returns the `limit` most similar memories of each group, equal content folded into the newest.

    All arrays are parallel. Equal similarities are ordered by tie, which is the content's hash; `memories` ascend with time of writing.
    Groups are small numbers from 0 on.
    """
    held = np.bincount(groups)
    front = _front(similarities, groups, held.tolist(), LOOK_AHEAD * limit)
    first = front[_chosen(similarities[front], memories[front], groups[front], ties[front], limit=limit)]
    counts = np.bincount(groups[first], minlength=len(held))
    if ((counts < limit) & (held > LOOK_AHEAD * limit)).any():
        first = _chosen(similarities, memories, groups, ties, limit=limit)
    copies = _copies(ties, groups, first)
    return list(map(Contender, memories[first].tolist(), similarities[first].tolist(), copies.tolist()))


def _copies(ties: "Integers", groups: "Integers", places: "Integers") -> "Integers":
    """Returns for each place how many memories of its group have its content, itself included."""
    ordered = np.sort(ties)
    copies: Integers = ordered.searchsorted(ties[places], side="right") - ordered.searchsorted(ties[places])
    for number in (copies > 1).nonzero()[0].tolist():
        place = places[number]
        copies[number] = np.count_nonzero((ties == ties[place]) & (groups == groups[place]))
    return copies


def _front(similarities: "Floats", groups: "Integers", held: Sequence[int], most: int) -> "Integers":
    """Returns the places of the `most` most similar of each group, and of all that equal the last of them."""
    kept = np.ones(len(groups), dtype=np.bool_)
    for group, count in enumerate(held):
        if count > most:
            inside = groups == group
            kept[inside] = similarities[inside] >= np.partition(similarities[inside], count - most)[count - most]
    return np.flatnonzero(kept)


def _chosen(similarities: "Floats", memories: "Integers", groups: "Integers", ties: "Integers", *, limit: int) -> "Integers":
    """Returns the places of the `limit` most similar of each group, best first, of equal content the newest."""
    order = np.lexsort((-memories, ties, -similarities))
    is_other = np.ones(
        len(order), dtype=np.bool_
    )  # differs from the one before: equal content is mostly adjacent, because it is equally similar
    tied, grouped = ties[order], groups[order]
    is_other[1:] = (tied[1:] != tied[:-1]) | (grouped[1:] != grouped[:-1])
    order = order[is_other]
    room = {group: min(count, limit) for group, count in enumerate(np.bincount(groups).tolist())}
    left = sum(room.values())
    seen: set[tuple[int, int]] = set()
    result = []
    for place, group, tie in zip(order.tolist(), groups[order].tolist(), ties[order].tolist(), strict=True):
        if not left:
            break
        if not room[group] or (group, tie) in seen:
            continue
        seen.add((group, tie))
        room[group] -= 1
        left -= 1
        result.append(place)
    return np.array(result, dtype=np.int64)


def ranked(
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
    scored: list[_Scored] = []
    for contender in found:
        candidate = stored.get(contender.memory)
        if candidate is not None:
            kind = kinds[candidate.partition]
            factors, useful = _factors(contender, candidate, kind, profile, now)
            score = useful * profile.score(factors, kind)
            scored.append((-score, candidate.content_hash, contender.memory, kind, factors, useful, contender.copies))
    scored.sort()  # no two have the same memory, so the sort never compares the fields after it
    kept = {contender.memory for contender in found if contender.is_kept}
    chosen = _chosen_of_each_kind(scored, kept, top_k) if kept else None
    taken: Counter[str] = Counter()
    result = []
    for negative, tie, memory, kind, factors, useful, copies in scored:
        if chosen is not None and memory not in chosen:
            continue
        taken[kind] += 1
        if taken[kind] <= top_k:
            result.append(Ranked(memory, kind, -negative, factors, useful, copies, tie))
    return result


def _chosen_of_each_kind(scored: Sequence[_Scored], kept: Collection[int], top_k: int) -> set[int]:
    """The memories that are returned: at most `top_k` of each kind, those of `kept` before the others."""
    taken: Counter[str] = Counter()
    chosen = set()
    for _, _, memory, kind, *_ in sorted(scored, key=lambda one: one[_MEMORY] not in kept):
        taken[kind] += 1
        if taken[kind] <= top_k:
            chosen.add(memory)
    return chosen


def _factors(
    contender: Contender, candidate: Candidate, kind: str, profile: scoring.Profile, now: int
) -> tuple[Mapping[str, float], float]:
    """Returns the factors of a score, and the multiplier for measured usefulness."""
    factors = {
        "similarity": contender.similarity,
        "recency": scoring.recency(candidate.seen_at, now, profile.half_life_days),
        "success": scoring.success(kind, candidate.successes, candidate.trials),
        "confidence": candidate.confidence,
    }
    usage = candidate.usage
    return factors, scoring.usefulness(*usage) if profile.counts_usefulness and usage != _UNUSED else 1.0
