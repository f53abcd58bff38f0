"""Fakes for what a test should not need: a model, and a database on disk. Both are small real implementations, and pass the contracts."""

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from alma.embedding import HashEmbedder
from alma.errors import EmbeddingError
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.store import SQLStorage
from alma.types.identity import Fingerprint
from alma_testing.clocks import START

if TYPE_CHECKING:
    from alma.protocols import Matrix


class MockEmbedder:
    """Embeds by hashing words, records the texts, and fails on demand. Thread-safe.

    `calls` has the texts of each call, in order, also of failed calls. `dimension` is 16 to 4096.
    """

    def __init__(self, dimension: int = 32, *, model: str = "mock") -> None:
        self._hashing = HashEmbedder(dimension)
        self._fingerprint = self._hashing.fingerprint.model_copy(update={"model": model})
        self._lock = RLock()
        self._failure: Exception | None = None
        self._failures = 0
        self.calls: list[tuple[str, ...]] = []

    @property
    def fingerprint(self) -> Fingerprint:
        """Fingerprint of a model `mock`: a store made with it cannot be opened with another embedder."""
        return self._fingerprint

    @property
    def texts(self) -> list[str]:
        """All texts that it was asked to embed, in order."""
        return [text for call in self.calls for text in call]

    @property
    def compares_words(self) -> bool:
        """True: it hashes words."""
        return True

    def encode(self, text: str) -> list[float]:
        """Returns the vector of one text, as the fake of alma-memory does."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """Returns the vectors of texts, in order."""
        return [[float(value) for value in row] for row in self.embed(texts)]

    def fail(self, error: Exception | None = None, *, times: int | None = None) -> None:
        """Makes the next calls raise `error` (an `EmbeddingError` by default): `times` of them, or all until `recover`."""
        with self._lock:
            self._failure = EmbeddingError("the embedder fails, as it was set to") if error is None else error
            self._failures = -1 if times is None else times

    def recover(self) -> None:
        """Makes the next calls succeed."""
        with self._lock:
            self._failures = 0

    def embed(self, texts: Sequence[str], /) -> "Matrix":
        """Returns one unit row per text, in order, or raises the failure set by `fail`."""
        with self._lock:
            self.calls.append(tuple(texts))
            failure = self._failure if self._failures else None
            self._failures -= self._failures > 0
        if failure is not None:
            raise failure
        return self._hashing.embed(texts)


class MockStorage(SQLStorage):
    """A store in a temporary folder, which is deleted when the store is closed or garbage-collected; or in `folder`, which stays.

    It is `SQLStorage` itself, journal and all. `fingerprint` is that of its embedder, `MockEmbedder` by default.
    """

    def __init__(self, fingerprint: Fingerprint | None = None, *, folder: Path | None = None) -> None:
        place = Path(tempfile.mkdtemp(prefix="alma-mock-")) if folder is None else folder
        SQLStorage.create(place / "alma.db", fingerprint or MockEmbedder().fingerprint, at=START)
        super().__init__(place / "alma.db", at=START)
        self._closer = _Closer(self.database, place if folder is None else None)

    def close(self) -> None:
        """Closes all connections, and deletes a temporary folder."""
        self._closer.close()


class _Closer:
    """Closes the database when the last store that shares it is closed or garbage-collected."""

    def __init__(self, database: Database, folder: Path | None) -> None:
        self.close = weakref.finalize(self, _end, database, folder)


def _end(database: Database, folder: Path | None) -> None:
    database.close()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
