"""Vectors kept between runs in one SQLite file, so that only the first run embeds the texts."""

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from alma.protocols import Embedder
    from alma.types.identity import Fingerprint

AT_ONCE = 500
"""Texts that are looked up by one statement, and embedded before their vectors are written."""

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"


class CachedEmbedder:
    """An embedder that keeps every vector that it made: LongMemEval repeats most sessions from one haystack to the next.

    With a `path` the vectors are kept for later runs, too. A key is the hash of the model's fingerprint and of the text, so that several models
    share a file. Several processes may use it at the same time.
    """

    def __init__(self, embedder: "Embedder", path: Path | None = None) -> None:
        self._embedder = embedder
        self._path = path
        self._vectors: dict[bytes, NDArray[np.float32]] = {}
        self._model = str(embedder.fingerprint).encode()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._opened()) as file:
                file.execute(_TABLE)

    @property
    def fingerprint(self) -> "Fingerprint":
        return self._embedder.fingerprint

    def remember(self, vectors: Mapping[str, "NDArray[np.float32]"]) -> None:
        """Keeps vectors of texts that the embedder made before, in this process alone."""
        self._vectors.update({self._key(text): vector for text, vector in vectors.items()})

    def embed(self, texts: Sequence[str], /) -> "NDArray[np.float32]":
        """Returns one vector a text, as the embedder does."""
        import numpy as np

        keys = [self._key(text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        for part in _portions(list(missing)):
            self._read(part)
            self._make({key: missing[key] for key in part if key not in self._vectors})
        return np.stack([self._vectors[key] for key in keys])

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(self._model + b"\0" + text.encode("utf-8", "surrogatepass")).digest()

    def _read(self, keys: Sequence[bytes]) -> None:
        import numpy as np

        if self._path is None:
            return
        marks = ",".join("?" * len(keys))
        with closing(self._opened()) as file:
            for key, vector in file.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", list(keys)):
                self._vectors[key] = np.frombuffer(vector, dtype=np.float32)

    def _make(self, texts: dict[bytes, str]) -> None:
        if not texts:
            return
        made = dict(zip(texts, self._embedder.embed(list(texts.values())), strict=True))
        self._vectors |= made
        if self._path is None:
            return
        rows = [(key, vector.astype("float32").tobytes()) for key, vector in made.items()]
        with closing(self._opened()) as file, file:
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _opened(self) -> sqlite3.Connection:
        assert self._path is not None
        return sqlite3.connect(self._path, timeout=60)


def _portions(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(keys), AT_ONCE):
        yield keys[start : start + AT_ONCE]
