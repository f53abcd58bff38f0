"""The server behind a real nginx, with the site that deploy/ has."""

import json
import time
from collections.abc import Iterator

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from api_processes import Server, request_lines, serving
from nginx_site import HOST, Site, nginx_before

pytestmark = pytest.mark.slow

LEARNED = {"agent": "helena", "task": "Test the login form", "outcome": "success", "strategy_used": "Empty fields first"}
BELOW = (("location / {", "location /alma/ {"), ("proxy_pass http://alma;", "proxy_pass http://alma/;"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served"), "--allowed-host", HOST) as server:
        yield server


@pytest.fixture(scope="module")
def site(served: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with nginx_before(served.address.removeprefix("http://"), tmp_path_factory.mktemp("nginx")) as running:
        yield running


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Site]]:
    with serving(tmp_path_factory.mktemp("below"), "--allowed-host", HOST, "--root-path", "/alma") as server:
        upstream = server.address.removeprefix("http://").removesuffix("/alma")
        with nginx_before(upstream, tmp_path_factory.mktemp("nginx"), *BELOW) as running:
            yield server, running


def test_what_is_recorded_through_nginx_is_found_where_the_answer_says(served: Server, site: Site) -> None:
    with site.client(served.token) as client:
        made = client.post("/v1/projects/shop/learn", json=LEARNED)
        assert made.status_code == 201
        found = client.get(made.headers["Location"])
        assert found.json()["id"] == made.json()["id"]


def test_below_a_path_every_address_that_an_answer_names_works(below: tuple[Server, Site]) -> None:
    server, site = below
    with site.client(server.token) as client:
        made = client.post("/alma/v1/projects/shop/learn", json=LEARNED)
        assert made.status_code == 201
        assert client.get(made.headers["Location"]).json()["id"] == made.json()["id"]
        assert client.get("/alma/v1/projects/shop/memories/none").json()["instance"] == "/alma/v1/projects/shop/memories/none"
        assert client.get("/v1/whoami").status_code in (403, 404)


def test_mcp_is_reached_through_nginx(served: Server, site: Site) -> None:
    async def names() -> list[str]:
        headers = {"Host": HOST, "Authorization": f"Bearer {served.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, verify=False, timeout=60.0, trust_env=False) as http,
            Client(streamable_http_client(f"https://127.0.0.1:{site.port}/mcp", http_client=http)) as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "alma_retrieve" in anyio.run(names)


@pytest.mark.parametrize("path", ["", "/alma"])
def test_an_event_passes_while_its_stream_goes_on(path: str, request: pytest.FixtureRequest) -> None:
    server, site = (
        request.getfixturevalue("below") if path else (request.getfixturevalue("served"), request.getfixturevalue("site"))
    )
    with site.client(server.token, path) as client:
        with client.stream("GET", "/v1/projects/shop/events", headers={"Accept": "text/event-stream"}) as stream:
            assert stream.status_code == 200
            made = client.post("/v1/projects/shop/learn", json={**LEARNED, "task": f"Watch the stream {path}"}).json()["id"]
            lines = stream.iter_lines()
            seen = next(data for line in lines if line.startswith("data:") and made in (data := line))
        assert json.loads(seen.removeprefix("data:"))["memory_id"] == made


def test_a_host_that_the_server_does_not_know_is_refused(served: Server, site: Site) -> None:
    with site.client(served.token) as client:
        assert client.get("/v1/whoami", headers={"Host": "evil.example"}).status_code == 421


def test_a_large_body_does_not_reach_the_server(served: Server, site: Site) -> None:
    with site.client(served.token) as client:
        before = len(request_lines(served))
        assert client.post("/v1/projects/shop/learn", content=b" " * (1024 * 1024 + 1)).status_code == 413
        assert len(request_lines(served)) == before


INNER = "GET /v1/smuggled HTTP/1.1\r\nHost: alma.example.com\r\n\r\n"
FRAMES = {
    "length and chunks": ("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
    "a space before the colon": ("Content-Length: 5\r\nTransfer-Encoding : chunked", "0\r\n\r\n"),
    "an unknown coding": ("Content-Length: 5\r\nTransfer-Encoding: xchunked", "0\r\n\r\n"),
    "two codings": ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n"),
    "two lengths": (f"Content-Length: 0\r\nContent-Length: {len(INNER)}", ""),
    "a length with a sign": (f"Content-Length: +{len(INNER)}", ""),
    "a header on a line of its own": (f"X-Folded: a\n Content-Length: {len(INNER)}", ""),
    "a chunk size that is too long": ("Transfer-Encoding: chunked", "0" * 20 + "1\r\nA\r\n0\r\n\r\n"),
    "a bare line feed in a chunk": ("Transfer-Encoding: chunked", "1;a\nA\r\n0\r\n\r\n"),
}


@pytest.mark.parametrize(("framing", "body"), FRAMES.values(), ids=FRAMES)
def test_nginx_and_the_server_see_the_same_requests(framing: str, body: str, served: Server, site: Site) -> None:
    passed, seen = site.passed_on(), len(request_lines(served))
    head = f"POST /v1/projects/shop/learn HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {served.token}\r\n{framing}\r\n\r\n"

    answer = site.send((head + body + INNER).encode())
    time.sleep(0.5)  # the line of a request is written after its answer
    assert len(request_lines(served)) - seen == site.passed_on() - passed
    assert answer.startswith(b"HTTP/1.1 ") or not answer
    with site.client(served.token) as client:
        assert client.get("/v1/whoami").json()["name"] == "all"
