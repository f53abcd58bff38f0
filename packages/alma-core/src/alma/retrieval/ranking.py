"""From similarities to a slice: the best of each kind, equal ones folded, ties broken by content."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from alma import scoring
from alma.protocols import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Contender:
    """A memory that may be returned: its similarity, and how many equal ones it stands for."""

    memory: int
    similarity: float
    copies: int


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
) -> tuple[list[Contender], int]:
    """The `limit` most similar memories of each group, equal content folded into the newest; and the least number found in a group.

    All arrays are parallel. Equal similarities are ordered by tie, which is the content's hash; `memories` ascend with time of writing.
    """
    order = np.lexsort((-memories, ties, -similarities))
    open_groups = dict.fromkeys(np.unique(groups).tolist(), 0)
    result: list[Contender] = []
    seen: set[tuple[int, int]] = set()
    for memory, group, tie, similarity in zip(
        memories[order].tolist(), groups[order].tolist(), ties[order].tolist(), similarities[order].tolist(), strict=True
    ):
        if open_groups[group] == limit or (group, tie) in seen:
            continue
        seen.add((group, tie))
        open_groups[group] += 1
        copies = int(np.count_nonzero((ties == tie) & (groups == group)))
        result.append(Contender(memory, similarity, copies))
        if min(open_groups.values()) == limit:
            break
    return result, min(open_groups.values(), default=0)


def ranked(
    found: Sequence[Contender],
    candidates: Sequence[Candidate],
    *,
    kinds: Mapping[int, str],
    profile: scoring.Profile,
    now: int,
    top_k: int,
) -> list[Ranked]:
    """The contenders that still exist, scored, at most `top_k` of each kind, best first. `kinds` tells the kind of each partition."""
    stored = {candidate.memory: candidate for candidate in candidates}
    scored = [
        _scored(contender, stored[contender.memory], kinds[stored[contender.memory].partition], profile, now)
        for contender in found
        if contender.memory in stored
    ]
    scored.sort(key=lambda item: (-item.score, item.tie, item.memory))
    taken: dict[str, int] = {}
    result = []
    for item in scored:
        taken[item.kind] = taken.get(item.kind, 0) + 1
        if taken[item.kind] <= top_k:
            result.append(item)
    return result


def _scored(contender: Contender, candidate: Candidate, kind: str, profile: scoring.Profile, now: int) -> Ranked:
    factors = {
        "similarity": contender.similarity,
        "recency": scoring.recency(candidate.seen_at, now, profile.half_life_days),
        "success": scoring.success(kind, candidate.successes, candidate.trials),
        "confidence": candidate.confidence,
    }
    useful = scoring.usefulness(*candidate.usage) if profile.counts_usefulness else 1.0
    score = useful * profile.score(factors, kind)
    return Ranked(contender.memory, kind, score, factors, useful, contender.copies, candidate.content_hash)
