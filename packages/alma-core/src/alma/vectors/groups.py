"""The best entries of each group, without a loop over groups."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

ALL_BUT_SIGN = np.int64(0x7FFFFFFF)


def best_of_each(group: Integers, scores: NDArray[np.float32], ties: Integers, passages: Integers, *, limit: int) -> Integers:
    """Returns the places of the first `limit` entries of each group, groups ascending, best score first. Equal scores are ordered by
    smaller tie, then newer passage."""
    keys = (group << 32) + _descending(scores)
    order = np.argsort(keys)
    ordered = keys[order]
    if bool((ordered[1:] == ordered[:-1]).any()):
        order = np.lexsort((-passages, ties, keys))
    group = group[order]
    is_first = np.ones(len(group), dtype=np.bool_)
    is_first[1:] = group[1:] != group[:-1]
    starts = np.flatnonzero(is_first)
    rank = np.arange(len(order)) - starts[np.cumsum(is_first) - 1]
    best: Integers = order[rank < limit]
    return best


def _descending(scores: NDArray[np.float32]) -> Integers:
    """Maps scores to integers from 0 to 2³² - 1 in reverse order. Equal scores, also 0.0 and -0.0, give equal integers."""
    bits = (scores + np.float32(0)).view(np.int32).astype(np.int64)
    ascending = np.where(bits < 0, bits ^ ALL_BUT_SIGN, bits)
    return ALL_BUT_SIGN - ascending
