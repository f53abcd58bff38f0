"""The server as a process on standard input and output."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from mcp_servers import answer, refusal, stdio

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LEARNED = {"agent": "helena", "task": "Test the login form", "outcome": "success", "strategy_used": "Empty fields first"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(number: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def started(config: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "alma.mcp", "--config", str(config), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def send(process: "subprocess.Popen[str]", *messages: dict[str, Any]) -> None:
    process.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages))  # type: ignore[union-attr]
    process.stdin.flush()  # type: ignore[union-attr]


def read(process: "subprocess.Popen[str]", number: int) -> dict[str, Any]:
    """The answer to a request; what the server says meanwhile is left out."""
    while line := process.stdout.readline():  # type: ignore[union-attr]
        if (message := json.loads(line)).get("id") == number:
            return dict(message)
    raise AssertionError(process.stderr.read())  # type: ignore[union-attr]


async def test_what_one_client_learns_another_retrieves(config: Path) -> None:
    async with stdio(config) as first, stdio(config, "--profile", "all") as second:
        learned = answer(await first.call_tool("alma_learn", LEARNED))
        found = answer(await second.call_tool("alma_retrieve", {"agent": "helena", "task": "Test the login form"}))
        assert [item["id"] for item in found["memories"]] == [learned["id"]]
        assert len((await second.list_tools()).tools) > len((await first.list_tools()).tools)


async def test_a_bound_server_acts_as_no_other(config: Path) -> None:
    async with stdio(config, "--agent", "helena", "--user-id", "maria") as client:
        assert "cannot act as 'victor'" in refusal(await client.call_tool("alma_retrieve", {"agent": "victor", "task": "Deploy"}))
        assert "cannot name the user" in refusal(await client.call_tool("alma_retrieve", {"user_id": "otto", "task": "Deploy"}))
        answer(await client.call_tool("alma_retrieve", {"task": "Deploy"}))


def test_each_line_of_its_output_is_a_message_also_when_code_prints(config: Path) -> None:
    process = started(config)
    send(process, INITIALIZE, INITIALIZED, call(1, "alma_learn", LEARNED))
    assert read(process, 0)["result"]["serverInfo"]["name"] == "alma"
    assert read(process, 1)["result"]["isError"] is False
    out, err = process.communicate(timeout=60)  # closes its input
    assert out == ""
    assert err == ""
    assert process.returncode == 0


def test_a_server_killed_in_the_midst_of_calls_loses_nothing_that_it_acknowledged(config: Path) -> None:
    process = started(config)
    send(process, INITIALIZE, INITIALIZED)
    read(process, 0)
    many = [call(number, "alma_learn", {**LEARNED, "task": f"Test form {number}"}) for number in range(1, 41)]
    send(process, *many)
    acknowledged = [read(process, number)["result"]["structuredContent"]["id"] for number in (1,)]
    process.kill()
    rest, _ = process.communicate(timeout=60)
    acknowledged += [json.loads(line)["result"]["structuredContent"]["id"] for line in rest.splitlines() if '"result"' in line]
    with ALMA.from_config(config) as alma:
        assert [each for each in acknowledged if alma.get(each).agent != "helena"] == []
        assert alma.verify().ok


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_it_ends_cleanly_when_it_is_asked_to(config: Path, asked: signal.Signals) -> None:
    process = started(config)
    send(process, INITIALIZE, INITIALIZED, call(1, "alma_learn", LEARNED))
    read(process, 1)
    process.send_signal(asked)
    assert process.wait(timeout=60) == 0  # although its input is open
    _, err = process.communicate()
    assert err == ""
    with ALMA.from_config(config) as alma:
        assert alma.get_stats().total == 1


def test_what_is_no_message_does_not_end_it(config: Path) -> None:
    process = started(config)
    process.stdin.write("Content-Length: 10\r\n\r\n{}\n[1,2\n")  # type: ignore[union-attr]
    send(process, INITIALIZE)
    assert read(process, 0)["result"]["protocolVersion"] == "2025-06-18"
    process.communicate(timeout=60)


def test_a_missing_configuration_is_one_line(tmp_path: Path) -> None:
    process = started(tmp_path / "config.yaml")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert "`alma init`" in err
    assert err.count("\n") == 1


def test_the_nearest_configuration_above_is_taken(config: Path) -> None:
    below = config.parent.parent / "src" / "app"
    below.mkdir(parents=True)
    command = [sys.executable, "-m", "alma.mcp", "--profile", "alma_health"]
    process = subprocess.run(command, cwd=below, input="", capture_output=True, text=True, env=dict(os.environ))
    assert (process.returncode, process.stderr) == (0, "")


async def test_a_configuration_that_is_wrong_is_an_error_of_each_tool(config: Path) -> None:
    config.write_text("alma: {project_id: shop, storrage: sqlite}", encoding="utf-8")
    async with stdio(config) as client:
        assert len((await client.list_tools()).tools) == 7
        said = refusal(await client.call_tool("alma_retrieve", {"agent": "helena", "task": "Deploy"}))
        assert "did you mean 'storage'" in said


def test_an_unknown_profile_is_one_line(config: Path) -> None:
    process = started(config, "--profile", "al")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err == "alma: there is no profile or tool 'al', did you mean 'all'?\n"


async def test_the_first_call_reports_that_the_memory_is_being_opened(config: Path) -> None:
    told: list[str | None] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with stdio(config) as client:
        answer(await client.call_tool("alma_learn", LEARNED, progress_callback=progress))
        before = list(told)
        answer(await client.call_tool("alma_learn", LEARNED, progress_callback=progress))
    assert set(before) <= {"opening the memory"}
    assert told == before
