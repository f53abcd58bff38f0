"""Calls of the tools with arguments that are none, on a real store: an error of the tool, and nothing stored."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from alma import ALMA
from alma.errors import StorageError
from alma_mcp import create_server
from alma_mcp.opening import Opening
from alma_mcp.tools import TOOLS
from mcp_servers import answer, make_project, refusal

pytestmark = pytest.mark.anyio

GOOD: dict[str, dict[str, Any]] = {
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
    "alma_undo": {"to": 0},
    "alma_checkpoint": {"workflow_id": "w", "state": {}},
    "alma_resume": {"workflow_id": "w"},
    "alma_merge_states": {"workflow_id": "w", "states": [{}]},
    "alma_link_artifact": {"workflow_id": "w", "artifact_type": "code", "ref": "r"},
    "alma_get_artifacts": {"workflow_id": "w"},
    "alma_cleanup_checkpoints": {"workflow_id": "w"},
}
"""A call of each tool, without its agent."""

OF_NO_AGENT = {name for name in GOOD if name.endswith(("checkpoint", "checkpoints", "resume", "states", "artifact", "artifacts"))}


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
    whole = {**GOOD[tool], **({} if tool in OF_NO_AGENT else {"agent": "helena"})}
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


@pytest.mark.parametrize("tool", sorted(set(GOOD) - OF_NO_AGENT))
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
