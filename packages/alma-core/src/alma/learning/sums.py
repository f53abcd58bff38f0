"""Sums over strategies that are the same, at the cost of the cells that there are."""

import numpy as np

from alma.learning.experience import Floats


def summed(same: Floats, counts: Floats) -> Floats:
    """Returns `same @ counts`, of k × k probabilities and counts of k strategies × t tasks.

    Most tasks saw one strategy: such a column is one of `same`, times that count. Only the columns of the others are multiplied.
    """
    if not len(same):
        return counts
    is_tried = counts != 0
    is_mixed = is_tried.sum(axis=0) > 1
    only = is_tried.argmax(axis=0)
    sums: Floats = same[:, only] * counts[only, np.arange(counts.shape[1])]
    if is_mixed.any():
        sums[:, is_mixed] = same @ counts[:, is_mixed]
    return sums
