"""The index inside the process passes the contract of those outside."""

import pytest

from alma.protocols import CandidateFactory
from alma.testing import CandidateSearchContract
from in_process_search import InProcessSearch


class TestInProcessSearch(CandidateSearchContract):
    is_kept = False

    @pytest.fixture
    def factory(self) -> CandidateFactory:
        return InProcessSearch

    @pytest.fixture
    def options(self) -> dict[str, object]:
        return {}
