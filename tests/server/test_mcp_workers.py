"""MCP over a server of several processes."""

from pathlib import Path

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from alma_access import Access, TokenFile
from api_processes import serving
from mcp_servers import refusal


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_is_served_whichever_process_it_reaches_and_as_its_own_agent(mode: str, tmp_path: Path) -> None:
    async def ask(address: str, secret: str) -> list[bool]:
        headers = {"Authorization": f"Bearer {secret}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60.0, trust_env=False) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
        ):
            answers = [await client.call_tool("alma_retrieve", {"task": f"Test form {number}"}) for number in range(8)]
            assert "cannot act as" in refusal(await client.call_tool("alma_retrieve", {"agent": "victor", "task": "Deploy"}))
            return [answer.is_error for answer in answers]

    with serving(tmp_path, "--workers", "2") as server:
        secret = TokenFile(tmp_path / ".alma").add("helena", Access("helena", projects=("shop",)))
        for _ in range(3):
            assert not any(anyio.run(ask, server.address, secret))
