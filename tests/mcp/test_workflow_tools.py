"""Checkpoints, products and results of workflows, wake-up and hand-off, by their tools."""

from typing import Any

import pytest
from mcp.client import Client

from alma import ALMA
from alma.types.kinds import VerdictSource
from alma_mcp import Access, create_server
from mcp_servers import answer, refusal

pytestmark = [pytest.mark.any_version, pytest.mark.anyio]

MARIA = Access(agent="helena", user_id="maria")
OTTO = Access(agent="helena", user_id="otto")


async def call(alma: ALMA, tool: str, access: Access | None = None, **arguments: Any) -> Any:
    async with Client(create_server(alma, profile="workflow", access=access)) as client:
        return await client.call_tool(tool, arguments)


async def test_a_workflow_goes_on_from_its_newest_checkpoint(alma: ALMA) -> None:
    for step in (1, 2):
        await call(alma, "alma_checkpoint", workflow_id="deploy", state={"step": step}, node=f"step {step}")
    found = answer(await call(alma, "alma_resume", workflow_id="deploy"))
    assert (found["found"], found["state"], found["node"]) == (True, {"step": 2}, "step 2")
    assert answer(await call(alma, "alma_resume", workflow_id="deploy", node="step 1"))["state"] == {"step": 1}
    assert answer(await call(alma, "alma_resume", workflow_id="unknown"))["found"] is False


async def test_the_newest_states_of_branches_are_merged(alma: ALMA) -> None:
    for branch, files in (("a", ["x"]), ("b", ["y"])):
        await call(alma, "alma_checkpoint", workflow_id="deploy", state={"files": files}, branch=branch)
    merged = answer(await call(alma, "alma_merge_states", workflow_id="deploy", reducer="merge_lists"))
    assert sorted(merged["state"]["files"]) == ["x", "y"]


async def test_a_state_too_large_is_a_clear_error(alma: ALMA) -> None:
    assert "at most" in refusal(await call(alma, "alma_checkpoint", workflow_id="deploy", state={"x": "y" * 1_100_000}))


async def test_products_are_listed(alma: ALMA) -> None:
    await call(alma, "alma_link_artifact", workflow_id="deploy", artifact_type="code", ref="src/main.py")
    listed = answer(await call(alma, "alma_get_artifacts", workflow_id="deploy"))
    assert listed["artifacts"] == [{"artifact_type": "code", "ref": "src/main.py"}]


async def test_a_workflow_s_result_is_the_agent_s_own_word_and_is_found_within_the_workflow(alma: ALMA) -> None:
    told = {"workflow_id": "deploy", "result": "timeout", "summary": "Deploy the auth service"}
    stored = answer(await call(alma, "alma_workflow_learn", agent="helena", **told))
    assert alma.get(stored["id"]).verdict_source is VerdictSource.AGENT
    asked = {"query": "Deploy the auth service", "agent": "helena", "scope": "workflow_only"}
    for workflow, ids in (("deploy", [stored["id"]]), ("other", [])):
        found = answer(await call(alma, "alma_retrieve_scoped", workflow_id=workflow, **asked))
        assert [each["id"] for each in found["memories"]] == ids


async def test_a_hand_off_is_shown_to_the_next_session_alone_of_this_agent_and_user(alma: ALMA) -> None:
    said = {"goal": "Complete the tests", "last_action": "finished OAuth", "next_steps": ["refresh tokens"]}
    answer(await call(alma, "alma_handoff", MARIA, **said))
    assert "refresh tokens" in answer(await call(alma, "alma_wakeup", MARIA))["notes"]
    assert "refresh tokens" not in answer(await call(alma, "alma_wakeup", OTTO))["notes"]
    assert "refresh tokens" not in answer(await call(alma, "alma_wakeup", agent="victor"))["notes"]


async def test_the_wake_up_text_is_a_resource(alma: ALMA) -> None:
    answer(await call(alma, "alma_handoff", Access(agent="helena"), goal="Tests", last_action="finished OAuth"))
    async with Client(create_server(alma)) as client:
        (content,) = (await client.read_resource("alma://wakeup/helena")).contents
    assert "finished OAuth" in content.text


async def test_a_user_s_workflow_is_no_other_user_s(alma: ALMA) -> None:
    await call(alma, "alma_checkpoint", MARIA, workflow_id="deploy", state={"secret": "plan"})
    assert answer(await call(alma, "alma_resume", OTTO, workflow_id="deploy"))["found"] is False
    assert "reaches all users" in refusal(await call(alma, "alma_cleanup_checkpoints", OTTO))
