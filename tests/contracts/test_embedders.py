"""Every embedder of ours passes the contract."""

import pytest

from alma.embedding import HashEmbedder, MiniLMEmbedder
from alma.testing import EmbedderContract, MockEmbedder
from alma_testing.contracts.embedder import NewEmbedder


class TestHashEmbedder(EmbedderContract):
    @pytest.fixture(params=[16, 384])
    def new_embedder(self, request: pytest.FixtureRequest) -> NewEmbedder:
        return lambda: HashEmbedder(request.param)


class TestMiniLMEmbedder(EmbedderContract):
    @pytest.fixture
    def new_embedder(self) -> NewEmbedder:
        return MiniLMEmbedder


class TestMockEmbedder(EmbedderContract):
    @pytest.fixture
    def new_embedder(self) -> NewEmbedder:
        return MockEmbedder
