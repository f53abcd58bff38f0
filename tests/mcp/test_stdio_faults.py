"""The server as a process on standard input and output, when calls are cancelled, it is killed, or the disk refuses."""

import os
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from alma import ALMA
from alma.session import SessionManager
from mcp_servers import answer, refusal, stdio

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
on_posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")

LEARNED = {"agent": "helena", "task": "Test the login form", "outcome": "success", "strategy_used": "Empty fields first"}


def through_shell(config: Path, first: str, *, named: object = "sh") -> Client:
    """A client of a server that a shell starts after a command of its own. `named` is its $0."""
    command = [sys.executable, "-m", "alma.mcp", "--config", str(config), "--profile", "all"]
    return Client(stdio_client(StdioServerParameters(command="sh", args=["-c", f'{first}; exec "$@"', str(named), *command])))


async def killed_in_the_midst(config: Path, call: Callable[[Any, int], Awaitable[None]], *, after: Callable[[], bool]) -> None:
    """Kills a server while twenty calls are under way, as soon as `after` is true."""
    file = config.parent / "pid"
    try:
        async with through_shell(config, 'echo $$ > "$0"', named=file) as client, anyio.create_task_group() as group:

            async def one(number: int) -> None:
                try:
                    await call(client, number)
                except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return
                if after() and file.exists():
                    os.kill(int(file.read_text()), signal.SIGKILL)
                    file.unlink()

            for number in range(20):
                group.start_soon(one, number)
    except* (MCPError, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass  # what became of the calls under way
    assert not file.exists()


@on_posix
async def test_a_server_killed_in_the_midst_of_calls_loses_nothing_that_the_client_was_told(config: Path) -> None:
    ids: list[str] = []

    async def learn(client: Any, number: int) -> None:
        ids.append(answer(await client.call_tool("alma_learn", {**LEARNED, "task": f"Test form {number}"}))["id"])

    await killed_in_the_midst(config, learn, after=lambda: len(ids) >= 4)
    with ALMA.from_config(config) as alma:
        assert {alma.get(each).agent for each in ids} == {"helena"}
        assert alma.verify().ok
    async with stdio(config) as client:
        found = answer(await client.call_tool("alma_retrieve", {"agent": "helena", "task": "Test form 1"}))
        assert found["memories"]


@on_posix
async def test_a_server_killed_in_the_midst_of_hand_offs_leaves_whole_ones_alone(config: Path) -> None:
    ids: list[str] = []

    async def hand_off(client: Any, number: int) -> None:
        said = {"agent": "helena", "goal": f"goal {number}", "last_action": f"action {number}", "next_steps": [f"step {number}"]}
        ids.append(answer(await client.call_tool("alma_handoff", said))["session_id"])

    await killed_in_the_midst(config, hand_off, after=lambda: len(ids) >= 4)
    with ALMA.from_config(config) as alma:
        sessions = SessionManager(alma=alma).get_previous_sessions("helena", limit=100)
        assert set(ids) <= {each.session_id for each in sessions}
        assert {each.status for each in sessions} == {"ended"}
        for each in sessions:
            assert each.handoff is not None
            assert (each.handoff.last_action, each.handoff.next_steps) == (
                each.goal.replace("goal", "action"),
                (each.goal.replace("goal", "step"),),
            )
        assert alma.verify().ok


async def test_a_cancelled_call_stores_all_or_nothing_and_the_server_goes_on(config: Path) -> None:
    other = sqlite3.connect(config.parent / "alma.db", isolation_level=None)
    async with stdio(config, "--profile", "all") as client:
        answer(await client.call_tool("alma_stats"))
        other.execute("BEGIN IMMEDIATE")  # the write of another process: each call of the server waits for it
        for tool, given in (("alma_learn", LEARNED), ("alma_handoff", {"agent": "helena", "goal": "g", "last_action": "a"})):
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, tool, given)
                answer(await client.call_tool("alma_health"))  # the server reads in order, so it has the call by now
                group.cancel_scope.cancel()
        answer(await client.call_tool("alma_health"))
        other.execute("ROLLBACK")
        answer(await client.call_tool("alma_learn", {**LEARNED, "task": "Deploy the service"}))
    other.close()
    with ALMA.from_config(config) as alma:
        assert {memory.task_description for memory in alma.list_memories(kind="outcome")} - {LEARNED["task"]} == {
            "Deploy the service"
        }
        assert {each.status for each in SessionManager(alma=alma).get_previous_sessions("helena")} <= {"ended"}
        assert alma.verify().ok


async def test_a_huge_argument_is_refused_and_the_server_goes_on(config: Path) -> None:
    async with stdio(config) as client:
        said = refusal(await client.call_tool("alma_learn", {**LEARNED, "task": "x" * 8_000_000}))
        assert "at most" in said
        assert len(said) < 500
        assert answer(await client.call_tool("alma_learn", LEARNED))["id"]


@on_posix
async def test_a_full_disk_is_an_error_of_the_tool_what_is_there_stays_and_can_be_read(config: Path) -> None:
    """A limit on the size of files stands for the disk."""
    long = {**LEARNED, "task": f"Test form {'with care ' * 500}"}
    calls = [
        ("alma_learn", long),
        ("alma_learn", LEARNED),
        ("alma_handoff", {"agent": "helena", "goal": "g" * 4000, "last_action": "a"}),
    ]
    kept: list[str] = []
    async with through_shell(config, "ulimit -f 800") as client:
        for tool, given in calls:  # a short one may still find room where a long one did not
            for _ in range(500):
                done = await client.call_tool(tool, given)
                if done.is_error:
                    break
                kept.append(answer(done)["id" if tool == "alma_learn" else "session_id"])
            said = refusal(done)
            assert "disk" in said
            assert "Traceback" not in said
        assert kept
        found = answer(await client.call_tool("alma_retrieve", {"agent": "helena", "task": "Test form 1 with care"}))
        assert LEARNED["strategy_used"] in str(found)
    with ALMA.from_config(config) as alma:
        outcomes = {memory.id for memory in alma.list_memories(kind="outcome", limit=1000)}
        sessions = {session.id for session in SessionManager(alma=alma).get_previous_sessions("helena")}
        assert outcomes | sessions == set(kept)
        assert alma.verify().ok


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions hold nobody back here")
async def test_a_folder_that_may_not_be_written_is_an_error_of_each_tool(config: Path) -> None:
    (config.parent / "alma.db").chmod(0o400)
    config.parent.chmod(0o500)
    try:
        async with stdio(config, "--profile", "all") as client:
            assert "alma.db" in refusal(await client.call_tool("alma_learn", LEARNED))
            assert answer(await client.call_tool("alma_health"))["status"] == "failed"
    finally:
        config.parent.chmod(0o700)
