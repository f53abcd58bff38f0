"""How long tools of the MCP server take, beside a tool that does nothing: `python -m benchmarks.mcp_server --data FILE`.

A server with a store of real texts serves streamable HTTP in a process of its own, with ALMA's tools and one that only answers. A client calls
them in turn, one at a time; then 16 clients call at once. The start is timed on standard input and output, from before the process is
started until the server has answered `initialize`.
"""

import argparse
import functools
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.cold_start import AGENT, PROJECT, fill
from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.records import DataError
from benchmarks.screen import wide_console
from benchmarks.texts import RealTexts

MEMORIES = 10_000
CALLS = 300
CLIENTS = 16
STARTS = 9
WARM_UP = 20
TIMEOUT = 120.0
SERVER = f"""
import sys, uvicorn
from alma import ALMA
from alma_mcp import Access, create_server, http_app
from alma_access import GivenTokens, token_of
folder, port, secret = sys.argv[1:]
with ALMA.open(folder, project_id={PROJECT!r}) as alma:
    server = create_server(alma)
    @server.tool()
    def nothing(text: str) -> str:
        return text
    token = token_of(secret, Access())
    app = http_app(server, GivenTokens((token,)))
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error")
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}},
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        tasks = RealTexts(options.data).tasks(options.memories)
        texts = [task.task for task in tasks]
        with tempfile.TemporaryDirectory(prefix="mcp-server-", dir=options.dir) as folder:
            fill(Path(folder), tasks, options.embedder)
            called = anyio.run(functools.partial(measure, Path(folder), texts, options.calls))
            result = [*called, start(Path(folder), options.starts)]
    except DataError as error:
        sys.exit(str(error))
    gates.show(console, result, f"MCP server, {options.memories:,} memories, embedder {options.embedder}")
    if options.json:
        gates.write_json(options.json, result, memories=options.memories, embedder=options.embedder, calls=options.calls)
    gates.enforce(result)


async def measure(folder: Path, texts: Sequence[str], calls: int) -> list[Gate]:
    """Calls the tools of a server, one at a time and at once."""
    secret, port = secrets.token_hex(16), _free_port()
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(folder), str(port), secret])
    try:
        await _listening(port)
        connect = functools.partial(_Client, f"http://127.0.0.1:{port}/mcp", secret)
        return [*await _one_at_a_time(connect, texts, calls), *await _at_once(connect, texts, calls)]
    finally:
        process.terminate()
        process.wait()


async def _one_at_a_time(connect: Callable[[], Any], texts: Sequence[str], calls: int) -> list[Gate]:
    """Times the tools that read, in turn with the one that does nothing; then a learning and a retrieval in turn."""
    async with connect() as client:
        reads = await _times(client, ("nothing", "alma_retrieve", "alma_check"), texts, calls)
        writes = await _times(client, ("alma_learn", "alma_retrieve"), texts, calls)
    trivial = percentile(reads["nothing"], 0.95)
    found = [
        Gate("a tool that does nothing, median", percentile(reads["nothing"], 0.5), "ms"),
        Gate("the same, p95", trivial, "ms"),
    ]
    for what, limit, times in (
        ("alma_retrieve", trivial + 15, reads["alma_retrieve"]),
        ("alma_check", None, reads["alma_check"]),
        ("alma_learn, each before a retrieval", None, writes["alma_learn"]),
        ("alma_retrieve, each after a learning", None, writes["alma_retrieve"]),
    ):
        found.append(Gate(f"{what}, median", percentile(times, 0.5), "ms"))
        found.append(Gate(f"{what}, p95", percentile(times, 0.95), "ms", limit=limit, reference=trivial, is_same_run=True))
    return found


async def _times(client: Client, tools: Sequence[str], texts: Sequence[str], calls: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {tool: [] for tool in tools}
    for number in range(calls + WARM_UP):
        text = texts[number * 31 % len(texts)]
        given: dict[str, dict[str, Any]] = {
            "nothing": {"text": text},
            "alma_retrieve": {"task": text, "agent": AGENT},
            "alma_check": {"action": text, "agent": AGENT},
            "alma_learn": {"task": text, "agent": AGENT, "outcome": "success", "strategy_used": "as before"},
        }
        for tool in tools:
            seconds = await _seconds(functools.partial(client.call_tool, tool, given[tool]))
            if number >= WARM_UP:
                times[tool].append(seconds * 1000)
    return times


async def _at_once(connect: Callable[[], Any], texts: Sequence[str], calls: int) -> list[Gate]:
    """Counts the calls that failed among those of 16 clients at once, each of which learns and retrieves, and times them."""
    failed = 0
    times: list[float] = []

    async def work(first: int) -> None:
        nonlocal failed
        async with connect() as client:
            for number in range(first, calls, CLIENTS):
                named = {"task": texts[number * 17 % len(texts)], "agent": AGENT}
                began = perf_counter()
                learned = await client.call_tool("alma_learn", {**named, "outcome": "success", "strategy_used": "at once"})
                found = await client.call_tool("alma_retrieve", named)
                times.append((perf_counter() - began) * 1000)
                failed += learned.is_error + found.is_error

    async with anyio.create_task_group() as group:
        for first in range(CLIENTS):
            group.start_soon(work, first)
    return [
        Gate(f"errors of {CLIENTS} clients at once, {2 * calls:,} calls", failed, "", limit=0),
        Gate("their alma_learn and alma_retrieve together, median", percentile(times, 0.5), "ms"),
        Gate("the same, p95", percentile(times, 0.95), "ms"),
    ]


def start(folder: Path, runs: int) -> Gate:
    """Times processes from before their start until they have answered `initialize`. The first one reads the files."""
    config = folder / "config.yaml"
    config.write_text(json.dumps({"project_id": PROJECT, "storage_dir": str(folder)}), encoding="utf-8")
    times = [_first_answer(config) for _ in range(runs + 1)][1:]
    return Gate("a new process on standard input to its first answer", percentile(times, 0.5), "s", limit=1.5)


def _first_answer(config: Path) -> float:
    began = perf_counter()
    command = [sys.executable, "-m", "alma.mcp", "--config", os.fspath(config)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{json.dumps(INITIALIZE)}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        seconds = perf_counter() - began
        process.stdin.close()
        process.stdout.read()
    if "serverInfo" not in line:
        raise RuntimeError(f"the server did not answer; it ended with {process.returncode}")
    return seconds


async def _seconds(call: Callable[[], Awaitable[Any]]) -> float:
    began = perf_counter()
    result = await call()
    seconds = perf_counter() - began
    if result.is_error:
        raise RuntimeError(result.content[0].text)
    return seconds


class _Client:
    """A client of the server at an address, with a token."""

    def __init__(self, url: str, secret: str) -> None:
        self._http = httpx2.AsyncClient(timeout=TIMEOUT, headers={"Authorization": f"Bearer {secret}"})
        self._client = Client(streamable_http_client(url, http_client=self._http))

    async def __aenter__(self) -> Client:
        await self._http.__aenter__()
        return await self._client.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._client.__aexit__(*error)
        await self._http.__aexit__(*error)


async def _listening(port: int) -> None:
    with anyio.fail_after(120):
        while True:
            try:
                stream = await anyio.connect_tcp("127.0.0.1", port)
            except OSError:
                await anyio.sleep(0.05)
            else:
                await stream.aclose()
                return


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp_server", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a LongMemEval file, for its texts")
    parser.add_argument("--memories", type=positive, default=MEMORIES, metavar="N", help=f"in the store (default: {MEMORIES:,})")
    parser.add_argument("--calls", type=positive, default=CALLS, help=f"calls of each tool (default: {CALLS})")
    parser.add_argument("--starts", type=positive, default=STARTS, help=f"processes to start (default: {STARTS})")
    parser.add_argument("--embedder", default="minilm", help="name of an embedder (default: minilm)")
    parser.add_argument("--dir", type=Path, metavar="FOLDER", help="where the store is made")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
