"""How much one task says about another: kernels fitted on the tasks that were seen, without labels.

A cosine of sentences rests on names as much as on what is wanted: "deploy billing" is near to "restart billing". So one kernel compares tasks without
what their names add, by which other tasks they are near to (`task_space`). Where the best way depends on the name, the plain cosine predicts
outcomes better, and gets the weight. Constants were measured for one embedder. Another's are those on its own scale (`scale`); without any, only
equal tasks and equal types count.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from alma.learning.experience import Experience, Floats, Indices, Vectors
from alma.learning.scale import OWN, SENTENCES, Scale, scale_of
from alma.types.embedding import Fingerprint

PREDICTED_VOTES, PAST_VOTES = 256, 1_024
"""The kernels are compared by how well they predict the newest votes, each from the votes before it."""

LEAST_RATE = 0.02
"""No vote is predicted with more certainty than this leaves."""

PRIOR_TRIALS = 2.0
"""A predicted rate is drawn to the rate of all votes as by this number of trials."""

UNTYPED = -1
"""The code of a task without a type."""


@dataclass(frozen=True, slots=True)
class Curve:
    """How a cosine becomes a weight: `1 / (1 + exp((threshold - cosine) / width))`."""

    threshold: float
    width: float

    def weights(self, cosines: Vectors) -> Floats:
        """The weights of cosines, from 0 to 1."""
        weights: Floats = 1 / (1 + np.exp((self.threshold - cosines.astype(np.float64)) / self.width))
        return weights

    def on(self, scale: Scale) -> "Curve":
        """The curve for cosines of another scale that gives the same weights."""
        return Curve(scale.back(self.threshold), self.width / scale.slope)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Constants of an embedder, as `benchmarks/kernel_constants.py` compares them."""

    profile: Curve
    """For cosines of profiles."""
    plain: Curve
    """For cosines of vectors as they are."""
    few: Curve
    """For the same while too few tasks are known for a fit: what few tasks have in common is seldom what parts many."""
    profile_share: float
    """The weight of the first of these before any outcome was seen."""
    least_tasks: int
    """With fewer tasks, only vectors as they are count."""
    scale: Scale = OWN
    """Of the embedder's cosines, for what was measured on those of another."""

    def on(self, scale: Scale) -> "Calibration":
        """The constants for an embedder of another scale. Profiles compare vectors without their mean, so their curve stays."""
        return replace(self, plain=self.plain.on(scale), few=self.few.on(scale), scale=scale)


MEASURED = Calibration(
    profile=Curve(0.70, 0.12), plain=Curve(0.40, 0.06), few=Curve(0.32, 0.06), profile_share=0.9, least_tasks=20
)
"""Of all-MiniLM-L6-v2."""


def is_measured(fingerprint: Fingerprint) -> bool:
    """Returns True if `MEASURED` holds for an embedder as it is."""
    return (fingerprint.model, fingerprint.dimension) == ("all-MiniLM-L6-v2", 384)


def calibrated(fingerprint: Fingerprint, embed: Callable[[Sequence[str]], Vectors]) -> Calibration | None:
    """Returns the constants for an embedder. One that was not measured embeds `SENTENCES` for it, one unit row a text.

    `None` for one whose cosines do not separate texts of one meaning from others.
    """
    if is_measured(fingerprint):
        return MEASURED
    scale = scale_of(embed(SENTENCES))
    return None if scale is None else MEASURED.on(scale)


def profile_share(by_profile: float, by_vector: float, calibration: Calibration) -> float:
    """The weight of the kernel of profiles: the prior, times how probable each kernel made the newest votes, given those before them."""
    prior = math.log(calibration.profile_share / (1 - calibration.profile_share))
    return odds_share(prior + by_profile - by_vector)


def odds_share(log_odds: float) -> float:
    """The probability of log-odds."""
    return 1 / (1 + math.exp(min(-log_odds, 700.0)))


def log_likelihood(experience: Experience, weights_of: Callable[[Indices, Indices], Floats]) -> float:
    """Of the newest first votes, each predicted from the votes of the same strategy before it, by the weights of their tasks for its own.

    `weights_of` gives those of each of the second tasks for each of the first.
    """
    past = np.flatnonzero(~np.isnan(experience.vote))[-PAST_VOTES:]
    asked = past[-PREDICTED_VOTES:]
    tasks, votes, strategies = experience.cell_task, experience.vote, experience.cell_strategy
    base = float((votes[past].sum() + 1) / (len(past) + 2))
    counts = (past < asked[:, None]) & (strategies[past] == strategies[asked][:, None])
    weights = np.where(counts, weights_of(tasks[asked], tasks[past]), 0.0)
    rates = (weights @ votes[past] + PRIOR_TRIALS * base) / (weights.sum(axis=1) + PRIOR_TRIALS)
    rates = np.clip(rates, LEAST_RATE, 1 - LEAST_RATE)
    return float((votes[asked] * np.log(rates) + (1 - votes[asked]) * np.log(1 - rates)).sum())


def by_cosine(rows: Vectors, curve: Curve) -> Callable[[Indices, Indices], Floats]:
    """The weights of tasks by the cosines of their rows."""
    return lambda asked, past: curve.weights(rows[asked] @ rows[past].T)


def by_type(codes: Indices) -> Callable[[Indices, Indices], Floats]:
    """The weights of tasks by their types: 1 for the same, 0 for a task without one."""
    return lambda asked, past: ((codes[asked][:, None] == codes[past]) & (codes[past] != UNTYPED)).astype(np.float64)
