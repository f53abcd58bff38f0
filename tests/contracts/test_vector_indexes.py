"""Every vector index of ours passes the contract: with vectors as float32, as float16, and as one that becomes the other."""

import pytest

from alma.testing import VectorIndexContract
from alma.vectors import ProjectIndex
from alma_testing.contracts.vector_index import NewIndex


class TestProjectIndex(VectorIndexContract):
    @pytest.fixture(params=[10**9, 0, 7], ids=["float32", "float16", "both"])
    def new_index(self, request: pytest.FixtureRequest) -> NewIndex:
        return lambda dimension: ProjectIndex(dimension, wide_up_to=request.param)
