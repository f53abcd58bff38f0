"""Graphs over Bolt, by the driver of Neo4j, on a real server of ArcadeDB. Neo4j and Memgraph themselves are not run."""

import sys
from collections.abc import Callable, Iterator

import pytest

import arcadedb_server
from alma.errors import StorageError
from alma.testing import ServedGraphBackendContract
from alma_graph import GraphBackend, Neo4jGraphStore, create_graph_backend
from alma_testing.graph_contracts.samples import ALICE, Connect

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


def test_a_store_of_neo4j_opens_the_database_of_a_name(uri: str) -> None:
    empty(uri)
    with Neo4jGraphStore(uri, arcadedb_server.USER, arcadedb_server.PASSWORD, arcadedb_server.DATABASE) as graph:
        graph.add_entity(ALICE)
        assert graph.get_entity("ALICE") == ALICE
    with pytest.raises(StorageError):
        Neo4jGraphStore(uri, arcadedb_server.USER, arcadedb_server.PASSWORD, "no-such-database")


def test_a_type_that_is_a_plain_word_is_a_label_too(uri: str) -> None:
    empty(uri)
    with Neo4jGraphStore(uri, arcadedb_server.USER, arcadedb_server.PASSWORD, arcadedb_server.DATABASE) as graph:
        graph.add_entity(ALICE)
    with neo4j.GraphDatabase.driver(uri, auth=(arcadedb_server.USER, arcadedb_server.PASSWORD)) as driver:
        found = driver.execute_query("MATCH (n:Person) RETURN n.name AS name", database_=arcadedb_server.DATABASE)
    assert [record["name"] for record in found.records] == ["Alice"]


def open_graph(uri: str, password: str = arcadedb_server.PASSWORD) -> GraphBackend:
    return create_graph_backend(
        "arcadedb", uri=uri, username=arcadedb_server.USER, password=password, database=arcadedb_server.DATABASE
    )
