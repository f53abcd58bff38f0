"""Working on arrays group by group without a loop over entries."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Selection = slice | Integers


def groups(labels: NDArray[np.integer]) -> Iterator[tuple[int, Selection]]:
    """Each distinct label, ascending, with where it stands: a slice when its entries are neighbours, else their places, ascending."""
    if not len(labels):
        return
    is_sorted = bool((labels[1:] >= labels[:-1]).all())
    order = None if is_sorted else np.argsort(labels, kind="stable")
    ordered = labels if order is None else labels[order]
    starts = [0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist()]
    for start, stop in zip(starts, [*starts[1:], len(labels)], strict=True):
        yield int(ordered[start]), slice(start, stop) if order is None else order[start:stop]


def best_of_each(counts: Integers, scores: NDArray[np.float32], ties: Integers, *, limit: int) -> Integers:
    """Places of the first `limit` entries of each group, groups in order, best score first, equal ones by smaller tie.

    The groups stand one behind the other and have `counts` entries.
    """
    group = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((ties, -scores, group))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[rank < limit]
