"""Calls of many clients run one read and one write at a time."""

import anyio
import pytest
from mcp.client import Client

from alma import ALMA
from alma_mcp import create_server
from alma_mcp.server import _Turns
from alma_mcp.tools import TOOLS
from mcp_servers import answer

pytestmark = [pytest.mark.any_version, pytest.mark.anyio]


async def test_reads_wait_for_reads_writes_for_writes_and_the_state_for_nothing() -> None:
    turns = _Turns()
    reads = {turns.of(spec) for spec in TOOLS.values() if spec.reads_only and spec.name != "alma_health"}
    writes = {turns.of(spec) for spec in TOOLS.values() if not spec.reads_only}
    assert len(reads) == len(writes) == 1
    assert reads != writes
    assert {limiter.total_tokens for limiter in reads | writes if limiter} == {1}
    assert turns.of(TOOLS["alma_health"]) is None


async def test_reads_and_writes_at_once_are_all_answered(alma: ALMA) -> None:
    server = create_server(alma)
    async with Client(server) as client, anyio.create_task_group() as group:

        async def work(number: int) -> None:
            task = {"agent": "helena", "task": "Test the login form"}
            answer(await client.call_tool("alma_learn", {**task, "outcome": "success", "strategy_used": f"way {number % 3}"}))
            found = answer(await client.call_tool("alma_retrieve", task))
            assert found["memories"]

        for number in range(32):
            group.start_soon(work, number)
    assert alma.get_stats().by_kind["outcome"] == 32
