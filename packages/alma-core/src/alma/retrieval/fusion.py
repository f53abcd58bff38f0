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

SECOND_SHARE = 0.3
THIRD_SHARE = 0.1
"""What a memory's second and third passage add, for as much as they are nearer than unrelated ones usually are."""

PRIOR_COUNT = 20.0
"""So many imagined memories, scored as unrelated ones usually are, steady the background of a small scope."""

LEAST_DEVIATION = 0.02

MIDDLE = 2.0
"""The z at which similarity is one half."""


@dataclass(frozen=True, slots=True)
class Arm:
    """How the scores of unrelated memories usually lie in one arm, and what the arm weighs."""

    usual_mean: float
    usual_deviation: float
    weight: float = 1.0


DENSE = Arm(usual_mean=0.12, usual_deviation=0.12)
TEXT = Arm(usual_mean=0.03, usual_deviation=0.06)

LEAST_COSINE = 0.2
LEAST_SHARE = 0.1
"""A memory below both, in cosine and in share of what full text could score, is not about the question at all."""


def relevant(cosines: "Floats", shares: "Floats") -> "NDArray[np.bool_]":
    """Which memories say anything on the question, by absolute evidence; z-scores cannot tell, since something is always the best."""
    return (cosines >= LEAST_COSINE) | (shares >= LEAST_SHARE)


def pooled(scores: PassageScores, memories: "Integers") -> "Floats":
    """One score a memory: its best passage, and a damped share of the next two. `memories` ascend; one without a passage scores 0.

    A passage that a memory does not have adds nothing, nor does an unrelated one, so that short and long memories compare.
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
    """How the scores of one arm lie over memories that are not asked for: what each score is judged against."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, scores: "Floats", arm: Arm) -> "Background":
        """Mean and deviation of the scores, shrunk to what is usual in the arm.

        The pooled moments of the scores and `PRIOR_COUNT` imagined ones of the usual mean and deviation.
        """
        total = len(scores) + PRIOR_COUNT
        mean = float(scores.sum() + PRIOR_COUNT * arm.usual_mean) / total
        squares = ((scores - mean) ** 2).sum() + PRIOR_COUNT * (arm.usual_deviation**2 + (arm.usual_mean - mean) ** 2)
        return cls(mean, max(float(np.sqrt(squares / total)), LEAST_DEVIATION))


def standardised(scores: "Floats", background: Background) -> "Floats":
    """The scores as deviations from a background."""
    z: Floats = (scores - background.mean) / background.deviation
    return z


def fused(z_scores: "list[tuple[Floats, float]]") -> "Floats":
    """The mean of the arms' z-scores, each with its arm's weight."""
    total = sum(weight for _, weight in z_scores)
    return sum((weight * scores for scores, weight in z_scores), start=np.zeros(1)) / total


def similarity(z: "Floats") -> "Floats":
    """The fixed logistic that turns z into a factor in [0, 1]. It keeps the order."""
    return 1.0 / (1.0 + np.exp(MIDDLE - z))
