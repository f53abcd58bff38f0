"""The server over HTTP and clients that mean it harm: each gets a status or an error of the tool, and the others are served on."""

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from alma import ALMA
from alma_mcp.command import main
from mcp_servers import HttpServer, answer, http_server, make_project, refusal

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SESSION = {"MCP-Protocol-Version": "2025-06-18"}
BEGIN = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
LEARNED = {"agent": "helena", "task": "Test the login form", "outcome": "success", "strategy_used": "Empty fields first"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def server(shop: Path) -> Iterator[HttpServer]:
    with http_server(shop, "--profile", "all") as running:
        yield running


@pytest.fixture(scope="module")
def http(server: HttpServer) -> Iterator[httpx2.Client]:
    """A client in a session of its own."""
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {server.token}"}
    with httpx2.Client(headers={"Content-Type": "application/json", **headers}, timeout=60) as client:
        began = client.post(server.url, content=request("initialize", BEGIN))
        client.headers.update({**SESSION, "Mcp-Session-Id": began.headers["mcp-session-id"]})
        client.post(server.url, content=json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        yield client


def request(method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def call(tool: str, **arguments: Any) -> str:
    return request("tools/call", {"name": tool, "arguments": arguments})


def is_served(server: HttpServer, http: httpx2.Client) -> bool:
    found = http.post(server.url, content=call("alma_health"))
    return found.status_code == 200 and "any agent, any user" in found.text


def raw(server: HttpServer, text: str) -> bytes:
    """What the server says to these bytes, until it closes the connection."""
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=60) as connection:
        connection.sendall(text.replace("\n", "\r\n").encode("latin-1"))
        said = b""
        while part := connection.recv(4096):
            said += part
    return said


RAW = "POST /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer {token}\nContent-Type: application/json\nConnection: close\n{more}\n"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{nope",
        b'{"a":"\xff\xfe"}',
        b"[" * 200_000,
        b'{"id":' + b"9" * 5000 + b"}",
        b'{"id": 1, "method": "x\\ud800"}',
        b"[1, 2]",
        call("alma_health").replace('"id": 1', '"id": NaN').encode(),
        call("alma_health").replace('"id": 1', '"id": [1]').encode(),
        call("alma_health").replace('"id": 1', '"id": 1, "id": 2').encode(),
    ],
    ids=[
        "empty",
        "no JSON",
        "no UTF-8",
        "deep",
        "a large number",
        "half a character",
        "a batch",
        "NaN",
        "a list as id",
        "two ids",
    ],
)
def test_a_body_that_is_no_message_is_a_bad_request(server: HttpServer, http: httpx2.Client, body: bytes) -> None:
    answered = http.post(server.url, content=body)
    assert answered.status_code == 400
    assert "Traceback" not in answered.text
    assert is_served(server, http)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ("Host: evil.example\nContent-Length: 2\n", 400),
        ("Content-Length: -1\n", 400),
        ("Content-Length: 99999999999\n", 413),
        (f"Content-Length: {'9' * 4000}\n", 400),
        ("Content-Length: 2\nContent-Length: 3\n", 400),
    ],
    ids=["two hosts", "less than nothing", "too large", "of 4,000 digits", "two lengths"],
)
def test_headers_that_lie_are_refused(server: HttpServer, http: httpx2.Client, more: str, status: int) -> None:
    said = raw(server, RAW.format(token=server.token, more=more))
    assert said.startswith(f"HTTP/1.1 {status} ".encode())
    assert is_served(server, http)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1@evil.example",
            "0.0.0.0",
            "127.1",
            "2130706433",
            "[::ffff:7f00:1]",
        ),
        *(
            "localhost:80@evil.example",
            "127.0.0.1:8.evil.example",
            "[::1]:1:evil.example",
            "localhost:",
            "localhost:65536",
            "[::1].evil",
        ),
        *("localhost:80,evil.example", "localhost:80/..", "localhost: 80", "http://localhost:80", "localhost:+80", "[::1:80"),
    ],
    ids=repr,
)
def test_a_name_that_a_foreign_page_could_have_bound_to_this_machine_is_refused(
    server: HttpServer, http: httpx2.Client, host: str
) -> None:
    assert http.post(server.url, content=call("alma_health"), headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:1@evil.example",
        "http://127.0.0.1:1.evil.example",
        "http://localhost:1/@evil.example",
        "http://localhost:",
        "http://localhost:1 http://evil.example",
        "http://localhost:1#evil.example",
        "https://localhost:1",
        "//localhost:1",
        "localhost:1",
    ],
    ids=repr,
)
def test_an_origin_that_begins_as_one_of_this_machine_is_refused(server: HttpServer, http: httpx2.Client, origin: str) -> None:
    assert http.post(server.url, content=call("alma_health"), headers={"Origin": origin}).status_code == 403


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1:65535", "[::1]", "[::1]:8765"], ids=repr)
def test_this_machine_is_known_by_each_of_its_names(server: HttpServer, http: httpx2.Client, host: str) -> None:
    headers = {"Host": host, "Origin": f"http://{host}"}
    assert http.post(server.url, content=call("alma_health"), headers=headers).status_code == 200


def test_a_second_origin_is_no_way_around_the_first(server: HttpServer, http: httpx2.Client) -> None:
    two = [*http.headers.raw, (b"Origin", b"http://localhost"), (b"Origin", b"https://evil.example")]
    assert httpx2.post(server.url, content=call("alma_health"), headers=two).status_code == 403


def test_a_host_that_a_proxy_would_add_is_not_believed(server: HttpServer, http: httpx2.Client) -> None:
    forged = {"Host": "evil.example", "X-Forwarded-Host": "localhost", "Forwarded": "host=localhost"}
    assert http.post(server.url, content=call("alma_health"), headers=forged).status_code == 421


def test_half_a_request_holds_up_no_other_and_leaves_no_traceback(server: HttpServer, http: httpx2.Client) -> None:
    place = urlsplit(server.url)
    half = RAW.format(token=server.token, more="Content-Length: 500\n").replace("\n", "\r\n").encode() + b"{"
    waiting = [socket.create_connection((place.hostname or "", place.port or 0)) for _ in range(50)]
    for connection in waiting:
        connection.sendall(half)
    assert is_served(server, http)
    for connection in waiting:
        connection.close()
    assert is_served(server, http)


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("tools/call", {"name": "alma_nothing", "arguments": {}}, "Unknown tool"),
        ("tools/call", {"name": "alma_retrieve", "arguments": [1]}, "Invalid request parameters"),
        ("prompts/get", {"name": "nothing", "arguments": {}}, "Unknown prompt"),
        ("prompts/get", {"name": "before_task", "arguments": {"agent": "helena"}}, "Missing required arguments"),
        ("prompts/get", {"name": "before_task", "arguments": {"agent": "helena", "task": "x" * 900_000}}, "at most"),
        ("resources/read", {"uri": "file:///etc/passwd"}, "Unknown resource"),
        ("resources/read", {"uri": "alma://memory/../../etc/passwd"}, "Unknown resource"),
        ("resources/read", {"uri": "alma://memory/%00"}, "Unknown resource"),
        ("resources/read", {"uri": f"alma://wakeup/{'x' * 5000}"}, "at most 200"),
        ("nothing/at/all", {}, "Method not found"),
    ],
)
def test_a_wrong_request_is_an_error_with_a_reason(
    server: HttpServer, http: httpx2.Client, method: str, params: dict[str, Any], said: str
) -> None:
    answered = http.post(server.url, content=request(method, params))
    assert said in answered.text
    assert "Traceback" not in answered.text


async def test_two_tokens_see_each_their_own(server: HttpServer, shop: Path) -> None:
    async with server.client() as master:
        wish = {"category": "reports", "preference": "Reports for Maria are short"}
        answer(await master.call_tool("alma_add_preference", {"user_id": "maria", **wish}))
        assert "user:maria" in answer(await master.call_tool("alma_stats"))["by_agent"]
    anybody = make_token(shop, "anybody", "--no-user")
    otto = make_token(shop, "otto", "--user-id", "otto")
    for secret in (anybody, otto):
        async with server.client(secret) as client:
            assert "user:maria" not in answer(await client.call_tool("alma_stats"))["by_agent"]
            for agent in ("helena", "user:maria", "maria", "*"):
                found = answer(await client.call_tool("alma_retrieve", {"agent": agent, "task": "Write a report for Maria"}))
                assert "short" not in found["notes"]
            said = refusal(await client.call_tool("alma_wakeup", {"agent": "helena", "user_id": "maria"}))
            assert "cannot name the user 'maria'" in said


def make_token(config: Path, name: str, *arguments: str) -> str:
    with redirect_stdout(StringIO()) as told:
        main(["--config", str(config), "--new-token", name, *arguments])
    return told.getvalue().strip()


def test_its_log_has_no_token_and_no_traceback(tmp_path: Path) -> None:
    config = make_project(tmp_path)
    with http_server(config) as server:
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        with httpx2.Client(headers=headers) as client:
            for token in (server.token, f"{server.token}x"):
                named = {"Authorization": f"Bearer {token}"}
                client.post(server.url, content=b"{nope", headers=named)
                client.post(server.url, content=request("initialize", BEGIN), headers={**named, "Host": "evil.example"})
                client.post(server.url, content=request("prompts/get", {"name": "nothing"}), headers=named)
        server.process.send_signal(signal.SIGTERM)
        _, log = server.process.communicate(timeout=60)
    assert "evil.example" in log
    assert server.token not in log
    assert [line for line in log.splitlines() if not line.startswith("alma: ")] == []


async def test_what_was_acknowledged_before_is_there(server: HttpServer, http: httpx2.Client, shop: Path) -> None:
    async with server.client() as client:
        learned = answer(await client.call_tool("alma_learn", LEARNED))
    with ALMA.from_config(shop) as alma:
        assert alma.get(learned["id"]).agent == "helena"
        assert alma.verify().ok
