"""From texts to vectors, each text once: newest ones remembered, stored ones read, the rest embedded in one batch."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from alma.errors import AlmaError, EmbeddingError
from alma.forking import renewed_in_children
from alma.protocols import Embedder, Project
from alma.types.embedding import Fingerprint

REMEMBERED = 1024
UNIT_TOLERANCE = 0.01
EMBEDDED_AT_ONCE = 1024
"""More texts go to the model in several calls, so that it holds a few megabytes at a time."""

Loader = Callable[[], Embedder]


class TextVectors:
    """The vectors of a database's embedder, which is loaded when it is first needed. Shared by all projects of a store; thread-safe."""

    def __init__(self, fingerprint: Fingerprint, load: Loader, *, is_own: bool = True) -> None:
        """`is_own` says that nobody else uses the embedder: it is closed with the store, if it can be."""
        self.fingerprint = fingerprint
        self._is_own = is_own
        self._load = load
        self._embedder: Embedder | None = None
        self._recent: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()
        renewed_in_children(self)

    @classmethod
    def made_by(cls, embedder: Embedder, *, is_own: bool) -> "TextVectors":
        """The vectors of an embedder that is there already. It is closed with the store, if it is our own, also if it was never asked."""
        vectors = cls(embedder.fingerprint, lambda: embedder, is_own=is_own)
        vectors._embedder = embedder
        return vectors

    def of(self, texts: Sequence[str], project: Project) -> dict[str, bytes]:
        """The float16 vector of each text. `EmbeddingError` if the model fails or gives what no vector can be."""
        found = self._remembered(texts)
        found |= project.vectors([text for text in texts if text not in found])
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            found |= zip(missing, self.embedded(missing), strict=True)
        self._remember(found)
        return found

    def query(self, text: str, project: Project) -> NDArray[np.float32]:
        """The vector of a query, as exact as stored ones are."""
        return np.frombuffer(self.of([text], project)[text], dtype="<f2").astype(np.float32)

    def embedded(self, texts: Sequence[str]) -> list[bytes]:
        """The float16 vector of each text, made by the model. `EmbeddingError` if it fails or gives what no vector can be."""
        starts = range(0, len(texts), EMBEDDED_AT_ONCE)
        return [row for start in starts for row in self._embed(texts[start : start + EMBEDDED_AT_ONCE])]

    def close(self) -> None:
        """Lets go of what an embedder of our own holds, say connections."""
        with self._lock:
            release = getattr(self._embedder, "close", None) if self._is_own else None
        if callable(release):
            release()

    def forget(self) -> None:
        """Lets go of all texts that are remembered, of questions too: what was purged may be among them, or be quoted in them."""
        with self._lock:
            self._recent.clear()

    def renew_in_child(self) -> None:
        """Nobody holds the lock here."""
        self._lock = threading.Lock()

    def _embed(self, texts: Sequence[str]) -> list[bytes]:
        vectors = self._asked(texts)
        expected = (len(texts), self.fingerprint.dimension)
        if vectors.shape != expected:
            raise EmbeddingError(
                f"{self.fingerprint.model} gave vectors of shape {vectors.shape}, not {expected}; nothing was stored"
            )
        squares = np.einsum("ij,ij->i", vectors, vectors)
        if not all(abs(square - 1.0) <= UNIT_TOLERANCE for square in squares.tolist()):  # also where they are no numbers
            self._refuse(np.sqrt(squares))
        return [row.tobytes() for row in vectors.astype("<f2")]

    def _refuse(self, lengths: NDArray[np.float32]) -> None:
        """`EmbeddingError` for vectors that are too long or too short, or none at all."""
        if not np.isfinite(lengths).all():
            raise EmbeddingError(f"{self.fingerprint.model} gave a vector with values that are not finite; nothing was stored")
        worst = lengths[np.abs(lengths - 1.0).argmax()]
        if abs(worst - 1.0) > UNIT_TOLERANCE:
            raise EmbeddingError(f"{self.fingerprint.model} gave a vector of length {worst:.3g}, not 1; nothing was stored")

    def _asked(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """What the model gave, as an array. An embedder is somebody's code: whatever it raises is told as one kind of error."""
        try:
            return np.asarray(self._loaded().embed(texts), dtype=np.float32)
        except AlmaError:
            raise
        except Exception as error:
            raise EmbeddingError(
                f"{self.fingerprint.model} failed: {type(error).__name__}: {error}; nothing was stored"
            ) from error

    def _loaded(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = self._load()
            return self._embedder

    def _remembered(self, texts: Sequence[str]) -> dict[str, bytes]:
        with self._lock:
            return {text: self._recent[text] for text in texts if text in self._recent}

    def _remember(self, vectors: dict[str, bytes]) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._recent[text] = vector
                self._recent.move_to_end(text)
            while len(self._recent) > REMEMBERED:
                self._recent.popitem(last=False)
