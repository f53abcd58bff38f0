"""Every vector index of ours passes the contract: numpy alone, FAISS alone, and one that goes from one to the other."""

import pytest

from alma.testing import VectorIndexContract
from alma.testing.contracts.vector_index import NewIndex
from alma.vectors import ProjectIndex


class TestProjectIndex(VectorIndexContract):
    @pytest.fixture(params=[10**9, 0, 7], ids=["numpy", "faiss", "numpy and faiss"])
    def new_index(self, request: pytest.FixtureRequest) -> NewIndex:
        return lambda dimension: ProjectIndex(dimension, faiss_above=request.param)
