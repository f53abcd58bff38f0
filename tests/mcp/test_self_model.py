"""The self-model: merged, not overwritten; one for each agent and user."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client

from alma import ALMA
from alma.errors import ValidationError
from alma_mcp import Access, create_server
from alma_mcp.self_model import MOST_NODES, Graph, NewNode, SelfModel, Update, merged
from mcp_servers import answer, refusal

pytestmark = pytest.mark.any_version

AT = "2026-01-01T00:00:00+00:00"
NAMES = st.sampled_from(["shop", "Shop", "api", "tests"])
NODES = st.builds(
    NewNode,
    type=st.sampled_from(["User", "Project", "Goal", "Tool"]),
    name=NAMES,
    facts=st.dictionaries(st.sampled_from(["language", "state"]), st.sampled_from(["Go", "Rust", "done"]), max_size=2),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def call(alma: ALMA, tool: str, access: Access | None = None, **arguments: Any) -> Any:
    async with Client(create_server(alma, profile="self", access=access)) as client:
        return await client.call_tool(tool, arguments)


@pytest.mark.anyio
async def test_facts_are_merged_and_a_changed_one_keeps_its_former_value_and_its_source(alma: ALMA) -> None:
    shop = {"type": "Project", "name": "shop", "facts": {"language": "Go", "host": "local"}}
    await call(alma, "update_self_model", agent="helena", nodes=[shop])
    await call(alma, "update_self_model", agent="helena", nodes=[{**shop, "name": "Shop", "facts": {"language": "Rust"}}])
    (node,) = answer(await call(alma, "get_self_model", agent="helena"))["nodes"]
    assert {name: fact["value"] for name, fact in node["facts"].items()} == {"language": "Rust", "host": "local"}
    assert (node["facts"]["language"]["former"], node["facts"]["language"]["by"]) == (["Go"], "helena")


@pytest.mark.anyio
async def test_links_join_known_nodes_and_leave_with_them(alma: ALMA) -> None:
    nodes = [{"type": "User", "name": "ann"}, {"type": "Project", "name": "shop"}]
    link = {"source": "User:ann", "relation": "works on", "target": "project:SHOP"}
    linked = answer(await call(alma, "update_self_model", agent="helena", nodes=nodes, links=[link, link]))
    assert [(each["source"], each["target"]) for each in linked["links"]] == [("User:ann", "Project:shop")]
    left = answer(await call(alma, "update_self_model", agent="helena", remove=["Project:shop"]))
    assert ([node["name"] for node in left["nodes"]], left["links"]) == (["ann"], [])


@pytest.mark.anyio
async def test_a_link_to_an_unknown_node_is_refused_and_nothing_is_stored(alma: ALMA) -> None:
    link = {"source": "User:ann", "relation": "owns", "target": "Project:shop"}
    refused = refusal(
        await call(alma, "update_self_model", agent="helena", nodes=[{"type": "User", "name": "ann"}], links=[link])
    )
    assert "no node 'Project:shop'" in refused
    assert answer(await call(alma, "get_self_model", agent="helena"))["nodes"] == []


@pytest.mark.anyio
async def test_the_user_s_preferences_are_nodes_with_their_memory_s_id(alma: ALMA) -> None:
    kept = alma.add_user_preference("ann", "code_style", "Use strict mode")
    (node,) = answer(await call(alma, "get_self_model", agent="helena", user_id="ann"))["nodes"]
    assert (node["type"], node["memory_id"], node["facts"]["preference"]["value"]) == ("Preference", kept.id, "Use strict mode")


@pytest.mark.anyio
async def test_neither_another_agent_nor_another_user_sees_it(alma: ALMA) -> None:
    await call(alma, "update_self_model", agent="helena", user_id="ann", nodes=[{"type": "Goal", "name": "ship"}])
    own = answer(await call(alma, "get_self_model", agent="helena", user_id="ann"))["nodes"]
    assert [node["name"] for node in own] == ["ship"]
    for agent, user in (("victor", "ann"), ("helena", "bob"), ("helena", None)):
        assert answer(await call(alma, "get_self_model", agent=agent, user_id=user))["nodes"] == []
    bound = Access(agent="helena", user_id="bob")
    assert "bob" in refusal(await call(alma, "get_self_model", bound, user_id="ann"))


@pytest.mark.anyio
async def test_it_leaves_with_its_user(alma: ALMA) -> None:
    await call(alma, "update_self_model", agent="helena", user_id="ann", nodes=[{"type": "Goal", "name": "ship"}])
    alma.forget_user("ann")
    assert answer(await call(alma, "get_self_model", agent="helena", user_id="ann"))["nodes"] == []


def test_writers_at_the_same_time_lose_nothing(alma: ALMA) -> None:
    def add(number: int) -> Graph:
        return SelfModel(alma, "helena", None).update(Update(nodes=[NewNode(type="Tool", name=f"tool {number}")]))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(24)))
    assert len(SelfModel(alma, "helena", None).read().nodes) == 24


def test_a_secret_in_a_fact_is_replaced_and_read_back(alma: ALMA) -> None:
    key = "ghp_" + "a1B2" * 9
    model = SelfModel(alma, "helena", None)
    model.update(Update(nodes=[NewNode(type="Tool", name="git", facts={"token": key})]))
    assert key not in model.read().model_dump_json()
    (node,) = model.read().nodes
    assert node.facts["token"].value.startswith("[secret:github_token:")


def test_a_graph_that_becomes_too_large_is_refused() -> None:
    nodes = [NewNode(type="Tool", name=f"tool {number}") for number in range(MOST_NODES + 1)]
    with pytest.raises(ValidationError, match="at most 200"):
        merged(Graph(), Update(nodes=nodes), by="helena", at=AT)


@given(st.lists(NODES, max_size=6), st.lists(NODES, max_size=6))
def test_updates_one_after_another_or_at_once_give_the_same_values(first: list[NewNode], second: list[NewNode]) -> None:
    def values(graph: Graph) -> set[tuple[str, str, str]]:
        return {(node.key, name, fact.value) for node in graph.nodes for name, fact in node.facts.items()}

    one = merged(Graph(), Update(nodes=first), by="a", at=AT)
    assert values(merged(one, Update(nodes=second), by="a", at=AT)) == values(
        merged(Graph(), Update(nodes=[*first, *second]), by="a", at=AT)
    )
    assert merged(one, Update(nodes=first[-1:]), by="b", at="later") == one or len(first) > 1
