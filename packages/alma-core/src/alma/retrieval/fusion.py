"""Fuses two arms into one similarity by z-scores against a background, so that the scale of their scores does not matter.

Standardising beats rank fusion here, because a rank does not say how far ahead the first result was. Memories are identified by their
place in parallel arrays.
"""

import math
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
"""How many times as much it gains where the question says nothing else: then the time decides."""

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
