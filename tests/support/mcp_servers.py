"""MCP servers as processes, and what their clients need."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from alma import ALMA

CONFIG = """\
alma:
  project_id: shop
  storage: sqlite
  storage_dir: .alma
  embedding_provider: hash
  agents:
    junior: {cannot_learn: [payments]}
"""

CALLS_OF_AGENTS: dict[str, dict[str, Any]] = {
    "alma_retrieve": {"task": "Deploy"},
    "query_memory": {"question": "Deploy?"},
    "alma_check": {"action": "deploy"},
    "alma_strategies": {"task": "Deploy"},
    "alma_assess": {"context": "Deploy"},
    "alma_explain": {"query": "Deploy", "memory_id": "x"},
    "alma_learn": {"task": "Deploy", "outcome": "success", "strategy_used": "blue-green"},
    "alma_record_usage": {"retrieved_memory_ids": ["x"]},
    "alma_record_feedback": {"memory_id": "x", "signal": "used"},
    "alma_settle": {"episode_id": "x", "outcome": "success"},
    "alma_add_knowledge": {"domain": "d", "fact": "f"},
    "alma_add_preference": {"user_id": "maria", "category": "c", "preference": "p"},
    "alma_add_anti_pattern": {"pattern": "p", "why_bad": "w"},
    "get_self_model": {},
    "update_self_model": {"nodes": [{"type": "Goal", "name": "ship"}]},
    "alma_wakeup": {},
    "alma_handoff": {"goal": "g", "last_action": "a"},
    "alma_workflow_learn": {"workflow_id": "w", "result": "success", "summary": "s"},
    "alma_retrieve_scoped": {"query": "Deploy", "scope": "agent_only"},
    "alma_stats": {},
    "alma_forget": {},
    "alma_history": {"memory_id": "x"},
    "alma_consolidate": {},
    "alma_reflect": {},
    "alma_undo": {"to": 0},
}
"""A call of each tool that an agent calls, without its agent."""

CALLS_OF_NO_AGENT: dict[str, dict[str, Any]] = {
    "alma_checkpoint": {"workflow_id": "w", "state": {}},
    "alma_resume": {"workflow_id": "w"},
    "alma_merge_states": {"workflow_id": "w", "states": [{}]},
    "alma_link_artifact": {"workflow_id": "w", "artifact_type": "code", "ref": "r"},
    "alma_get_artifacts": {"workflow_id": "w"},
    "alma_cleanup_checkpoints": {"workflow_id": "w"},
}
"""Workflows belong to a project, or to a user of it."""


def make_project(folder: Path) -> Path:
    """Writes a configuration and makes the database, with the embedder of hashed words."""
    config = folder / ".alma" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG, encoding="utf-8")
    ALMA.from_config(config).close()
    return config


def stdio(config: Path, *arguments: str) -> Client:
    """A client of a server that is a process of its own."""
    command = ["-m", "alma.mcp", "--config", str(config), *arguments]
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=command)))


def answer(result: CallToolResult) -> dict[str, Any]:
    """What a tool answered. Fails if it refused."""
    assert not result.is_error, result.content[0].text
    return dict(result.structured_content or {})


def refusal(result: CallToolResult) -> str:
    """What a tool said against a call. Fails if it answered."""
    assert result.is_error, result.structured_content
    return str(result.content[0].text)


@dataclass
class HttpServer:
    """A server over HTTP that runs."""

    process: "subprocess.Popen[str]"
    url: str
    told: str

    @property
    def token(self) -> str:
        """The token that it printed."""
        return re.search(r"shown only now:\n(\S+)", self.told)[1]  # type: ignore[index]

    @asynccontextmanager
    async def client(self, token: str | None = None, mode: str = "auto") -> Any:
        """A client with a token."""
        headers = {"Authorization": f"Bearer {token or self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60.0) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client


@contextmanager
def http_server(config: Path, *arguments: str, token: str | None = None) -> Iterator[HttpServer]:
    """A server over HTTP as a process, on a free port."""
    command = [sys.executable, "-m", "alma.mcp", "--config", str(config), "--http", "--port", "0", *arguments]
    settings = {name: value for name, value in os.environ.items() if name != "ALMA_MCP_TOKEN"}
    if token is not None:
        settings["ALMA_MCP_TOKEN"] = token
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=settings)
    try:
        told = ""
        while not (found := re.search(r"listening on (\S+)", told)):
            line = process.stderr.readline()  # type: ignore[union-attr]
            assert line, f"the server ended: {told}"
            told += line
        yield HttpServer(process, found[1], told)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
