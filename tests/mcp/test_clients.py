"""The files that `alma init --client` writes start a server that answers."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from alma_cli.clients import CLIENTS, entry_for
from mcp_servers import answer, refusal

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def in_json(key: str) -> Callable[[str], list[str]]:
    def command(text: str) -> list[str]:
        server = json.loads(text)[key]["alma"]
        return [server["command"], *server["args"]]

    return command


def in_opencode(text: str) -> list[str]:
    return list(json.loads(text)["mcp"]["alma"]["command"])


def in_codex(text: str) -> list[str]:
    server = tomllib.loads(text)["mcp_servers"]["alma"]
    return [server["command"], *server["args"]]


def in_continue(text: str) -> list[str]:
    (server,) = yaml.safe_load(text)["mcpServers"]
    return [server["command"], *server["args"]]


READ: dict[str, Callable[[str], list[str]]] = {
    **dict.fromkeys(("claude-code", "claude-desktop", "cursor", "gemini"), in_json("mcpServers")),
    "vscode": in_json("servers"),
    "zed": in_json("context_servers"),
    "opencode": in_opencode,
    "codex": in_codex,
    "continue": in_continue,
}
"""How each client reads the command of a server from its file, by its documentation."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


async def test_the_file_of_every_client_starts_a_server_bound_to_its_agent(config: Path) -> None:
    commands: list[list[str]] = []
    for client in CLIENTS:
        entry = entry_for(client, config, agent="helena")
        entry.write()
        commands.append(READ[client](entry.file.read_text(encoding="utf-8")))
    program, *arguments = commands[0]
    assert commands == [[program, *arguments]] * 9
    async with Client(stdio_client(StdioServerParameters(command=program, args=arguments, cwd="/"))) as connected:
        task: dict[str, Any] = {"task": "Test the login form"}
        learned = {**task, "outcome": "success", "strategy_used": "Empty fields first"}
        memory = answer(await connected.call_tool("alma_learn", learned))["id"]
        found = answer(await connected.call_tool("alma_retrieve", task))
        assert [item["id"] for item in found["memories"]] == [memory]
        assert "cannot act as 'victor'" in refusal(await connected.call_tool("alma_retrieve", {**task, "agent": "victor"}))
