"""Groups by linkage of a matrix of likenesses."""

from collections.abc import Sequence

import numpy as np

from alma_learning.trials import Floats

NEVER = -9.0


def link_groups(likeness: Floats, least: float, *, sizes: Sequence[float] | None = None) -> list[list[int]]:
    """Returns the groups that joining the most alike two, while they are at least `least` alike, results in.

    With `sizes` by average linkage (the members behind each row), without by complete linkage. What is `NEVER` alike is never joined, nor is what
    contains it. Of equal pairs the first is joined.
    """
    count = len(likeness)
    alike, groups, alive = likeness.astype(np.float64), [[place] for place in range(count)], count
    size = None if sizes is None else np.array(sizes, np.float64)
    np.fill_diagonal(alike, NEVER)
    best = alike.argmax(axis=1) if count else np.zeros(0, np.intp)
    rows = np.arange(count)
    top = alike[rows, best] if count else np.zeros(0)
    while alive > 1:
        a = int(top.argmax())
        b = int(best[a])
        if top[a] < least:
            break
        a, b = min(a, b), max(a, b)
        if size is None:
            row = np.minimum(alike[a], alike[b])
        else:
            row = (size[a] * alike[a] + size[b] * alike[b]) / (size[a] + size[b])
            row[(alike[a] == NEVER) | (alike[b] == NEVER)] = NEVER
            size[a] += size[b]
        row[a] = row[b] = NEVER
        groups[a] += groups[b]
        groups[b] = []
        alike[a], alike[:, a] = row, row
        alike[b], alike[:, b] = NEVER, NEVER
        top[b] = NEVER
        best[a], top[a] = row.argmax(), row.max()
        stale = rows[((best == a) | (best == b)) & (top > NEVER)]
        best[stale] = alike[stale].argmax(axis=1)
        top[stale] = alike[stale, best[stale]]
        better = (row > top) | ((row == top) & (best > a))
        better[b] = False
        best[better], top[better] = a, row[better]
        alive -= 1
    return [sorted(group) for group in groups if group]
