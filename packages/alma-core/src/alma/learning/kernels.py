"""How much one task says about another: kernels fitted on the tasks that were seen, without labels.

A cosine of sentences rests on names as much as on what is wanted: "deploy billing" is near to "restart billing". So one kernel compares tasks without
what their names add, by which other tasks they are near to (`task_space`). Where the best way depends on the name, the plain cosine predicts
outcomes better, and gets the weight. Constants hold for one embedder: without them, only equal tasks and equal types count.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from alma.learning.experience import Experience, Floats, Indices, Question, Vectors
from alma.learning.task_space import TaskSpace, task_space
from alma.text import normalised
from alma.types.embedding import Fingerprint

FORETOLD_VOTES, PAST_VOTES = 256, 1_024
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


CALIBRATED = {
    ("all-MiniLM-L6-v2", 384): Calibration(
        profile=Curve(0.47, 0.10), plain=Curve(0.40, 0.06), few=Curve(0.32, 0.06), profile_share=0.9, least_tasks=20
    ),
}


def calibration_of(fingerprint: Fingerprint) -> Calibration | None:
    """The constants for vectors of an embedder; `None` where none were measured."""
    return CALIBRATED.get((fingerprint.model, fingerprint.dimension))


@dataclass(frozen=True, slots=True)
class Kernels:
    """What `nearness` needs of n tasks. Without a `space`, only vectors as they are count. `profile_share` is the weight of the kernel of profiles.

    `places` are those of each normalised text, `type_codes` those of `types`, `UNTYPED` without one. `vectors`, `cores` and `profiles` have a row a
    task.
    """

    calibration: Calibration | None
    space: TaskSpace | None
    profile_share: float
    places: Mapping[str, Sequence[int]]
    types: Mapping[str, int]
    type_codes: Indices
    vectors: Vectors
    cores: Vectors
    profiles: Vectors


def fitted(experience: Experience, calibration: Calibration | None) -> Kernels:
    """Kernels for the tasks of an experience, from their texts, vectors and first votes. Deterministic."""
    none = np.zeros((0, experience.task_vectors.shape[1]), np.float32)
    empty = Kernels(
        calibration=calibration,
        space=None,
        profile_share=0.0,
        places={},
        types={},
        type_codes=np.empty(0, np.intp),
        vectors=none,
        cores=none,
        profiles=none,
    )
    if calibration is None or len(experience.tasks) < calibration.least_tasks:
        return grown(empty, experience)
    space = task_space(experience.tasks, experience.task_vectors)
    none = np.zeros((0, len(space.landmarks)), np.float32)
    kernels = grown(replace(empty, space=space, profiles=none), experience)
    return replace(kernels, profile_share=profile_share(experience, kernels.profiles, kernels.vectors, calibration))


def grown(kernels: Kernels, experience: Experience) -> Kernels:
    """The same fit with the tasks that came since: `experience` begins with the tasks of `kernels`. Only what is new is computed."""
    known = len(kernels.type_codes)
    tasks, vectors = experience.tasks[known:], experience.task_vectors[known:]
    places, types = dict(kernels.places), dict(kernels.types)
    codes = [UNTYPED if name is None else types.setdefault(name, len(types)) for name in experience.task_types[known:]]
    for place, task in enumerate(tasks, known):
        text = normalised(task)
        places[text] = (*places.get(text, ()), place)
    kernels = replace(
        kernels,
        places=places,
        types=types,
        type_codes=np.append(kernels.type_codes, np.array(codes, np.intp)),
        vectors=experience.task_vectors,
    )
    if kernels.space is None or not tasks:
        return kernels
    cores = kernels.space.cores(tasks, vectors)
    profiles = kernels.space.profiles(cores)
    return replace(kernels, cores=np.concatenate([kernels.cores, cores]), profiles=np.concatenate([kernels.profiles, profiles]))


def nearness(kernels: Kernels, question: Question) -> tuple[Floats, Floats]:
    """How much each of n tasks says about a question, from 0 to 1, and the cosine of both without their names, from −1 to 1.

    The same normalised task: both 1. The question and the task have a type: both 1 if it is the same, else 0. Without a calibration, all others: 0.
    """
    weights, cosines = _by_vector(kernels, question)
    if question.task_type is not None:
        is_same = kernels.type_codes == kernels.types.get(question.task_type, len(kernels.types))
        is_typed = kernels.type_codes != UNTYPED
        weights[is_typed] = cosines[is_typed] = is_same[is_typed]
    own = own_tasks(kernels, question)
    weights[own] = cosines[own] = 1.0
    return weights, cosines


def own_tasks(kernels: Kernels, question: Question) -> list[int]:
    """The places of the tasks that are the question's own: the same normalised text, and no other type."""
    code = UNTYPED if question.task_type is None else kernels.types.get(question.task_type, len(kernels.types))
    found = kernels.places.get(normalised(question.task), ())
    return [place for place in found if code == UNTYPED or kernels.type_codes[place] in (UNTYPED, code)]


def _by_vector(kernels: Kernels, question: Question) -> tuple[Floats, Floats]:
    constants = kernels.calibration
    if constants is None:
        return np.zeros(len(kernels.type_codes)), np.zeros(len(kernels.type_codes))
    plain = kernels.vectors @ question.vector
    if kernels.space is None:
        return constants.few.weights(plain), plain.astype(np.float64)
    weights = constants.plain.weights(plain)
    core = kernels.space.cores([question.task], question.vector[None])
    by_profile = constants.profile.weights(kernels.profiles @ kernels.space.profiles(core)[0])
    share = kernels.profile_share
    return share * by_profile + (1 - share) * weights, (kernels.cores @ core[0]).astype(np.float64)


def profile_share(experience: Experience, profiles: Vectors, vectors: Vectors, calibration: Calibration) -> float:
    """The weight of the kernel of profiles: the prior, times how probable each kernel made the newest votes, given those before them."""
    by_profile = log_likelihood(experience, profiles, calibration.profile)
    by_vector = log_likelihood(experience, vectors, calibration.plain)
    log_odds = math.log(calibration.profile_share / (1 - calibration.profile_share)) + by_profile - by_vector
    return 1 / (1 + math.exp(min(-log_odds, 700.0)))


def log_likelihood(experience: Experience, rows: Vectors, curve: Curve) -> float:
    """Of the newest first votes, each predicted from the votes of the same strategy before it on near tasks."""
    past = np.flatnonzero(~np.isnan(experience.vote))[-PAST_VOTES:]
    asked = past[-FORETOLD_VOTES:]
    tasks, votes, strategies = experience.cell_task, experience.vote, experience.cell_strategy
    base = float((votes[past].sum() + 1) / (len(past) + 2))
    counts = (past < asked[:, None]) & (strategies[past] == strategies[asked][:, None])
    weights = np.where(counts, curve.weights(rows[tasks[asked]] @ rows[tasks[past]].T), 0.0)
    rates = (weights @ votes[past] + PRIOR_TRIALS * base) / (weights.sum(axis=1) + PRIOR_TRIALS)
    rates = np.clip(rates, LEAST_RATE, 1 - LEAST_RATE)
    return float((votes[asked] * np.log(rates) + (1 - votes[asked]) * np.log(1 - rates)).sum())
