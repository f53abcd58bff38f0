"""Calls of the tools with arguments that are none, on a real store: an error of the tool, and nothing stored."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from alma import ALMA
from alma.errors import StorageError
from alma_access.serving.opening import Opening
from alma_mcp import create_server
from alma_mcp.tools import TOOLS
from mcp_servers import CALLS_OF_AGENTS, CALLS_OF_NO_AGENT, answer, make_project, refusal

pytestmark = pytest.mark.anyio

GOOD = CALLS_OF_AGENTS | CALLS_OF_NO_AGENT


@pytest.fixture(scope="module")
def alma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ALMA]:
    with ALMA.from_config(make_project(tmp_path_factory.mktemp("shop"))) as opened:
        yield opened


def test_every_tool_is_called() -> None:
    assert set(GOOD) == set(TOOLS) - {"alma_health"}


WRONG: dict[str, list[Any]] = {
    "string": [{"a": 1}, 5, "a\x00b"],
    "integer": ["many", 10**40, -(10**40), 1.5],
    "number": ["many", -1, 1e300],
    "boolean": ["perhaps"],
    "array": ["a text", [5], [[]]],
    "object": ["a text", []],
}
"""What is no value of an argument, by the type in its schema."""


@pytest.mark.parametrize("tool", GOOD)
async def test_an_argument_of_another_kind_is_refused_and_nothing_is_stored(alma: ALMA, tool: str) -> None:
    whole = {**GOOD[tool], **({} if tool in CALLS_OF_NO_AGENT else {"agent": "helena"})}
    before = alma.get_stats().journal_records
    async with Client(create_server(alma, profile=[tool])) as client:
        (listed,) = (await client.list_tools()).tools
        for name, schema in listed.input_schema["properties"].items():
            for wrong in WRONG[schema["type"]]:
                if (name, wrong) == ("max_tokens", 10**40):
                    continue  # a budget has no upper end
                said = refusal(await client.call_tool(tool, {**whole, name: wrong}))
                assert "Traceback" not in said, (name, wrong)
                assert len(said) < 2_000, (name, wrong)
    assert alma.get_stats().journal_records == before


@pytest.mark.parametrize("tool", sorted(CALLS_OF_AGENTS))
async def test_an_agent_name_that_is_none_or_deceives_the_eye_is_refused(alma: ALMA, tool: str) -> None:
    before = alma.get_stats().journal_records
    async with Client(create_server(alma, profile=[tool])) as client:
        for agent in ("helena\u202e", "hel\x1bena", "x" * 201, " ", "", "a\nb"):
            refusal(await client.call_tool(tool, {**GOOD[tool], "agent": agent}))
    assert alma.get_stats().journal_records == before


async def test_a_memory_that_cannot_be_opened_is_told_by_the_state(config: Path) -> None:
    is_broken = [True]

    def open_it() -> ALMA:
        if any(is_broken):
            raise StorageError("the disk is read-only")
        return ALMA.from_config(config)

    opening = Opening(open_it)
    async with Client(create_server(opening, profile="all")) as client:
        assert "read-only" in refusal(await client.call_tool("alma_stats"))
        state = answer(await client.call_tool("alma_health"))
        assert (state["status"], state["error"]) == ("failed", "the disk is read-only")
        is_broken.clear()
        answer(await client.call_tool("alma_stats"))
        assert answer(await client.call_tool("alma_health"))["status"] == "ok"
    opening.close()
