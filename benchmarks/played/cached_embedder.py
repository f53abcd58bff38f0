"""An embedder that embeds each text once a process: the texts of a world return with every seed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from alma.protocols import Embedder
    from alma.types.identity import Fingerprint


class CachedEmbedder:
    """Keeps the vectors of another embedder in memory."""

    def __init__(self, embedder: "Embedder") -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def fingerprint(self) -> "Fingerprint":
        return self._embedder.fingerprint

    @property
    def compares_words(self) -> bool:
        return bool(getattr(self._embedder, "compares_words", False))

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Returns one unit row a text."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known.update(zip(missing, np.asarray(self._embedder.embed(missing), np.float32), strict=True))
        if not texts:
            return np.zeros((0, self.fingerprint.dimension), np.float32)
        return np.stack([self._known[text] for text in texts])
