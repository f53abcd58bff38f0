"""Vectors without a model: the same for the same text in every process, made in microseconds, and their cost told apart from all else.

Both sides of a comparison use these, so that neither is measured by its model. Needs numpy alone: the reference runs in an environment without ALMA.
"""

from collections.abc import Sequence
from hashlib import blake2b
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
PLACES = 6


class HashedTexts:
    """Unit rows of hashed words. `seconds` and `calls` add up what making them took, to be left out of what is measured."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0
        self._words: dict[str, tuple[list[int], list[float]]] = {}

    def rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row a text, shape (len(texts), DIMENSION)."""
        start = perf_counter()
        result = np.stack([self._row(text) for text in texts])
        self.seconds += perf_counter() - start
        self.calls += 1
        return result

    def _row(self, text: str) -> NDArray[np.float32]:
        row = np.zeros(DIMENSION, np.float32)
        row[0] = 0.01  # a text without words has a direction, too
        for word in text.lower().split():
            places, signs = self._words.get(word) or self._word(word)
            row[places] += signs
        unit: NDArray[np.float32] = row / np.linalg.norm(row)
        return unit

    def _word(self, word: str) -> tuple[list[int], list[float]]:
        numbers = np.frombuffer(blake2b(word.encode(), digest_size=2 * PLACES).digest(), dtype="<u2")
        found = [int(number) // 2 % DIMENSION for number in numbers], [1.0 if number % 2 else -1.0 for number in numbers]
        self._words[word] = found
        return found
