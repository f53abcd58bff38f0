"""How the server is, and its figures."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from alma import ALMA
from alma.errors import StorageError
from alma_access import TokenFile
from alma_server import create_app
from alma_server.settings import ServerSettings
from api_serving import Opening, Served, running_app


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/version"])
def test_probes_need_no_token(path: str, served: Served) -> None:
    assert served.client_with(None).get(path).status_code == 200


def test_a_server_whose_store_cannot_be_used_says_what_is_missing(tmp_path: Path) -> None:
    def check() -> None:
        raise StorageError("the store is being opened")

    def refuse(name: str) -> ALMA:
        raise StorageError("the store is being opened")

    app = create_app(refuse, TokenFile(tmp_path), check_ready=check)
    answer = TestClient(app, base_url="http://127.0.0.1").get("/health/ready")
    assert (answer.status_code, answer.json()["detail"]) == (503, "the store is being opened")
    assert TestClient(app, base_url="http://127.0.0.1").get("/health/live").status_code == 200


def test_figures_count_requests_by_route_and_name_no_agent(client: Opening) -> None:
    asking = client(agent="helena")
    asking.get("/v1/whoami")
    asking.get("/v1/projects/shop/nothing-here/helena")
    text = asking.get("/metrics").text
    assert 'alma_http_requests_total{method="GET",route="/v1/whoami",status="200"} 1.0' in text
    assert "helena" not in text
    for name in ("alma_http_request_seconds", "alma_http_inflight", "alma_shed_total", "alma_reads_waiting", "alma_sse_clients"):
        assert name in text


def test_figures_name_no_project_that_the_token_is_not_bound_to(client: Opening, served: Served) -> None:
    for project in ("shop", 'the "other" \\ one'):
        served.app.state.service.metrics.note_event(project, 5, 0.0)
    assert 'alma_journal_seq{project="the \\"other\\" \\\\ one"} 5.0' in client("all").get("/metrics").text
    text = client("bound", projects=("shop",)).get("/metrics").text
    assert 'alma_journal_seq{project="shop"} 5.0' in text
    assert "the " not in text[text.index("alma_journal_seq{") :].partition("\n# HELP")[0]


def test_figures_need_the_right_to_administer(client: Opening) -> None:
    assert client(rights=frozenset({"read"})).get("/metrics").status_code == 403


def test_a_token_is_told_the_project_of_addresses_that_name_none(tmp_path: Path) -> None:
    with running_app(tmp_path, settings=ServerSettings(project="shop")) as served:

        def project(name: str, **access: object) -> object:
            return served.client(name, **access).get("/v1/whoami").json()["project"]

        assert project("all") == "shop"
        assert project("bank", projects=("bank",)) == "bank"
        assert project("two", projects=("bank", "lab")) is None
