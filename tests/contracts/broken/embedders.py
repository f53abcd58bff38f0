"""Embedders that break one promise each, under the contract that has to notice."""

from collections.abc import Sequence
from itertools import count
from threading import Thread, current_thread, main_thread
from typing import Any

import numpy as np
import pytest

from alma.embedding import HashEmbedder
from alma.testing import EmbedderContract


class _Broken(HashEmbedder):
    def __init__(self) -> None:
        super().__init__(32)

    def good(self, texts: Sequence[str]) -> Any:
        return super().embed(texts)


class WrongOrder(_Broken):
    def embed(self, texts: Sequence[str], /) -> Any:
        return self.good(sorted(texts))


class NotNormalised(_Broken):
    def embed(self, texts: Sequence[str], /) -> Any:
        return self.good(texts) * np.float32(1.01)


class DependsOnCompany(_Broken):
    """Centres a batch, as a padded and quantised model may do by accident."""

    def embed(self, texts: Sequence[str], /) -> Any:
        vectors = self.good(texts)
        if len(texts) > 1:
            vectors = vectors - vectors.mean(axis=0) / np.float32(3)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


class NotANumber(_Broken):
    def embed(self, texts: Sequence[str], /) -> Any:
        vectors = self.good(texts)
        vectors[[not text.strip() for text in texts]] = np.nan
        return vectors


class DoublePrecision(_Broken):
    def embed(self, texts: Sequence[str], /) -> Any:
        return self.good(texts).astype(np.float64)


class NoWidthWithoutTexts(_Broken):
    def embed(self, texts: Sequence[str], /) -> Any:
        return self.good(texts) if texts else np.empty((0, 0), np.float32)


class ForgetsRepeats(_Broken):
    def embed(self, texts: Sequence[str], /) -> Any:
        return self.good(list(dict.fromkeys(texts)))


class RaisesAnything(_Broken):
    def embed(self, texts: Sequence[str], /) -> Any:
        for text in texts:
            text.encode()
        return self.good(texts)


class SharesItsMemory(_Broken):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, ...], Any] = {}

    def embed(self, texts: Sequence[str], /) -> Any:
        return self.kept.setdefault(tuple(texts), self.good(texts)) if len(texts) == 1 else self._joined(texts)

    def _joined(self, texts: Sequence[str]) -> Any:
        return np.vstack([self.embed([text]) for text in texts]) if texts else self.good(texts)


class OneBufferForAllThreads(_Broken):
    """Another thread's texts end up in the buffer between filling and reading it; here they always do."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer: list[str] = []
        self.first: int | None = None

    def embed(self, texts: Sequence[str], /) -> Any:
        self.buffer = list(texts)
        if current_thread() is not main_thread():
            other = Thread(target=setattr, args=(self, "buffer", [f"{text} of another" for text in texts]))
            other.start()
            other.join()
        return self.good(self.buffer)


class SeededByChance(_Broken):
    made = count(1)

    def __init__(self) -> None:
        super().__init__()
        self.number = next(self.made)

    def embed(self, texts: Sequence[str], /) -> Any:
        return np.roll(self.good(texts), self.number, axis=1)


class AllAlike(_Broken):
    def embed(self, texts: Sequence[str], /) -> Any:
        return self.good([""] * len(texts))


def _under_contract(broken: type[_Broken]) -> type:
    return type(f"Test{broken.__name__}", (EmbedderContract,), {"new_embedder": pytest.fixture(lambda self: broken)})


for _broken in _Broken.__subclasses__():
    globals()[f"Test{_broken.__name__}"] = _under_contract(_broken)
