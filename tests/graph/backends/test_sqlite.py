"""Graphs in SQLite, in memory and in a file."""

from pathlib import Path

import pytest

from alma.testing import GraphBackendContract, LastingGraphBackendContract
from alma_graph import create_graph_backend
from alma_testing.graph_contracts.samples import Connect


class TestInMemory(GraphBackendContract):
    @pytest.fixture
    def connect(self) -> Connect:
        return lambda: create_graph_backend("memory")


class TestInAFile(LastingGraphBackendContract):
    @pytest.fixture
    def connect(self, tmp_path: Path) -> Connect:
        return lambda: create_graph_backend("sqlite", database_path=tmp_path / "graph.db")
