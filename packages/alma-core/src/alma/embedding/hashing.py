"""Vectors from hashed words and character n-grams: no model, nothing to install, the same on every platform."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from alma.errors import ConfigurationError
from alma.text import STOPWORDS, normalised
from alma.types.identity import Fingerprint

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL = "hash"
REVISION = "1"
DEFAULT_DIMENSION = 384
SMALLEST_DIMENSION = 16
LARGEST_DIMENSION = 4096

WORD_SHARE = 0.4
GRAM_SIZES = (3, 4)
STOPWORD_WEIGHT = 0.1
LONGEST_PIECE = 40
CACHED_WORDS = 4096


class HashEmbedder:
    """Places texts near each other that share words, or words that share most of their letters. Knows nothing of meaning.

    Each word is a unit vector: the sum of its own hashed feature and those of its character 3- and 4-grams, signed (Weinberger et al.
    2009, "Feature hashing for large scale multitask learning"). A text is the sum of its words, each weighted `1 + ln(count)`, and stop
    words a tenth of that. A text without a word has a vector of its own. `dimension` is 16 to 4096.
    """

    def __init__(self, dimension: int = DEFAULT_DIMENSION) -> None:
        if not SMALLEST_DIMENSION <= dimension <= LARGEST_DIMENSION:
            raise ConfigurationError(
                f"The hash embedder takes a dimension from {SMALLEST_DIMENSION} to {LARGEST_DIMENSION}, not {dimension}"
            )
        self._fingerprint = Fingerprint(
            model=MODEL, revision=REVISION, dimension=dimension, precision="float32", token_limit=0, preparation="none-1"
        )
        self._word_vector = lru_cache(maxsize=CACHED_WORDS)(lambda word: _word_vector(word, dimension))

    @property
    def fingerprint(self) -> Fingerprint:
        """Fingerprint of this hashing. Its revision changes when the hashing does."""
        return self._fingerprint

    @property
    def compares_words(self) -> bool:
        """True: texts in other words are not near each other."""
        return True

    def embed(self, texts: Sequence[str], /) -> "NDArray[np.float32]":
        """Returns one unit row per text, in order. Never fails, and returns the same row in any process on any platform."""
        vectors = np.empty((len(texts), self._fingerprint.dimension), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._text_vector(text)
        return vectors

    def _text_vector(self, text: str) -> "NDArray[np.float32]":
        counts = Counter(normalised(text).split())
        if not counts:
            return self._word_vector("")
        weights = np.array([_weight(word, count) for word, count in counts.items()], np.float32)
        return _unit(weights @ np.stack([self._word_vector(word) for word in counts]), otherwise=self._word_vector(""))


def _weight(word: str, count: int) -> float:
    return (1 + math.log(count)) * (STOPWORD_WEIGHT if word in STOPWORDS else 1)


def _word_vector(word: str, dimension: int) -> "NDArray[np.float32]":
    """Returns a unit vector. The word itself has `WORD_SHARE` of the squared length, its n-grams the rest."""
    vector = np.zeros(dimension, np.float64)
    _add(vector, f"w {word}", math.sqrt(WORD_SHARE))
    grams = _grams(word)
    for gram in grams:
        _add(vector, f"g {gram}", math.sqrt((1 - WORD_SHARE) / len(grams)))
    first = np.zeros(dimension, np.float64)
    first[0] = 1
    unit = _unit(vector.astype(np.float32), otherwise=first.astype(np.float32))
    unit.setflags(write=False)
    return unit


def _add(vector: "NDArray[np.float64]", feature: str, amount: float) -> None:
    digest = int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    vector[(digest >> 1) % len(vector)] += amount if digest & 1 else -amount


def _grams(word: str) -> list[str]:
    """Returns the distinct n-grams of the word between two marks. A very long run of letters is split into pieces first."""
    pieces = [f"<{word[start : start + LONGEST_PIECE]}>" for start in range(0, len(word), LONGEST_PIECE)]
    found = (piece[at : at + size] for piece in pieces for size in GRAM_SIZES for at in range(len(piece) - size + 1))
    return list(dict.fromkeys(found))


def _unit(vector: "NDArray[np.float32]", *, otherwise: "NDArray[np.float32]") -> "NDArray[np.float32]":
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 1e-6 else otherwise.copy()
