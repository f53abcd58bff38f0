"""The official conformance suite and the official inspector against the server: `python tests/mcp/conformance.py FOLDER`.

FOLDER holds `node_modules` with @modelcontextprotocol/conformance and @modelcontextprotocol/inspector; a `node` of at least version 22 is
on the path. `nox -s mcp-conformance` prepares both.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn

from alma import ALMA
from alma_access import GivenTokens, token_of
from alma_mcp import Access, create_server, http_app

APPLY = (
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-error",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)
FIXTURE = "calls a tool, a resource or a prompt of the suite's own (test_…), which no real server has"
LEFT_OUT = {
    "logging-set-level": "no logging: deprecated by the protocol; the log goes to standard error",
    "completion-complete": "no completion of arguments",
    "tools-call-with-logging": "no logging",
    "tools-call-sampling": "no sampling: deprecated by the protocol",
    "tools-call-elicitation": "no elicitation: nothing is asked back",
    "elicitation-sep1034-defaults": "no elicitation",
    "elicitation-sep1330-enums": "no elicitation",
    "resources-subscribe": "no subscriptions",
    "resources-unsubscribe": "no subscriptions",
    "server-sse-polling": "no event store: a lost stream is not resumed, the client asks again",
}
SECRET = "a-token-for-the-conformance-suite"


class WithToken:
    """Adds the token to each request: the suite cannot send one."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {SECRET}".encode())]}
        await self._app(scope, receive, send)


def main(folder: Path) -> int:
    programs = folder / "node_modules" / ".bin"
    failed = []
    with tempfile.TemporaryDirectory() as place:
        config = Path(place, ".alma", "config.yaml")
        config.parent.mkdir()
        config.write_text("alma: {project_id: conformance, embedding_provider: hash}\n", encoding="utf-8")
        with ALMA.from_config(config) as alma:
            token = token_of(SECRET, Access())
            app = http_app(create_server(alma, profile="all"), GivenTokens((token,)))
            url = f"http://127.0.0.1:{serve(WithToken(app))}/mcp"
            listed = run("node", programs / "conformance", "list", "--server").stdout
            scenarios = [line.split()[1] for line in listed.splitlines() if line.startswith("  - ")]
            for scenario in scenarios:
                if scenario not in APPLY:
                    print(f"left out  {scenario}: {LEFT_OUT.get(scenario, FIXTURE)}")
                    continue
                ended = run("node", programs / "conformance", "server", "--url", url, "--scenario", scenario)
                print(f"{'passed' if ended.returncode == 0 else 'FAILED':8}  {scenario}")
                failed += [f"{scenario}\n{ended.stdout}{ended.stderr}"] if ended.returncode else []
            for name, entry in (("stdio", stdio_entry(config)), ("http", {"type": "streamable-http", "url": url})):
                failed += inspected(programs / "mcp-inspector", Path(place), name, entry)
    print(*failed, sep="\n\n")
    return 1 if failed else 0


def inspected(program: Path, place: Path, name: str, entry: dict[str, Any]) -> list[str]:
    """Calls the inspector for each list and for two tools. Returns what failed."""
    file = place / f"{name}.json"
    file.write_text(json.dumps({"mcpServers": {"alma": entry}}), encoding="utf-8")
    told = ("--tool-arg", "agent=helena", "--tool-arg", "task=Deploy the service")
    learned = ("--tool-arg", "outcome=success", "--tool-arg", "strategy_used=blue-green")
    calls: tuple[tuple[str, tuple[str, ...], str], ...] = (
        ("tools/list", (), "alma_retrieve"),
        ("resources/list", (), "alma://config"),
        ("prompts/list", (), "before_task"),
        ("tools/call", ("--tool-name", "alma_learn", *told, *learned), "quarantined"),
        ("tools/call", ("--tool-name", "alma_retrieve", *told), "blue-green"),
    )
    failed = []
    for method, more, expected in calls:
        ended = run("node", program, "--cli", "--config", file, "--server", "alma", "--method", method, *more, home=place)
        is_right = ended.returncode == 0 and expected in ended.stdout
        print(f"{'passed' if is_right else 'FAILED':8}  inspector over {name}: {method} {' '.join(more[:2])}")
        failed += [] if is_right else [f"{method} {ended.stdout}{ended.stderr}"]
    return failed


def stdio_entry(config: Path) -> dict[str, Any]:
    return {"type": "stdio", "command": sys.executable, "args": ["-m", "alma.mcp", "--config", str(config)]}


def serve(app: Any) -> int:
    """Serves an application in a thread. Returns its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True).start()
    return int(listener.getsockname()[1])


def run(*command: object, home: Path | None = None) -> "subprocess.CompletedProcess[str]":
    settings = {**os.environ, "MCP_INSPECTOR_SECRET_STORE": "memory", **({"HOME": str(home)} if home else {})}
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, env=settings)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
