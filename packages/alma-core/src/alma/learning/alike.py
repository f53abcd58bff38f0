"""The probabilities that pairs of strategies are one way. What their words say is read once for each pair."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from alma.learning.experience import Floats, Vectors
from alma.learning.sameness import BY_VECTORS, NOT_SAME, by_words
from alma.learning.scale import OWN, Scale
from alma.learning.ways import SAME_WORDS, Outcomes, Ways, log_odds, subjects
from alma.learning.wording import Stems, wording

MOST_KNOWN = 512
"""Pairs among this number of strategies, the first ones, are compared, and remembered: 2 MB at most. Later ones are the same in the same words
alone."""

MOST_LAST = 16
"""The number of lists of strategies of which it is remembered how they are linked: 6 MB at most."""

PROBABLE, MOST_OF_TWO = 0.3, 0.5
"""Two strategies that are one way with the first probability, but are not called so, have the second: they lend each other trials where a rate is
expected, and are counted apart."""

SAME_BUT_MORE = 1e6
"""What is known of two that are the same in their words, but do not have the same telling ones: much can part them."""

LEAST_ODDS = log(PROBABLE / (1 - PROBABLE))


@dataclass(frozen=True, slots=True)
class Likeness:
    """What words and vectors say of k strategies: which pairs are the same in their words (k × k), and how they are linked to ways."""

    is_same: NDArray[np.bool_]
    ways: Ways

    def weights(self, came: Outcomes) -> Floats:
        """The probabilities that two are one way, beside what came of each of them: k × k, symmetric, 1 on the diagonal."""
        is_one, odds = self.ways.parted(came)
        probable = np.where(odds >= LEAST_ODDS, MOST_OF_TWO, 0.0)
        return np.where(is_one, np.where(self.is_same, 1.0, BY_VECTORS), probable)


class AlikeStrategies:
    """Remembers what was computed. Strategies are known by their numbers, −1 for one that has none."""

    def __init__(self, scale: Scale | None) -> None:
        """`scale` is that of the vectors; `None` if their cosines are not used."""
        self._scale = scale
        self._known = np.full((0, 0), np.nan)
        self._last: OrderedDict[tuple[int, ...], Likeness] = OrderedDict()
        """What was answered lately: most questions are about the same strategies."""

    def likeness(self, numbers: Sequence[int], texts: Sequence[str], vectors: Vectors) -> Likeness:
        """How k strategies are alike, by their numbers, texts and unit vectors.

        It depends on all k: how near two are says most beside how near the others are that an agent tries for the same tasks.
        """
        key = tuple(numbers)
        if key in self._last:
            self._last.move_to_end(key)
            return self._last[key]
        found = self._likeness(numbers, texts, vectors)
        if min(key, default=-1) >= 0:
            self._last[key] = found
            if len(self._last) > MOST_LAST:
                self._last.popitem(last=False)
        return found

    def _likeness(self, numbers: Sequence[int], texts: Sequence[str], vectors: Vectors) -> Likeness:
        self._grow(max(numbers, default=-1) + 1)
        size = len(self._known)
        places = np.array([number if 0 <= number < size else -1 for number in numbers], np.intp)
        words = np.full((len(texts), len(texts)), np.nan)
        kept = np.flatnonzero(places >= 0)
        words[np.ix_(kept, kept)] = self._known[np.ix_(places[kept], places[kept])]
        np.fill_diagonal(words, np.inf)
        cosines = (self._scale or OWN).of((vectors @ vectors.T).astype(np.float64))
        if np.isnan(words).any():
            self._fill(words, numbers, texts, cosines)
            self._known[np.ix_(places[kept], places[kept])] = words[np.ix_(kept, kept)]
        is_equal, is_same = words == np.inf, words >= SAME_BUT_MORE
        return Likeness(is_same, Ways.of(self._odds(cosines, np.where(is_same, np.inf, words)), is_equal, is_same))

    def _odds(self, cosines: Floats, words: Floats) -> Floats:
        """The log-odds that two strategies are one way; −∞ between subjects, and without a scale, but for those in the same words."""
        odds = np.full(cosines.shape, -np.inf)
        subject = subjects(cosines) if self._scale else np.arange(len(cosines))
        for number in np.unique(subject):
            members = np.flatnonzero(subject == number)
            if len(members) > 1:
                here = np.ix_(members, members)
                odds[here] = log_odds(cosines[here], words[here])
        return np.where(words == np.inf, np.maximum(odds, SAME_WORDS), odds)

    def _fill(self, words: Floats, numbers: Sequence[int], texts: Sequence[str], cosines: Floats) -> None:
        """Puts in what words say of the pairs of which it is not known."""
        readings = [wording(text) for text in texts]
        cores: dict[Stems, int] = {}
        codes = np.array([cores.setdefault(reading.core, len(cores)) for reading in readings])
        may_be = (cosines > NOT_SAME) | (codes[:, None] == codes)
        is_late = np.array(numbers) >= MOST_KNOWN
        is_of_late = is_late[:, None] | is_late
        missing = np.isnan(words)
        words[missing & ~may_be] = 0.0
        words[missing & is_of_late] = -np.inf
        missing &= ~is_of_late
        for one, other in np.argwhere(np.tril(missing & may_be, -1)).tolist():
            said = by_words(texts[one], texts[other], float(cosines[one, other]))
            words[one, other] = words[other, one] = (
                said if readings[one].telling == readings[other].telling else min(said, SAME_BUT_MORE)
            )

    def _grow(self, wanted: int) -> None:
        size = len(self._known)
        if wanted <= size or size == MOST_KNOWN:
            return
        grown = np.full((min(max(wanted, 2 * size, 8), MOST_KNOWN),) * 2, np.nan)
        grown[:size, :size] = self._known
        self._known = grown


def same_weights(texts: Sequence[str], vectors: Vectors, *, scale: Scale | None = OWN) -> Floats:
    """The probability that two of k strategies are one way (k × k, symmetric, 1 on the diagonal), from their texts and unit vectors.

    Within a group of `Ways` 1 where words say so and else `BY_VECTORS`, 0 where words clearly speak against it. Without a scale, 1 for equal words,
    else 0.
    """
    return AlikeStrategies(scale).likeness(range(len(texts)), texts, vectors).weights(Outcomes.none(len(texts)))
