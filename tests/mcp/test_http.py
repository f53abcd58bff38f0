"""The server over streamable HTTP: who is let in, and as whom."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from alma import ALMA
from alma.types.kinds import VerdictSource
from alma_access import Access, TokenFile
from mcp_servers import HttpServer, answer, http_server, make_project, refusal

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LEARNED = {"agent": "helena", "task": "Test the login form", "outcome": "success", "strategy_used": "Empty fields first"}
LISTED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def server(shop: Path) -> Iterator[HttpServer]:
    with http_server(shop) as running:
        yield running


def tokens(config: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "alma.mcp", "--config", str(config), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


async def post(server: HttpServer, *, token: str | None = None, body: bytes | None = None, **headers: str) -> httpx2.Response:
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token is not None:
        given["Authorization"] = f"Bearer {token}"
    async with httpx2.AsyncClient() as http:
        content = json.dumps(LISTED).encode() if body is None else body
        return await http.post(
            server.url, content=content, headers={**given, **{k.replace("_", "-"): v for k, v in headers.items()}}
        )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_one_client_learns_another_retrieves(server: HttpServer, mode: str) -> None:
    async with server.client(mode=mode) as first, server.client(mode=mode) as second:
        learned = answer(await first.call_tool("alma_learn", {**LEARNED, "task": f"Test the login form {mode}"}))
        found = answer(await second.call_tool("alma_retrieve", {"agent": "helena", "task": f"Test the login form {mode}"}))
        assert learned["id"] in [item["id"] for item in found["memories"]]


async def test_without_a_token_nothing_is_answered(server: HttpServer) -> None:
    assert (await post(server)).status_code == 401
    assert (await post(server, token="wrong")).status_code == 401
    assert (await post(server, token=f"{server.token}x")).status_code == 401
    assert (await post(server, Authorization=f"Basic {server.token}")).status_code == 401


async def test_a_foreign_origin_is_refused_with_and_without_a_token(server: HttpServer) -> None:
    for origin in ("https://evil.example", "http://localhost.evil.example", "null"):
        assert (await post(server, token=server.token, Origin=origin)).status_code == 403
        assert (await post(server, Origin=origin)).status_code == 403


async def test_a_foreign_host_is_refused(server: HttpServer) -> None:
    assert (await post(server, token=server.token, Host="evil.example")).status_code == 421
    assert (await post(server, token=server.token, Host="127.0.0.1.evil.example:8765")).status_code == 421


async def test_a_large_request_is_refused(server: HttpServer) -> None:
    assert (await post(server, token=server.token, body=b" " * (1024 * 1024 + 1))).status_code == 413


async def test_other_paths_are_not_there(server: HttpServer) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {server.token}"}) as http:
        assert (await http.get(server.url.removesuffix("/mcp") + "/")).status_code == 404


async def test_sixteen_calls_at_once_are_answered(server: HttpServer, shop: Path) -> None:
    ids: list[str] = []

    async def learn(client: Any, number: int) -> None:
        ids.append(answer(await client.call_tool("alma_learn", {**LEARNED, "task": f"Test form {number}"}))["id"])

    async with server.client() as first, server.client(mode="legacy") as second, anyio.create_task_group() as group:
        for number in range(16):
            group.start_soon(learn, (first, second)[number % 2], number)
        while len(ids) < 16:
            await anyio.sleep(0.01)
    with ALMA.from_config(shop) as alma:
        assert {alma.get(each).task_description for each in ids} == {f"Test form {number}" for number in range(16)}
        assert {alma.get(each).verdict_source for each in ids} == {VerdictSource.AGENT}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_token_acts_as_its_own_agent_and_user_alone(server: HttpServer, shop: Path, mode: str) -> None:
    secret = tokens(shop, "--new-token", f"helena-{mode}", "--agent", "helena", "--user-id", "maria")
    async with server.client(secret, mode=mode) as client, server.client(mode=mode) as master:
        answer(await master.call_tool("alma_learn", {**LEARNED, "agent": "victor", "task": "Deploy the service"}))
        wish = {"user_id": "otto", "category": "deploys", "preference": "Deploy the service on Monday"}
        answer(await master.call_tool("alma_add_preference", wish))
        for tool, arguments in (
            ("alma_retrieve", {"agent": "victor", "task": "Deploy the service"}),
            ("alma_learn", {**LEARNED, "agent": "victor"}),
            ("alma_retrieve", {"user_id": "otto", "task": "Deploy the service"}),
            ("alma_add_preference", wish),
        ):
            assert "this client" in refusal(await client.call_tool(tool, arguments))
        found = answer(await client.call_tool("alma_retrieve", {"task": "Deploy the service"}))
        assert "Deploy the service" not in found["notes"]
        agents = (await client.read_resource("alma://agents")).contents[0].text
        assert list(json.loads(agents)) == ["helena"]


def made(shop: Path, name: str, **bound: Any) -> str:
    return TokenFile(shop.parent).add(name, Access(**bound))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_token_does_what_its_rights_allow_and_nothing_else(shop: Path, mode: str) -> None:
    task = {"agent": "helena", "task": "Test the login form"}
    allowed = {
        "read": [("alma_retrieve", task), ("alma_stats", {})],
        "write": [("alma_learn", LEARNED), ("alma_add_knowledge", {"agent": "helena", "domain": "shop", "fact": "It is open."})],
        "forget": [("alma_forget", {"agent": "helena", "dry_run": True}), ("alma_undo", {"agent": "helena", "to": 1})],
    }
    with http_server(shop, "--profile", "all") as server:
        for own in allowed:
            secret = made(shop, f"{own}-{mode}", projects=("shop",), rights=frozenset({own}))
            async with server.client(secret, mode=mode) as client:
                for right, calls in allowed.items():
                    for tool, arguments in calls:
                        answered = await client.call_tool(tool, arguments)
                        assert answered.is_error == (right != own), answered
                        if right != own:
                            assert f"no right to {right}" in refusal(answered)
                if own != "read":
                    with pytest.raises(MCPError, match="no right to read"):
                        await client.get_prompt("before_task", {"task": "Test", "agent": "helena"})
                    with pytest.raises(MCPError, match="no right to read"):
                        await client.read_resource("alma://agents")


async def test_a_token_without_the_right_to_judge_settles_nothing(shop: Path) -> None:
    secret = made(shop, "writer", projects=("shop",), rights=frozenset({"read", "write"}))
    with http_server(shop, "--profile", "all") as server:
        async with server.client(secret) as client:
            settled = {"agent": "helena", "outcome": "success", "episode_id": "e1"}
            assert "no right to judge" in refusal(await client.call_tool("alma_settle", settled))


async def test_the_token_alone_says_who_judges(server: HttpServer, shop: Path) -> None:
    secret = made(shop, "tests", projects=("shop",), source="tool")
    async with server.client(secret) as client:
        learned = answer(await client.call_tool("alma_learn", LEARNED))["id"]
        assert (await client.call_tool("alma_learn", {**LEARNED, "verdict_source": "person"})).is_error
    with ALMA.from_config(shop) as alma:
        assert alma.get(learned).verdict_source == VerdictSource.TOOL


async def test_a_token_for_another_project_is_not_accepted(server: HttpServer, shop: Path) -> None:
    assert (await post(server, token=made(shop, "bank", projects=("bank",)))).status_code == 401
    assert (await post(server, token=made(shop, "both", projects=("bank", "shop")))).status_code != 401
    assert (await post(server, token=made(shop, "all"))).status_code != 401


async def test_a_token_is_not_accepted_after_it_expired(shop: Path) -> None:
    soon = time.time_ns() // 1000 + 3_000_000
    secret = TokenFile(shop.parent).add("soon", Access(), expires=soon)
    with http_server(shop) as server:
        while time.time_ns() // 1000 < soon:
            await anyio.sleep(0.1)
        assert (await post(server, token=secret)).status_code == 401


async def test_a_session_belongs_to_the_token_that_began_it(server: HttpServer, shop: Path) -> None:
    other = tokens(shop, "--new-token", "thief", "--agent", "victor")
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin}).encode()
    session = (await post(server, token=server.token, body=body)).headers["mcp-session-id"]
    own = await post(server, token=server.token, Mcp_Session_Id=session, MCP_Protocol_Version="2025-06-18")
    stolen = await post(server, token=other, Mcp_Session_Id=session, MCP_Protocol_Version="2025-06-18")
    assert own.status_code == 200
    assert stolen.status_code in (403, 404)


async def test_a_revoked_token_is_not_accepted_any_more(server: HttpServer, shop: Path) -> None:
    secret = tokens(shop, "--new-token", "short-lived")
    async with server.client(secret) as client:
        answer(await client.call_tool("alma_retrieve", {"agent": "helena", "task": "Deploy"}))
    tokens(shop, "--revoke-token", "short-lived")
    assert (await post(server, token=secret)).status_code == 401


def test_a_token_is_printed_once_and_kept_as_a_hash_for_its_owner_alone(server: HttpServer, shop: Path) -> None:
    file = shop.parent / "tokens.json"
    secret = tokens(shop, "--new-token", "kept")
    assert secret not in file.read_text(encoding="utf-8")
    assert server.token not in file.read_text(encoding="utf-8")
    assert len(secret) >= 43
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    listed = tokens(shop, "--tokens")
    assert "kept: any agent, any user" in listed
    assert secret not in listed


def test_a_second_start_makes_no_other_token(tmp_path: Path) -> None:
    config = make_project(tmp_path)
    with http_server(config, "--agent", "helena") as first:
        assert "made a token for agent helena, any user" in first.told
    with http_server(config) as second:
        assert "token" not in second.told


async def test_the_token_of_the_environment_is_the_only_one(tmp_path: Path) -> None:
    config = make_project(tmp_path)
    other = tokens(config, "--new-token", "filed")
    with http_server(config, "--agent", "helena", token="a-secret-of-my-own-choice") as server:
        assert "made a token" not in server.told
        assert (await post(server, token=other)).status_code == 401
        async with server.client("a-secret-of-my-own-choice") as client:
            assert "cannot act as" in refusal(await client.call_tool("alma_retrieve", {"agent": "victor", "task": "Deploy"}))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--new-token", "a", "--user-id", "maria", "--no-user"), "contradict"),
        (("--http", "--profile", "al"), "did you mean 'all'"),
        (("--http", "--max-body", "0"), "number of bytes"),
        (("--http", "--max-body", "-1"), "number of bytes"),
        (("--http", "--max-body", "9" * 5000), "number of bytes"),
        (("--revoke-token", "nobody"), "no token 'nobody'"),
        (("--http", "--host", "203.0.113.7", "--port", "0"), "cannot listen on 203.0.113.7:0"),
        (("--http", "--port", "99999"), "cannot listen on 127.0.0.1:99999"),
    ],
    ids=["contradiction", "profile", "no body", "less than none", "a number of 5,000 digits", "unknown", "foreign", "port"],
)
def test_a_wrong_argument_is_one_line(config: Path, arguments: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "alma.mcp", "--config", str(config), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (config.parent / "tokens.json").exists()


def test_a_short_token_in_the_environment_is_refused(config: Path) -> None:
    command = [sys.executable, "-m", "alma.mcp", "--config", str(config), "--http", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ALMA_MCP_TOKEN": "secret"})
    assert done.returncode == 2
    assert "at least 16 characters" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
def test_a_token_file_that_others_may_write_is_refused(config: Path) -> None:
    tokens(config, "--new-token", "mine")
    (config.parent / "tokens.json").chmod(0o666)
    command = [sys.executable, "-m", "alma.mcp", "--config", str(config), "--tokens"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "others may write" in done.stderr


async def test_a_server_killed_in_the_midst_of_a_call_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    config = make_project(tmp_path)
    ids: list[str] = []
    with http_server(config) as server:

        async def learn(client: Any, number: int) -> None:
            try:
                ids.append(answer(await client.call_tool("alma_learn", {**LEARNED, "task": f"Test form {number}"}))["id"])
            except MCPError:
                return
            if len(ids) == 5:
                server.process.kill()

        try:
            async with server.client() as client, anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(learn, client, number)
        except* (httpx2.HTTPError, MCPError):
            pass  # what became of the calls under way
    assert len(ids) >= 5
    with ALMA.from_config(config) as alma:
        assert [each for each in ids if alma.get(each).agent != "helena"] == []
        assert alma.verify().ok


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_it_ends_cleanly_when_it_is_asked_to(tmp_path: Path, mode: str) -> None:
    config = make_project(tmp_path)
    with http_server(config) as server:
        try:
            async with server.client(mode=mode) as client:
                answer(await client.call_tool("alma_learn", LEARNED))
                server.process.send_signal(signal.SIGTERM)
                await anyio.to_thread.run_sync(server.process.wait)
        except* (httpx2.HTTPError, MCPError):
            pass  # a client that goes later finds nobody
        assert server.process.returncode in (0, -signal.SIGTERM)
        assert "Traceback" not in server.process.stderr.read()  # type: ignore[union-attr]
