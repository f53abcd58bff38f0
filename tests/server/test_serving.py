"""`alma serve` as users start it."""

import asyncio
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from alma.errors import ConfigurationError
from alma_server.command import main
from alma_server.options import ServerBlock, check_options
from api_processes import Server, request_lines, serving, started
from mcp_servers import make_project

STREAMS = 50
pytestmark = pytest.mark.slow


async def tools_over_mcp(address: str, token: str) -> list[str]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
    ):
        return [tool.name for tool in (await client.list_tools()).tools]


def test_the_api_and_mcp_are_served_on_one_port(tmp_path: Path) -> None:
    with serving(tmp_path) as server, server.client() as client:
        assert client.get("/v1/whoami").json()["name"] == "all"
        assert "alma_retrieve" in asyncio.run(tools_over_mcp(server.address, server.token))
        code, said, _ = server.stop()
        assert (code in (0, -15), said) == (True, "")


@pytest.mark.parametrize(
    ("only", "others"), [("api", ["/mcp", "/ui/"]), ("mcp", ["/v1/whoami", "/ui/"]), ("ui", ["/mcp"])], ids=["api", "mcp", "ui"]
)
def test_one_of_them_can_be_served_alone(only: str, others: list[str], tmp_path: Path) -> None:
    with serving(tmp_path, "--only", only) as server, server.client() as client:
        assert [path for path in ("/v1/whoami", "/mcp", "/ui/") if client.get(path).status_code == 404] == others
        assert client.get("/health/ready").status_code == 200


def test_behind_a_prefix_addresses_work_with_it_and_without(tmp_path: Path) -> None:
    with serving(tmp_path, config="  server: {root_path: /alma}\n") as server, httpx.Client(headers=server.headers) as client:
        base = server.address.removesuffix("/alma")
        for prefix in ("", "/alma"):
            assert client.get(f"{base}{prefix}/v1/whoami").status_code == 200
            assert client.get(f"{base}{prefix}/ui/").status_code == 200
            assert client.get(f"{base}{prefix}/ui").headers["location"] == "/alma/ui/"
            assert client.get(f"{base}{prefix}/v1/nowhere").json()["instance"] == "/alma/v1/nowhere"
            assert client.get(f"{base}{prefix}/mcp").status_code == 400


async def read_stream(client: httpx.AsyncClient, opened: asyncio.Queue[None]) -> str:
    text = ""
    async with client.stream("GET", "/v1/projects/shop/events", headers={"Accept": "text/event-stream"}, timeout=60.0) as answer:
        assert answer.status_code == 200
        opened.put_nowait(None)
        async for part in answer.aiter_text():
            text += part
    return text


def test_a_server_with_open_streams_ends_soon_and_says_nothing(tmp_path: Path) -> None:
    async def stop_with_streams() -> tuple[int, str, float, list[str]]:
        limits = httpx.Limits(max_connections=STREAMS)
        async with httpx.AsyncClient(base_url=server.address, headers=server.headers, limits=limits, trust_env=False) as client:
            opened: asyncio.Queue[None] = asyncio.Queue()
            streams = [asyncio.create_task(read_stream(client, opened)) for _ in range(STREAMS)]
            for _ in streams:
                await opened.get()
            stopped = await asyncio.to_thread(server.stop)
            return *stopped, list(await asyncio.gather(*streams))

    with serving(tmp_path) as server:
        code, said, seconds, texts = asyncio.run(stop_with_streams())
    assert (code in (0, -15), said) == (True, "")
    assert seconds < 20.0
    assert all(text.startswith("retry: 2000") for text in texts)


def test_several_processes_serve_one_port_and_count_together(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as server:
        for _ in range(20):
            with server.client() as client:
                assert client.get("/v1/whoami").status_code == 200
        with server.client() as client:
            text = client.get("/metrics").text
        counted = re.search(r'alma_http_requests_total\{.*route="/v1/whoami",status="200"\} (\d+)', text)
        size = re.search(r"^alma_store_bytes (\S+)", text, flags=re.MULTILINE)
        assert counted is not None
        assert int(counted[1]) == 20
        assert size is not None
        assert float(size[1]) > 10_000
        assert server.stop()[1] == ""


def test_a_line_is_logged_for_each_request_without_secrets_and_queries(tmp_path: Path) -> None:
    with serving(tmp_path) as server, server.client() as client:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        client.get("/v1/whoami?word=pomegranate", headers={"X-Request-ID": "mine", "traceparent": trace})
        client.get("/v1/whoami", headers={"X-Request-ID": "two words", "Authorization": "Bearer alma_12345678_guess"})
        server.stop()
        first, second = [line for line in request_lines(server) if line["route"] == "/v1/whoami"]
    assert first.items() >= {"id": "mine", "token": "all", "method": "GET", "status": 200, "trace": trace[3:35]}.items()
    assert (second["status"], second["token"]) == (401, None)
    assert second["id"] != "two words"
    text = (tmp_path / "requests.log").read_text()
    assert server.token not in text
    assert "pomegranate" not in text
    assert "guess" not in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"host": "0.0.0.0"}, "insecure-public"),
        ({"host": "192.168.1.7"}, "insecure-public"),
        ({"host": "::"}, "insecure-public"),
        ({"host": "alma.example"}, "insecure-public"),
        ({"certificate": "cert.pem"}, "go together"),
    ],
)
def test_what_must_not_be_served_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_options(ServerBlock.model_validate(given))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"host": "localhost"},
        {"host": "::1"},
        {"host": "127.8.9.1"},
        {"host": "0.0.0.0", "insecure_public": True},
        {"host": "0.0.0.0", "certificate": "cert.pem", "certificate_key": "key.pem"},
    ],
)
def test_what_is_safe_or_asked_for_is_served(given: dict[str, object]) -> None:
    check_options(ServerBlock.model_validate(given))


@pytest.mark.parametrize("off", ["no", "off", "false"])
def test_switches_of_the_block_are_written_as_yaml_has_them(off: str, tmp_path: Path) -> None:
    with serving(tmp_path, config=f"  server: {{legacy: {off}, insecure_public: {off}}}\n") as server, server.client() as client:
        assert client.post("/", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}).status_code == 405
        assert server.stop()[1] == ""


@pytest.mark.parametrize("key", ["ports: 1", "port: many", "root_path: alma"])
def test_a_wrong_key_of_the_block_is_named(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = make_project(tmp_path)
    config.write_text(config.read_text() + f"  server: {{{key}}}\n")
    with pytest.raises(SystemExit):
        main(["-c", str(config)])
    assert f"server.{key.partition(':')[0]}" in capsys.readouterr().err


def test_a_first_token_is_made_and_shown_once(tmp_path: Path) -> None:
    make_project(tmp_path)
    with started(tmp_path, None) as server, server.client() as client:
        assert client.get("/v1/whoami").json()["name"] == "default"
    with started(tmp_path, server.token) as again, again.client() as client:
        assert again.said == ""
        assert client.get("/v1/whoami").status_code == 200


def test_of_several_first_starts_at_once_one_makes_the_token_and_the_key(tmp_path: Path) -> None:
    make_project(tmp_path)
    starts = [started(tmp_path, "none") for _ in range(3)]
    with ThreadPoolExecutor(len(starts)) as pool, ExitStack() as running:
        servers = [each.result() for each in [pool.submit(running.enter_context, start) for start in starts]]
        (secret,) = [server.said.split()[-1] for server in servers if "made a token" in server.said]
        cursor = None
        for server in servers:  # each reads the cursors of the others
            server.token = secret
            with server.client() as client:
                for number in range(2):
                    fact = {"kind": "domain_knowledge", "agent": "helena", "domain": "api", "fact": f"Fact {number}"}
                    assert client.post("/v1/projects/shop/memories", json=fact).status_code == 201
                page = client.get("/v1/projects/shop/memories", params={"limit": 1, **({"cursor": cursor} if cursor else {})})
                assert page.status_code == 200, page.text
                cursor = page.json()["next"]


CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize("path", ["/v1/projects/shop/learn", "/mcp"])
def test_a_request_whose_length_is_ambiguous_is_refused_and_ends_the_connection(tmp_path: Path, path: str) -> None:
    body = b'{"agent": "helena", "task": "Deploy", "outcome": "success"}'
    parts, length = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body), b"Content-Length: %d\r\n" % len(body)
    with serving(tmp_path) as server:
        begun = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n".encode()
        begun += b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        for headers, sent in (
            (CHUNKED + b"Content-Length: 6\r\n", parts),
            (b"Content-Length: %d\r\n" % len(parts) + CHUNKED, parts),
            (b"Content-Length: 5\r\n" + length, body),
            (b"Transfer-Encoding: identity\r\n" + length, body),
            (b"Transfer-Encoding: chunked, identity\r\n", parts),
            (b"Transfer-Encoding: \x0bchunked\r\n" + length, body),
            (b"Transfer-Encoding : chunked\r\n" + length, body),
            (b"Content-Length: +%d\r\n" % len(body), body),
        ):
            smuggled = b"GET /v1/whoami HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            said = answers_to(server, begun + headers + b"\r\n" + sent + smuggled)
            assert said.startswith(b"HTTP/1.1 400 "), (headers, said)
            assert said.count(b"HTTP/1.1") == 1, (headers, said)
        with server.client() as client:
            assert client.get("/v1/projects/shop/stats").json()["total"] == 0


def answers_to(server: Server, sent: bytes) -> bytes:
    """Everything that a server answers until it closes the connection."""
    host, _, port = server.address.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(sent)
        return b"".join(iter(lambda: connection.recv(65_536), b""))
