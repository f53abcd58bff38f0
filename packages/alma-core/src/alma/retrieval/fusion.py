"""Two arms become one similarity: z-scores against a background, so that neither arm drags the other, however their scores are scaled.

Standardising beats rank fusion here: a rank forgets how far ahead the first one was. Memories are told by their place in parallel arrays.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from alma.protocols import PassageScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

DAMPING = (1.0, 0.5, 0.25)
"""What a memory's best, second and third passage count for."""

PRIOR_COUNT = 20.0
"""So many imagined memories, scored as unrelated ones usually are, steady the background of a small scope."""

MIDDLE = 2.0
"""The z at which similarity is one half."""


@dataclass(frozen=True, slots=True)
class Arm:
    """How the scores of unrelated memories usually lie in one arm, the least deviation that is believed, and the arm's weight."""

    usual_mean: float
    usual_deviation: float
    least_deviation: float
    weight: float


DENSE = Arm(usual_mean=0.1, usual_deviation=0.1, least_deviation=0.04, weight=1.0)
TEXT = Arm(usual_mean=0.3, usual_deviation=1.2, least_deviation=0.4, weight=1.0)

LEAST_COSINE = 0.25
LEAST_SHARE = 0.3
"""A memory below both, in cosine and in share of the query's idf mass that matched, is not about the query at all."""


def relevant(cosines: "Floats", shares: "Floats") -> "NDArray[np.bool_]":
    """Which memories say anything on the query, by absolute evidence; z-scores cannot tell, since something is always the best."""
    return (cosines >= LEAST_COSINE) | (shares >= LEAST_SHARE)


def pooled(scores: PassageScores, memories: "Integers") -> "Floats":
    """One score a memory: the damped mean of its three best passages. `memories` ascend; one without a passage scores 0.

    Passages that a memory does not have are taken to be as good as its last, so that short and long memories compare.
    """
    places = np.searchsorted(memories, scores.memories)
    values = scores.scores.astype(np.float64)
    if len(np.unique(places)) == len(places):
        result = np.zeros(len(memories))
        result[places] = values
        return result
    return _damped(places, values, len(memories))


def _damped(places: "Integers", values: "Floats", count: int) -> "Floats":
    order = np.lexsort((-values, places))
    places, values = places[order], values[order]
    starts = np.searchsorted(places, np.arange(count))
    ends = np.searchsorted(places, np.arange(count), side="right")
    total = np.zeros(count)
    found = ends > starts
    for rank, share in enumerate(DAMPING):
        at = np.minimum(starts + rank, ends - 1)
        total[found] += share * values[at[found]]
    mean: Floats = total / sum(DAMPING)
    return mean


def standardised(scores: "Floats", background: "Floats", arm: Arm) -> "Floats":
    """The scores as deviations from a background, whose mean and variance are shrunk to what is usual in the arm."""
    count = len(background)
    total = count + PRIOR_COUNT
    mean = (background.sum() + PRIOR_COUNT * arm.usual_mean) / total
    spread = ((background - mean) ** 2).sum() + PRIOR_COUNT * (arm.usual_deviation**2 + (arm.usual_mean - mean) ** 2)
    deviation = max(float(np.sqrt(spread / total)), arm.least_deviation)
    return (scores - mean) / deviation


def fused(z_scores: "list[tuple[Floats, Arm]]") -> "Floats":
    """The weighted mean of the arms' z-scores."""
    weight = sum(arm.weight for _, arm in z_scores)
    return sum((arm.weight * scores for scores, arm in z_scores), start=np.zeros(1)) / weight


def similarity(z: "Floats") -> "Floats":
    """The fixed logistic that turns z into a factor in [0, 1]. It keeps the order."""
    return 1.0 / (1.0 + np.exp(MIDDLE - z))
