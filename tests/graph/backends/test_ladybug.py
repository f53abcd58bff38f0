"""Graphs in files of Ladybug."""

from pathlib import Path

import pytest

from alma.errors import StorageError
from alma.testing import GraphBackendContract, LastingGraphBackendContract
from alma_graph import create_graph_backend
from alma_testing.graph_contracts.samples import ALICE, Connect

pytest.importorskip("ladybug", reason="Ladybug is not installed")


class TestInMemory(GraphBackendContract):
    @pytest.fixture
    def connect(self) -> Connect:
        return lambda: create_graph_backend("kuzu")


class TestInAFile(LastingGraphBackendContract):
    @pytest.fixture
    def connect(self, tmp_path: Path) -> Connect:
        return lambda: create_graph_backend("ladybug", database_path=tmp_path / "graph.lbug")


def test_the_name_kuzu_says_which_library_it_opens() -> None:
    backend = create_graph_backend("kuzu")
    assert backend.engine.startswith("ladybug ")
    backend.close()


def test_a_file_can_be_opened_to_read_only(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    writer = create_graph_backend("kuzu", database_path=path)
    writer.add_entity(ALICE)
    writer.close()
    reader = create_graph_backend("kuzu", database_path=path, read_only=True)
    assert reader.get_entity("alice") == ALICE
    with pytest.raises(StorageError, match="read-only"):
        reader.add_entity(ALICE)
    reader.close()


def test_a_file_that_is_no_graph_is_an_error_of_storage(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    path.write_bytes(b"something else " * 1000)
    with pytest.raises(StorageError):
        create_graph_backend("kuzu", database_path=path)
