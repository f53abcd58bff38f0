"""The embedder on torch passes the contract of all embedders."""

from collections.abc import Callable
from pathlib import Path

import pytest

from alma.embedding import SentenceTransformersEmbedder
from alma.testing import EmbedderContract


class TestSentenceTransformersEmbedder(EmbedderContract):
    @pytest.fixture
    def new_embedder(self, published: Path) -> Callable[[], SentenceTransformersEmbedder]:
        return lambda: SentenceTransformersEmbedder(str(published))
