"""Every vector index of ours passes the contract: numpy alone, FAISS alone, and one that goes from one to the other."""

import pytest

from alma.testing import VectorIndexContract
from alma.vectors import ProjectIndex
from alma_testing.contracts.vector_index import NewIndex


class TestProjectIndex(VectorIndexContract):
    @pytest.fixture(params=[10**9, 0, 7], ids=["numpy", "faiss", "numpy and faiss"])
    def new_index(self, request: pytest.FixtureRequest) -> NewIndex:
        return lambda dimension: ProjectIndex(dimension, faiss_above=request.param)
