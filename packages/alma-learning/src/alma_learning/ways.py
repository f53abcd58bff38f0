"""Which wordings are one way: compared beside the other ways on such tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alma_learning.background import scale
from alma_learning.differences import differ
from alma_learning.linkage import link_groups
from alma_learning.trials import Embedding, Floats, Matrix

LOCAL, LOCAL_PRIOR = 0.8, 5.0
ONE_WAY = 0.1
FOUND = 0.25
SURE, SURELY = 0.75, 0.9
SAME_ERROR = 0.2
APART = -1.0


@dataclass(frozen=True, slots=True)
class Wordings:
    """n wordings of a kind of task: in words, as vectors (n, d), and the errors that each ended in."""

    texts: Sequence[str]
    vectors: Matrix
    errors: Sequence[frozenset[str]]


def group_wordings(wordings: Wordings, mean: Floats, embedding: Embedding) -> list[list[int]]:
    """Returns the places of the wordings in groups of one way each, by complete linkage."""
    alike = compare_wordings(wordings.vectors, wordings.vectors, mean, embedding)
    alike += SAME_ERROR * _share_errors(wordings.errors)
    least = ONE_WAY if embedding is Embedding.MEANING else SURELY
    for i, j in np.argwhere(np.triu(alike >= least, 1)).tolist():
        if differ(wordings.texts[i], wordings.texts[j]):
            alike[i, j] = alike[j, i] = APART
    return link_groups(alike, least)


def compare_wordings(some: Matrix, known: Matrix, mean: Floats, embedding: Embedding) -> Floats:
    """Returns how alike wordings are to the known ones: cosines after most of what the known ones have in common is taken away."""
    plain = some @ known.T
    if embedding is Embedding.WORDS:
        return np.where(plain >= SURE, SURELY, 0.0)
    common = LOCAL * (known.sum(axis=0) + LOCAL_PRIOR * mean) / (len(known) + LOCAL_PRIOR)
    alike = scale(some - common.astype(np.float32)) @ scale(known - common.astype(np.float32)).T
    return np.where(plain >= SURE, np.maximum(alike, SURELY), alike).astype(np.float64)


def _share_errors(errors: Sequence[frozenset[str]]) -> Floats:
    """Returns for each two wordings how telling the errors are that both ended in: each by the share of the failing wordings that never had it."""
    names = {error: place for place, error in enumerate(sorted(set().union(*errors)))}
    has = np.zeros((len(errors), len(names)))
    for row, found in enumerate(errors):
        has[row, [names[error] for error in found]] = 1
    failing = max(sum(map(bool, errors)), 1)
    shared: Floats = (has * (1 - has.sum(axis=0) / failing)) @ has.T
    return shared
