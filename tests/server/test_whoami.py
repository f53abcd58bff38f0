"""Who asks: a token is needed, and says what it may do."""

from fastapi import FastAPI
from fastapi.testclient import TestClient

from alma import ALMA
from alma_access import TokenFile
from api_serving import Opening


def test_a_token_learns_what_it_may_do(client: Opening) -> None:
    answer = client(agent="helena", projects=("shop",), rights=frozenset({"read"})).get("/v1/whoami")
    assert answer.status_code == 200
    assert answer.json() == {
        "name": "test",
        "agent": "helena",
        "user_id": "*",
        "projects": ["shop"],
        "rights": ["read"],
        "source": "agent",
    }


def test_without_a_token_nothing_is_answered_but_a_problem(served: tuple[FastAPI, TokenFile, ALMA]) -> None:
    answer = TestClient(served[0], base_url="http://127.0.0.1").get("/v1/whoami")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_process_says_that_it_is_alive(served: tuple[FastAPI, TokenFile, ALMA]) -> None:
    assert TestClient(served[0], base_url="http://127.0.0.1").get("/health/live").status_code == 200
