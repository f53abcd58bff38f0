"""Groups of strategies that are one way in other words."""

import numpy as np

from alma.learning.experience import Floats, Indices
from alma.learning.sameness import BY_VECTORS

ONE_WAY, OF_ONE_PAIR = 0.4, 0.1
"""Two groups of strategies are one from this mean cosine of all-MiniLM-L6-v2 on: over one pair the sum of both, over n pairs `ONE_WAY` and a share
1 / √n of `OF_ONE_PAIR`, for a mean of more pairs is surer. With `sameness`, .95 of the pairs in `benchmarks/data/strategy_pairs.jsonl` that have one
row are the same, and .84 of those that are the same have one row."""

CONTRADICTED, DOUBTED = -0.2, 0.2
"""What counts for the cosine of two strategies that contradict each other, and at most for that of two that are doubted: no group has many such
pairs."""


def ways(cosines: Floats, same: Floats) -> Indices:
    """The number of the group of each of k strategies: average-linkage clustering (Sokal and Michener 1958) down to `ONE_WAY`.

    `same` is `BY_VECTORS` or more for pairs that are the same, −1 for those that contradict each other, otherwise negative for those in doubt. Both
    are k × k and symmetric. Deterministic.
    """
    count = len(cosines)
    doubted = np.where(same < 0, np.minimum(cosines, DOUBTED), cosines)
    sums = np.where(same >= BY_VECTORS, 1.0, np.where(same <= -1, CONTRADICTED, doubted))
    sizes, group = np.ones(count), np.arange(count)
    np.fill_diagonal(sums, -np.inf)
    for _ in range(count - 1):
        pairs = np.outer(sizes, sizes)
        means = sums / pairs - OF_ONE_PAIR / np.sqrt(pairs)
        one, other = np.unravel_index(int(np.argmax(means)), means.shape)
        if means[one, other] < ONE_WAY:
            break
        first, second = min(one, other), max(one, other)
        sums[first] += sums[second]
        sums[:, first] = sums[first]
        sums[second, :] = sums[:, second] = -np.inf
        sums[first, first] = -np.inf
        sizes[first] += sizes[second]
        group[group == second] = first
    return group
