"""Which tools there are, and how much of a model's context they take."""

import json
from inspect import signature

import pytest
from mcp.client import Client

from alma import ALMA
from alma.errors import ConfigurationError
from alma.text import estimate_tokens
from alma_mcp import create_server
from alma_mcp.tools import CORE, TOOLS, in_profile

ISSUED = (
    "get_self_model update_self_model alma_wakeup alma_handoff alma_checkpoint alma_resume alma_merge_states alma_workflow_learn "
    "alma_link_artifact alma_get_artifacts alma_cleanup_checkpoints alma_retrieve_scoped "
    "alma_retrieve alma_learn alma_add_preference alma_add_knowledge alma_forget alma_stats alma_health alma_record_usage "
    "alma_record_feedback alma_add_anti_pattern alma_check alma_strategies alma_assess alma_explain alma_settle alma_history alma_undo "
    "alma_consolidate alma_reflect query_memory"
)

pytestmark = [pytest.mark.any_version, pytest.mark.anyio]


@pytest.mark.parametrize(
    ("profile", "most_tools", "most_tokens"), [("core", 7, 1500), ("self", 7, 1700), ("workflow", 10, 2000), ("all", 32, 7000)]
)
async def test_a_profile_takes_little_of_a_models_context(alma: ALMA, profile: str, most_tools: int, most_tokens: int) -> None:
    async with Client(create_server(alma, profile=profile)) as client:
        listed = [tool.model_dump(by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools]
    shown = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in listed]
    whole, model = (estimate_tokens(json.dumps(each, separators=(",", ":"))) for each in (listed, shown))
    print(f"{profile}, {len(listed)} tools: {whole} tokens as listed, {model} of them names, descriptions and arguments")
    assert len(listed) <= most_tools
    assert model <= whole <= most_tokens


def test_the_default_is_the_core_profile() -> None:
    assert signature(create_server).parameters["profile"].default == "core"


async def test_every_tool_says_when_to_use_it_and_what_it_may_do(alma: ALMA) -> None:
    async with Client(create_server(alma, profile="all")) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == list(TOOLS)
    assert [tool.name for tool in tools if not (tool.description or "").startswith("Use ")] == []
    assert [tool.name for tool in tools if not tool.title or not tool.output_schema] == []
    assert [tool.name for tool in tools if tool.annotations.open_world_hint is not False] == []
    destructive = [tool.name for tool in tools if tool.annotations.destructive_hint]
    assert destructive == ["alma_cleanup_checkpoints", "alma_forget", "alma_consolidate", "alma_undo"]
    assert [
        tool.name for tool in tools if tool.annotations.read_only_hint and tool.annotations.destructive_hint is not None
    ] == []


async def test_no_schema_has_titles_nulls_or_hidden_arguments(alma: ALMA) -> None:
    async with Client(create_server(alma, profile="all")) as client:
        tools = (await client.list_tools()).tools
    told = json.dumps([[tool.input_schema, tool.output_schema] for tool in tools])
    assert [word for word in ('"title"', "null", "anyOf", "x-alma", "$ref", "memory_type") if word in told] == []


def test_the_tools_of_the_published_interface_are_there() -> None:
    assert set(TOOLS) == set(ISSUED.split())


def test_a_profile_may_be_a_list() -> None:
    assert [spec.name for spec in in_profile("alma_stats, alma_retrieve")] == ["alma_stats", "alma_retrieve"]
    assert [spec.name for spec in in_profile(["core", "alma_undo"])] == [*CORE, "alma_undo"]


@pytest.mark.parametrize("profile", ["cor", "alma_retrive", "", "core,,"], ids=["cor", "alma_retrive", "empty", "trailing"])
def test_an_unknown_profile_is_an_error(profile: str) -> None:
    with pytest.raises(ConfigurationError, match="there is no profile or tool"):
        in_profile(profile)


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'alma_retrieve'"):
        in_profile("alma_retreive")
