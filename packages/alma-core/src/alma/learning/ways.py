"""Groups of strategies that are one way in other words."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, pi
from typing import Self

import numpy as np
from numpy.typing import NDArray

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

UNIFORM = 1.0

AS_LIKELY = log(2)
"""What outcomes have to say before they speak for two ways: as often as not, two ways work as well as each other."""

SUREST = 2.0
"""The most by which a merge is taken to exceed what it takes. Where words and vectors say more, it is wrong as often: 1 in 15, on lists that were not
tuned on."""

SUREST_OF_WORDS = 4.0
"""The same of groups with two members of which one names all that the other does, and more. Not fitted: few lists have such pairs."""

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

    `words` are what the words of each pair add, −∞ where they contradict each other; ∞, where they are the same, adds nothing here.
    """
    odds = np.tensordot(WEIGHTS, features(cosines), axes=1) + BASE + np.where(np.isfinite(words), words, 0.0)
    return np.where(words == -np.inf, -np.inf, odds)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What came of k strategies: successes of trials (k), and `apart` (k × k), the log-odds by which outcomes of one task speak for two ways."""

    successes: Floats
    trials: Floats
    apart: Floats

    @classmethod
    def none(cls, count: int) -> Self:
        """Those of strategies that were never tried."""
        return cls(np.zeros(count), np.zeros(count), np.zeros((count, count)))

    def beside(self, more: int) -> "Outcomes":
        """The same beside that number of strategies that were never tried."""
        return Outcomes(*(np.pad(counts, (0, more)) for counts in (self.successes, self.trials, self.apart)))


@dataclass(frozen=True, slots=True)
class Ways:
    """How k strategies are linked to ways: by their words and vectors alone, so that outcomes may judge each of the m merges.

    `odds` (k × k) are their log-odds, −∞ between subjects. `merge` (k × k) is the number of the merge that joins two, −1 for none.
    `first` and `second` (m × k) are 1 for the members of the two groups of a merge, `within` (m × m) is 1 for the merges that a merge rests on, and
    itself. `surplus` (m) is by how much the mean log-odds of a merge exceed what it takes, at most `SUREST`, or
    `SUREST_OF_WORDS`; ∞ where two have equal words.
    """

    odds: Floats
    merge: NDArray[np.int16]
    first: NDArray[np.float32]
    second: NDArray[np.float32]
    within: NDArray[np.float32]
    surplus: Floats

    @classmethod
    def of(cls, odds: Floats, is_equal: NDArray[np.bool_], is_same: NDArray[np.bool_]) -> Self:
        """Links strategies by average linkage. No way holds two that contradict each other: −∞ stays.

        What came of groups with two of equal words does not part them; much is needed where two are the same by their words.
        """
        members, merge = np.eye(len(odds), dtype=np.float32), np.full((len(odds), len(odds)), -1, np.int16)
        last: dict[int, list[int]] = {}
        first, second, within, surplus = [], [], [], []
        for number, (one, other, more) in enumerate(_merges(odds, ONE_WAY, OF_ONE_PAIR)):
            first.append(members[one].copy())
            second.append(members[other])
            mine, theirs = np.flatnonzero(first[-1]), np.flatnonzero(second[-1])
            merge[np.ix_(mine, theirs)] = merge[np.ix_(theirs, mine)] = number
            members[one] += members[other]
            last[one] = [*last.get(one, ()), *last.get(other, ()), number]
            within.append(last[one])
            here = np.ix_(mine, theirs)
            most = SUREST_OF_WORDS if is_same[here].any() else SUREST
            surplus.append(np.inf if is_equal[here].any() else min(more, most))
        rests = np.zeros((len(surplus), len(surplus)), np.float32)
        for number, merges in enumerate(within):
            rests[number, merges] = 1.0
        shape = len(surplus), len(odds)
        return cls(odds, merge, np.reshape(first, shape), np.reshape(second, shape), rests, np.array(surplus))

    def parted(self, came: Outcomes) -> tuple[NDArray[np.bool_], Floats]:
        """Whether two strategies are one way beside what came of each, and the log-odds that they are (both k × k).

        A merge stands if its log-odds exceed what it takes by no less than what outcomes say, and if those that it rests on stand (after Heller and
        Ghahramani 2005, "Bayesian hierarchical clustering"). They say the log of the Bayes factor of two rates of success over one, less
        `AS_LIKELY`, and what those of one task add. Outcomes do not choose the groups, so luck parts no more of them than that factor says.
        """
        if not len(self.surplus):
            return np.eye(len(self.odds), dtype=bool), self.odds
        counts = np.stack([came.successes, came.trials], axis=1)
        first, second, both = (
            log_probability(group @ counts, UNIFORM) for group in (self.first, self.second, self.first + self.second)
        )
        rates = first + second - both - AS_LIKELY
        speaks = np.maximum(rates + ((self.first @ came.apart) * self.second).sum(axis=1), 0.0)
        stands = self.within @ (speaks > self.surplus) == 0
        is_one = np.append(stands, False)[self.merge]
        np.fill_diagonal(is_one, True)
        return is_one, self.odds - np.append(speaks, 0.0)[self.merge]


def log_probability(counts: Floats, prior: float) -> Floats:
    """The natural logarithm of the probability of m sequences of outcomes of one rate each, from their successes and trials (m × 2).

    Rates are drawn from a beta distribution with `prior` twice, a uniform one by 1; half successes and weights are counted as they are. What two
    have together, less what their sum has, is the logarithm of the Bayes factor of two rates over one (Kass and Raftery 1995, "Bayes factors").
    """
    successes, trials = np.append(counts, [[0.0, 0.0]], axis=0).T
    won, lost, all_of_them = _log_gamma(np.stack([successes + prior, trials - successes + prior, trials + 2 * prior]))
    beta = won + lost - all_of_them
    result: Floats = beta[:-1] - beta[-1]
    return result


def _log_gamma(values: Floats) -> Floats:
    """The logarithm of the gamma function, of values above 0, to eight digits (Abramowitz and Stegun 1964, 6.1.15 and 6.1.41)."""
    far = values + 4.0
    near_one = np.log(values * (values + 1.0) * (values + 2.0) * (values + 3.0))
    series = 1 / (12 * far) - 1 / (360 * far**3) + 1 / (1260 * far**5)
    result: Floats = (far - 0.5) * np.log(far) - far + 0.5 * log(2 * pi) + series - near_one
    return result


def subjects(cosines: Floats) -> Indices:
    """The number of the subject of each of k strategies: groups of average linkage, down to `SUBJECT`.

    All groups that are nearest to each other merge at once, which makes the same groups as one merge after the other (Bruynooghe 1978,
    "Classification ascendante hiérarchique des grands ensembles de données").
    """
    group, names = np.arange(len(cosines)), np.arange(len(cosines))
    sums, sizes = cosines.astype(np.float64), np.ones(len(cosines))
    while len(names) > 1:
        means = sums / np.outer(sizes, sizes)
        np.fill_diagonal(means, -np.inf)
        nearest, places = means.argmax(axis=1), np.arange(len(names))
        is_first = (nearest[nearest] == places) & (places < nearest) & (means.max(axis=1) >= SUBJECT)
        first, second = places[is_first], nearest[is_first]
        if not len(first):
            break
        sums[first] += sums[second]
        sums[:, first] += sums[:, second]
        sizes[first] += sizes[second]
        renamed = np.arange(len(group))
        renamed[names[second]] = names[first]
        group = renamed[group]
        is_left = np.ones(len(names), bool)
        is_left[second] = False
        names, sums, sizes = names[is_left], sums[np.ix_(is_left, is_left)], sizes[is_left]
    return group


def _merges(likeness: Floats, least: float, of_one_pair: float) -> Iterator[tuple[int, int, float]]:
    """Average-linkage clustering (Sokal and Michener 1958) of k things by a symmetric k × k likeness. Deterministic.

    Yields, in their order, the two groups of each merge, by the number of their first member, and by how much it exceeds `least`.
    Means are updated by the formula of Lance and Williams (1967). The best of each row is kept, so that few rows are searched again after a merge.
    """
    count = len(likeness)
    means, sizes = likeness.astype(np.float64), np.ones(count)
    scores = means - of_one_pair
    np.fill_diagonal(scores, -np.inf)
    best = scores.max(axis=1, initial=-np.inf)
    for _ in range(count - 1):
        one = int(np.argmax(best))
        if best[one] < least:
            break
        first, second = sorted((one, int(np.argmax(scores[one]))))
        yield first, second, float(best[one]) - least
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
