"""The self-model through MCP: merged, not overwritten; one for a user, or for an agent that works for none."""

from typing import Any

import pytest
from mcp.client import Client

from alma import ALMA
from alma_mcp import Access, create_server
from mcp_servers import answer, refusal

pytestmark = [pytest.mark.any_version, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def call(alma: ALMA, tool: str, access: Access | None = None, **arguments: Any) -> Any:
    async with Client(create_server(alma, profile="self", access=access)) as client:
        return await client.call_tool(tool, arguments)


async def test_facts_are_merged_and_a_changed_one_keeps_its_former_value_and_its_source(alma: ALMA) -> None:
    shop = {"type": "Project", "name": "shop", "facts": {"language": "Go", "host": "local"}}
    await call(alma, "update_self_model", agent="helena", nodes=[shop])
    await call(alma, "update_self_model", agent="helena", nodes=[{**shop, "name": "Shop", "facts": {"language": "Rust"}}])
    (node,) = answer(await call(alma, "get_self_model", agent="helena"))["nodes"]
    assert {name: fact["value"] for name, fact in node["facts"].items()} == {"language": "Rust", "host": "local"}
    assert (node["facts"]["language"]["former"], node["facts"]["language"]["by"]) == (["Go"], "helena")


async def test_links_join_known_nodes_and_leave_with_them(alma: ALMA) -> None:
    nodes = [{"type": "User", "name": "ann"}, {"type": "Project", "name": "shop"}]
    link = {"source": "User:ann", "relation": "works on", "target": "project:SHOP"}
    linked = answer(await call(alma, "update_self_model", agent="helena", nodes=nodes, links=[link, link]))
    assert [(each["source"], each["relation"], each["target"]) for each in linked["links"]] == [
        ("User:ann", "works on", "Project:shop")
    ]
    left = answer(await call(alma, "update_self_model", agent="helena", remove=["Project:shop"]))
    assert ([node["name"] for node in left["nodes"]], left["links"]) == (["ann"], [])


async def test_a_link_to_an_unknown_node_is_refused_and_nothing_is_stored(alma: ALMA) -> None:
    link = {"source": "User:ann", "relation": "owns", "target": "Project:shop"}
    refused = refusal(
        await call(alma, "update_self_model", agent="helena", nodes=[{"type": "User", "name": "ann"}], links=[link])
    )
    assert "no node 'Project:shop'" in refused
    assert answer(await call(alma, "get_self_model", agent="helena"))["nodes"] == []


async def test_a_sentence_about_a_taste_becomes_an_edge_and_the_preference_of_prompts(alma: ALMA) -> None:
    said = answer(await call(alma, "update_self_model", agent="helena", user_id="ann", new_data=["User prefers concise replies"]))
    assert [(each["source"], each["relation"], each["target"]) for each in said["links"]] == [
        ("User:ann", "prefers", "Preference:concise replies")
    ]
    notes = answer(await call(alma, "alma_retrieve", agent="helena", user_id="ann", task="Write a reply"))
    assert "prefers concise replies" in notes["notes"]


async def test_the_user_s_preferences_are_nodes_with_their_memory_s_id(alma: ALMA) -> None:
    kept = alma.add_user_preference("ann", "code_style", "Use strict mode")
    user, node = answer(await call(alma, "get_self_model", agent="helena", user_id="ann"))["nodes"]
    assert (user["type"], user["name"]) == ("User", "ann")
    assert (node["type"], node["memory_id"], node["facts"]["preference"]["value"]) == ("Preference", kept.id, "Use strict mode")


async def test_what_one_agent_noted_of_a_user_another_agent_of_that_user_sees_and_no_other_user(alma: ALMA) -> None:
    await call(alma, "update_self_model", agent="helena", user_id="ann", nodes=[{"type": "Goal", "name": "ship"}])
    seen = answer(await call(alma, "get_self_model", agent="victor", user_id="ann"))["nodes"]
    assert [node["name"] for node in seen] == ["ship"]
    for agent, user in (("helena", "bob"), ("helena", None)):
        assert answer(await call(alma, "get_self_model", agent=agent, user_id=user))["nodes"] == []
    bound = Access(agent="helena", user_id="bob")
    assert "bob" in refusal(await call(alma, "get_self_model", bound, user_id="ann"))


async def test_a_question_is_answered_from_the_self_model_too(alma: ALMA) -> None:
    await call(
        alma, "update_self_model", agent="helena", nodes=[{"type": "Project", "name": "shop", "facts": {"language": "Go"}}]
    )
    found = answer(await call(alma, "query_memory", agent="helena", question="Which language has the shop?"))
    assert "shop: language Go" in found["notes"]
    other = answer(await call(alma, "query_memory", agent="victor", question="Which language has the shop?"))
    assert "Go" not in other["notes"]


async def test_it_leaves_with_its_user(alma: ALMA) -> None:
    await call(alma, "update_self_model", agent="helena", user_id="ann", nodes=[{"type": "Goal", "name": "ship"}])
    alma.forget_user("ann")
    assert answer(await call(alma, "get_self_model", agent="helena", user_id="ann"))["nodes"] == []
