"""Graphs over Bolt, by the driver of Neo4j, on a real server of ArcadeDB. Neo4j and Memgraph themselves are not run."""

import sys
from collections.abc import Callable, Iterator

import pytest

import arcadedb_server
from alma.testing import ServedGraphBackendContract
from alma_graph import GraphBackend, GraphProjection, create_graph_backend
from alma_testing.graph_contracts.samples import Connect
from graph_histories import History

neo4j = pytest.importorskip("neo4j", reason="the driver of Neo4j is not installed")
pytest.importorskip("arcadedb_embedded", reason="no server of ArcadeDB is installed")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server is a program for Linux")


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with arcadedb_server.served(tmp_path_factory.mktemp("arcadedb")) as uri:
        yield uri


def empty(uri: str) -> None:
    with neo4j.GraphDatabase.driver(uri, auth=(arcadedb_server.USER, arcadedb_server.PASSWORD)) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n", database_=arcadedb_server.DATABASE)


class TestArcadeDB(ServedGraphBackendContract):
    many = 1_500

    @pytest.fixture
    def connect(self, uri: str) -> Connect:
        empty(uri)
        return lambda: open_graph(uri)

    @pytest.fixture
    def refused(self, uri: str) -> Callable[[], GraphBackend]:
        return lambda: open_graph(uri, "wrong-secret")

    @pytest.fixture
    def unreachable(self) -> Callable[[], GraphBackend]:
        return lambda: open_graph("bolt://127.0.0.1:1")


def test_a_projection_follows_its_source(uri: str) -> None:
    empty(uri)
    backend, history = open_graph(uri), History(5)
    projection = GraphProjection(backend)
    for _ in range(8):
        projection.catch_up(history.happen(40))
    assert projection.check(history).is_none
    projection.rebuild(History(6).happen(100))
    assert projection.check(History(6).happen(100)).is_none
    backend.close()


def open_graph(uri: str, password: str = arcadedb_server.PASSWORD) -> GraphBackend:
    return create_graph_backend(
        "arcadedb", uri=uri, username=arcadedb_server.USER, password=password, database=arcadedb_server.DATABASE
    )
