"""Who asks: a token is needed, and says what it may do."""

from datetime import UTC, datetime, timedelta

import pytest

from alma_access import Access
from api_serving import Opening, Served


def test_a_token_learns_what_it_may_do(client: Opening) -> None:
    answer = client(agent="helena", projects=("shop",), rights=frozenset({"read"})).get("/v1/whoami")
    assert answer.status_code == 200
    assert answer.json() == {
        "name": "test",
        "agent": "helena",
        "user_id": "*",
        "projects": ["shop"],
        "project": "shop",
        "rights": ["read"],
        "source": "agent",
        "expires": None,
    }


@pytest.mark.parametrize("secret", [None, "alma_aaaaaaaa_guess", "x" * 5_000])
def test_without_a_valid_token_nothing_is_answered_but_a_problem(secret: str | None, served: Served) -> None:
    answer = served.client_with(secret).get("/v1/whoami")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_revoked_token_is_refused_at_the_next_request(served: Served) -> None:
    client = served.client("short")
    assert client.get("/v1/whoami").status_code == 200
    served.tokens.revoke("short")
    assert client.get("/v1/whoami").status_code == 401


def test_a_token_makes_none_that_outlives_it(served: Served) -> None:
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    client = served.client_with(served.tokens.add("short", Access(), expires=int(ends.timestamp()) * 1_000_000))
    later = {"name": "later", "expires": (ends + timedelta(seconds=1)).isoformat()}
    assert client.post("/v1/tokens", json=later).status_code == 403
    assert client.post("/v1/tokens", json={"name": "alike"}).json()["token"]["expires"] == ends.isoformat().replace("+00:00", "Z")
    sooner = {"name": "sooner", "expires": (ends - timedelta(minutes=1)).isoformat()}
    assert client.post("/v1/tokens", json=sooner).status_code == 201


@pytest.mark.parametrize("expires", ["1970-01-01T00:00:00Z", "0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-23:59"])
def test_an_end_that_cannot_be_is_refused(expires: str, served: Served) -> None:
    assert served.client().post("/v1/tokens", json={"name": "odd", "expires": expires}).status_code == 422


def test_a_token_is_revoked_whatever_its_name(served: Served) -> None:
    client = served.client()
    assert client.post("/v1/tokens", json={"name": "team/web"}).status_code == 201
    assert client.delete("/v1/tokens/team%2Fweb").status_code == 204
    assert client.delete("/v1/tokens/team%2Fweb").status_code == 404
