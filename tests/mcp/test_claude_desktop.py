"""The example for Claude Desktop: its entry starts the server, its dialogue runs as written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client

from alma import ALMA

EXAMPLE = Path(__file__).parents[2] / "examples" / "claude_desktop"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_dialogue_runs_and_another_agent_of_the_user_knows_what_was_noted(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "dialogue.py")], cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "User:me prefers Preference:concise replies" in done.stdout


@pytest.mark.anyio
async def test_the_entry_starts_a_server_with_the_tools_that_the_instructions_name(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"project_id: me\nembedding_provider: hash\nstorage_dir: {tmp_path}\n", "utf-8")
    ALMA.from_config(config).close()
    entry = json.loads((EXAMPLE / "claude_desktop_config.json").read_text("utf-8"))["mcpServers"]["alma"]
    arguments = [str(config) if one.endswith("config.yaml") else one for one in entry["args"]]
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments))) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
    instructions = (EXAMPLE / "instructions.md").read_text("utf-8")
    named = {word.strip("`:,.") for word in instructions.split() if word.startswith("`") and "_" in word} - {"new_data"}
    assert named == {"get_self_model", "update_self_model", "query_memory"}
    assert named <= tools
