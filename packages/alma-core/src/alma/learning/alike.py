"""The probabilities that pairs of strategies are one way, computed once for each pair."""

from collections.abc import Sequence

import numpy as np

from alma.learning.experience import Floats, Vectors
from alma.learning.sameness import BY_VECTORS, NOT_SAME, same_weight
from alma.learning.scale import OWN, Scale
from alma.learning.ways import ways
from alma.learning.wording import Stems, wording

MOST_KNOWN = 512
"""Pairs among this number of strategies, the first ones, are compared, and remembered: 2 MB at most. Later ones are the same in the same words
alone."""


class AlikeStrategies:
    """Remembers what was computed. Strategies are known by their numbers, −1 for one that has none."""

    def __init__(self, scale: Scale | None) -> None:
        """`scale` is that of the vectors; `None` if their cosines are not used."""
        self._scale = scale
        self._known = np.full((0, 0), np.nan)

    def weights(self, numbers: Sequence[int], texts: Sequence[str], vectors: Vectors) -> Floats:
        """The probabilities for k strategies, by their numbers, texts and unit vectors: k × k, symmetric, 1 on the diagonal."""
        if len(texts) == 1:
            return np.ones((1, 1))
        self._grow(max(numbers, default=-1) + 1)
        size = len(self._known)
        places = np.array([number if 0 <= number < size else -1 for number in numbers], np.intp)
        same = np.full((len(texts), len(texts)), np.nan)
        kept = np.flatnonzero(places >= 0)
        same[np.ix_(kept, kept)] = self._known[np.ix_(places[kept], places[kept])]
        np.fill_diagonal(same, 1.0)
        cosines = (self._scale or OWN).of((vectors @ vectors.T).astype(np.float64))
        if np.isnan(same).any():
            self._fill(same, numbers, texts, cosines)
            self._known[np.ix_(places[kept], places[kept])] = same[np.ix_(kept, kept)]
        return self._grouped(same, cosines) if self._scale else np.maximum(same, 0.0)

    def _grouped(self, same: Floats, cosines: Floats) -> Floats:
        """The probabilities with those of a group for all its pairs."""
        group = ways(cosines, same)
        known = np.maximum(same, 0.0)
        result: Floats = np.where(group[:, None] == group, np.maximum(known, BY_VECTORS), known)
        return result

    def _fill(self, same: Floats, numbers: Sequence[int], texts: Sequence[str], cosines: Floats) -> None:
        """Puts in what is missing: −1 for a pair that contradicts itself."""
        readings = [wording(text) for text in texts]
        cores: dict[Stems, int] = {}
        codes = np.array([cores.setdefault(reading.core, len(cores)) for reading in readings])
        may_be = (cosines > NOT_SAME) | (codes[:, None] == codes)
        is_late = np.array(numbers) >= MOST_KNOWN
        is_of_late = is_late[:, None] | is_late
        missing = np.isnan(same)
        same[missing & ~may_be] = 0.0
        same[missing & is_of_late] = -1.0
        missing &= ~is_of_late
        for one, other in np.argwhere(np.tril(missing & may_be, -1)).tolist():
            weight = same_weight(texts[one], texts[other], float(cosines[one, other]), is_calibrated=self._scale is not None)
            same[one, other] = same[other, one] = weight

    def _grow(self, wanted: int) -> None:
        size = len(self._known)
        if wanted <= size or size == MOST_KNOWN:
            return
        grown = np.full((min(max(wanted, 2 * size, 8), MOST_KNOWN),) * 2, np.nan)
        grown[:size, :size] = self._known
        self._known = grown


def same_weights(texts: Sequence[str], vectors: Vectors, *, scale: Scale | None = OWN) -> Floats:
    """The probability that two of k strategies are one way (k × k, symmetric, 1 on the diagonal), from their texts and unit vectors.

    1 where words say so, `BY_VECTORS` within a group of `ways`, 0 where words clearly speak against it, else by the cosine; without a scale, 1 for
    equal words and else 0.
    """
    return AlikeStrategies(scale).weights(range(len(texts)), texts, vectors)
