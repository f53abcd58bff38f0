"""An embedder that embeds each text once a machine: vectors are kept in the folder for temporary files, by a hash of the text."""

import tempfile
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from alma.protocols import Embedder
    from alma.types.identity import Fingerprint


class CachedEmbedder:
    """An embedder by name, as ALMA takes one, or as `sentence-transformers=MODEL`; it is loaded for the first text that is not in the cache."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self._name = name
        self._folder = folder or Path(tempfile.gettempdir()) / "alma-benchmark-vectors"
        self._known: dict[str, NDArray[np.float32]] = {}

    @cached_property
    def _embedder(self) -> "Embedder":
        from alma.embedding import create_embedder

        name, _, model = self._name.partition("=")
        return create_embedder(name, options={name: {"model": model}} if model else {})

    @property
    def fingerprint(self) -> "Fingerprint":
        return self._embedder.fingerprint

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """One unit row a text."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known and not self._was_read(text)]
        for start in range(0, len(missing), 64):
            batch = missing[start : start + 64]
            for text, vector in zip(batch, self._embedder.embed(batch), strict=True):
                self._write(text, np.asarray(vector, np.float32))
        if not texts:
            return np.zeros((0, self.fingerprint.dimension), np.float32)
        return np.stack([self._known[text] for text in texts])

    def _path(self, text: str) -> Path:
        digest = sha256(text.encode()).hexdigest()
        return self._folder / self._name.replace("/", "_") / digest[:2] / digest[2:34]

    def _was_read(self, text: str) -> bool:
        try:
            vector = np.frombuffer(self._path(text).read_bytes(), np.float32)
        except FileNotFoundError:
            return False
        self._known[text] = vector
        return len(vector) > 0

    def _write(self, text: str, vector: NDArray[np.float32]) -> None:
        path = self._path(text)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(vector.tobytes())
        Path(file.name).replace(path)
        self._known[text] = vector
