"""Embeds texts, each once: recent vectors come from a cache, stored ones from the store, the rest from the model in one batch."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from alma.embedding.scale import OWN, SENTENCES, Scale, is_measured, scale_of
from alma.errors import AlmaError, EmbeddingError
from alma.forking import renewed_in_children
from alma.protocols import Embedder, Project, WordEmbedder
from alma.types.identity import Fingerprint
from alma_learning import SENTENCES as BACKGROUND

REMEMBERED = 1024
UNIT_TOLERANCE = 0.01
EMBEDDED_AT_ONCE = 1024
"""Limit on the texts of one call of the model, so that it holds a few megabytes at a time."""

Loader = Callable[[], Embedder]
Answer = TypeVar("Answer")


class TextVectors:
    """Vectors of a database's embedder, which is loaded on first use. Shared by all projects of a store; thread-safe."""

    def __init__(self, fingerprint: Fingerprint, load: Loader, *, is_own: bool = True) -> None:
        """With `is_own`, the embedder has no other user: it is closed with the store, if it can be."""
        self.fingerprint = fingerprint
        self._is_own = is_own
        self._load = load
        self._embedder: Embedder | None = None
        self._recent: OrderedDict[str, bytes] = OrderedDict()
        self._scale: tuple[Scale | None] | None = None
        self._is_sought = False
        self._compared: dict[str, bytes] = {}
        self._with_background: set[str] = set()
        self.renew_in_child()
        renewed_in_children(self)

    @classmethod
    def made_by(cls, embedder: Embedder, *, is_own: bool) -> "TextVectors":
        """Creates vectors for a loaded embedder. If it is our own, it is closed with the store, also if it was never used."""
        vectors = cls(embedder.fingerprint, lambda: embedder, is_own=is_own)
        vectors._embedder = embedder
        return vectors

    def of(self, texts: Sequence[str], project: Project) -> dict[str, bytes]:
        """Returns the float16 vector of each text. `EmbeddingError` if the model fails or returns an invalid vector."""
        found = self.at_hand(texts, project)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            found |= zip(missing, self.embedded(missing), strict=True)
        self._remember(found)
        return found

    def at_hand(self, texts: Sequence[str], project: Project) -> dict[str, bytes]:
        """Returns the vectors of those texts for which the model need not be asked."""
        found = self._recall(texts)
        left = [text for text in texts if text not in found]
        return {**found, **project.vectors(left)} if left else found

    def scale(self, project: Project) -> Scale | None:
        """Returns how the embedder spreads cosines; `None` for one whose cosines do not separate texts of one meaning from others.

        One that was not measured is compared with the one that was, once a process, on a few sentences. Other threads wait meanwhile; a model
        that calls ALMA while it is asked is asked again. Projects keep the vectors of the sentences.
        """
        with self._measuring:
            if self._scale is None:
                self._scale = (self._measure_scale(project),)
            return self._scale[0]

    def scale_at_hand(self, project: Project) -> Scale | None:
        """Returns the same without asking the model: `None` also where the project keeps no vectors of the sentences to compare."""
        if self._scale is None and not self._is_sought:
            self._is_sought = True  # looked for once: from then on it is there as soon as the model was asked
            if is_measured(self.fingerprint) or self._keeps_sentences(project):
                self.scale(project)
        return self._scale[0] if self._scale else None

    def _measure_scale(self, project: Project) -> Scale | None:
        if is_measured(self.fingerprint):
            return OWN
        if not self._keeps_sentences(project) and self._compares_words():
            return None
        found: dict[str, bytes] = {}

        def embed(texts: Sequence[str]) -> NDArray[np.float32]:
            found.update(self.of(texts, project))
            return np.stack([np.frombuffer(found[text], dtype="<f2") for text in texts]).astype(np.float32)

        scale = scale_of(embed(SENTENCES))
        self._compared = found if scale else {}
        return scale

    def _keeps_sentences(self, project: Project) -> bool:
        """Returns True if the embedder was compared before: it need not be loaded then."""
        return len(project.vectors(SENTENCES)) == len(SENTENCES)

    def _compares_words(self) -> bool:
        embedder = self._guard(self._load_once)
        return isinstance(embedder, WordEmbedder) and embedder.compares_words

    @property
    def compared(self) -> Mapping[str, bytes]:
        """The vectors that `scale` compared, which each project keeps, so that the next process asks the model for none."""
        return self._compared

    def background(self, project: Project) -> Mapping[str, bytes]:
        """Returns the vectors of the fixed sentences that learning compares texts with, unless the project keeps them already."""
        if project.name in self._with_background or self.scale(project) is None:
            return {}
        self._with_background.add(project.name)
        return {} if len(project.vectors(BACKGROUND)) == len(BACKGROUND) else self.of(BACKGROUND, project)

    def query(self, text: str, project: Project) -> NDArray[np.float32]:
        """Returns the vector of a query, with the precision of stored ones."""
        return np.frombuffer(self.of([text], project)[text], dtype="<f2").astype(np.float32)

    def embedded(self, texts: Sequence[str]) -> list[bytes]:
        """Returns the float16 vector of each text from the model. `EmbeddingError` if it fails or returns an invalid vector."""
        starts = range(0, len(texts), EMBEDDED_AT_ONCE)
        return [row for start in starts for row in self._embed(texts[start : start + EMBEDDED_AT_ONCE])]

    def close(self) -> None:
        """Releases the resources of an embedder of our own, say connections."""
        with self._lock:
            release = getattr(self._embedder, "close", None) if self._is_own else None
        if callable(release):
            release()

    def forget(self) -> None:
        """Clears the cache of texts, those of questions too, because purged text may be in them."""
        with self._lock:
            self._recent.clear()

    def renew_in_child(self) -> None:
        """Makes new locks: a thread of the parent may have held the former ones."""
        self._lock, self._measuring = threading.RLock(), threading.RLock()

    def _embed(self, texts: Sequence[str]) -> list[bytes]:
        vectors = self._guard(lambda: np.asarray(self._load_once().embed(texts), dtype=np.float32))
        expected = (len(texts), self.fingerprint.dimension)
        if vectors.shape != expected:
            raise EmbeddingError(
                f"{self.fingerprint.model} gave vectors of shape {vectors.shape}, not {expected}; nothing was stored"
            )
        squares = np.einsum("ij,ij->i", vectors, vectors)
        if not all(abs(square - 1.0) <= UNIT_TOLERANCE for square in squares.tolist()):  # also false for NaN
            self._refuse(np.sqrt(squares))
        return [row.tobytes() for row in vectors.astype("<f2")]

    def _refuse(self, lengths: NDArray[np.float32]) -> None:
        """Raises `EmbeddingError` for vectors of a wrong length, or with values that are not finite."""
        if not np.isfinite(lengths).all():
            raise EmbeddingError(f"{self.fingerprint.model} gave a vector with values that are not finite; nothing was stored")
        worst = lengths[np.abs(lengths - 1.0).argmax()]
        if abs(worst - 1.0) > UNIT_TOLERANCE:
            raise EmbeddingError(f"{self.fingerprint.model} gave a vector of length {worst:.3g}, not 1; nothing was stored")

    def _guard(self, ask: Callable[[], Answer]) -> Answer:
        """Returns what an embedder answers. It is foreign code: any error it raises becomes one kind of error."""
        try:
            return ask()
        except AlmaError:
            raise
        except Exception as error:
            raise EmbeddingError(
                f"{self.fingerprint.model} failed: {type(error).__name__}: {error}; nothing was stored"
            ) from error

    def _load_once(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = self._load()
            return self._embedder

    def _recall(self, texts: Sequence[str]) -> dict[str, bytes]:
        with self._lock:
            return {text: self._recent[text] for text in texts if text in self._recent}

    def _remember(self, vectors: dict[str, bytes]) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._recent[text] = vector
                self._recent.move_to_end(text)
            while len(self._recent) > REMEMBERED:
                self._recent.popitem(last=False)
