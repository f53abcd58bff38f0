"""Groups of strategies that are one way in other words."""

import numpy as np

from alma.learning.experience import Floats, Indices

SUBJECT = 0.15
"""Strategies are about one subject down to this mean cosine of all-MiniLM-L6-v2. Only such are compared: how near two are says most beside how near
the others are to them that an agent tries for the same tasks."""

ONE_WAY, OF_ONE_PAIR = 0.5, 0.6
"""Two groups of one subject are one way from these mean log-odds on: over n pairs `ONE_WAY` and a share 1 / √n of `OF_ONE_PAIR`, for a mean of more
pairs is surer. `benchmarks/strategy_lists.py`."""

WEIGHTS, BASE = (14.7, -23.5, -1.8, 8.8, 5.4, -6.2, 7.9), -7.7
"""What `features` and a constant make of the log-odds: a logistic regression (`benchmarks/sameness_constants.py`)."""

MOST_MEAN = 0.78
"""Means of all cosines above this say no more: the weights are fitted on lists that are hardly ever nearer. Those of near copies are."""

HIGH = 0.6
"""What a cosine exceeds this by has a weight of its own."""

SAME_WORDS = 5.0
"""Log-odds of pairs that are the same in their words, at least."""


def features(cosines: Floats) -> Floats:
    """What vectors say of each pair of k ≥ 2 strategies of one subject (7 × k × k), weighed by `WEIGHTS`.

    The cosine; that over √k; what it exceeds `HIGH` by; how far it is ahead of the mean cosine of both with the others; the mean of all cosines,
    up to `MOST_MEAN` where there are others than the two; their standard deviation; 1 / √k. The fourth and the sixth are times 1 − 1 / √(k − 1):
    little is seen of few.
    """
    count = len(cosines)
    few, share = 1 / np.sqrt(count), 1 - 1 / np.sqrt(count - 1)
    pairs = cosines[np.triu_indices(count, 1)]
    near = cosines.sum(axis=1) - np.diag(cosines)
    around = (near[:, None] + near - 2 * cosines) / (2 * max(count - 2, 1))
    mean = pairs.mean() if count == 2 else min(pairs.mean(), MOST_MEAN)
    of_pairs = [cosines, few * cosines, np.maximum(cosines - HIGH, 0.0), share * (cosines - around)]
    return np.stack([*of_pairs, *(np.full_like(cosines, one) for one in (mean, share * pairs.std(), few))])


def log_odds(cosines: Floats, words: Floats) -> Floats:
    """The log-odds that two of k ≥ 2 strategies of one subject are one way (k × k, symmetric).

    `words` are what the words of each pair add, ∞ where they are the same, −∞ where they contradict each other.
    """
    odds = np.tensordot(WEIGHTS, features(cosines), axes=1) + BASE + np.where(np.isfinite(words), words, 0.0)
    odds = np.where(words == np.inf, np.maximum(odds, SAME_WORDS), odds)
    return np.where(words == -np.inf, -np.inf, odds)


def subjects(cosines: Floats) -> Indices:
    """The number of the subject of each of k strategies."""
    return _linked(cosines, SUBJECT, 0.0)


def ways(odds: Floats) -> Indices:
    """The number of the way of each of k strategies of one subject, from their `log_odds`. None holds two that contradict each other: −∞ stays."""
    return _linked(odds, ONE_WAY, OF_ONE_PAIR)


def _linked(likeness: Floats, least: float, of_one_pair: float) -> Indices:
    """Average-linkage clustering (Sokal and Michener 1958) of k things by a symmetric k × k likeness. Deterministic.

    Means are updated by the formula of Lance and Williams (1967). The best of each row is kept, so that few rows are searched again after a merge.
    """
    count = len(likeness)
    means, sizes, group = likeness.astype(np.float64), np.ones(count), np.arange(count)
    scores = means - of_one_pair
    np.fill_diagonal(scores, -np.inf)
    best = scores.max(axis=1)
    for _ in range(count - 1):
        one = int(np.argmax(best))
        if best[one] < least:
            break
        first, second = sorted((one, int(np.argmax(scores[one]))))
        is_stale = np.maximum(scores[first], scores[second]) >= best
        is_gone = scores[second] == -np.inf
        size = sizes[first] + sizes[second]
        mean = (sizes[first] * means[first] + sizes[second] * means[second]) / size
        means[first] = means[:, first] = mean
        sizes[first] = size
        row = mean - of_one_pair / np.sqrt(size * sizes)
        row[is_gone] = row[first] = row[second] = -np.inf
        scores[first] = scores[:, first] = row
        scores[second] = scores[:, second] = -np.inf
        best = np.maximum(best, row)
        is_stale[first] = is_stale[second] = True
        best[is_stale] = scores[is_stale].max(axis=1)
        group[group == second] = first
    return group
