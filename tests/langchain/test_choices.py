"""Which values of a tool's arguments are told: those that the tool lists itself."""

from enum import Enum
from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool, tool

from alma import ALMA
from alma_langchain import ALMACallbackHandler, ALMAMiddleware, ToolUse, tool_with_arguments
from alma_langchain.choices import choices_of
from scripted import call, invoke, scripted, steps


class Place(Enum):
    NORTH = "north"
    SOUTH = "south"


@tool
def deploy(
    user: str,
    way: Literal["rolling", "blue-green"] = "rolling",
    place: Place | None = None,
    force: bool = False,
    kind: Literal["web"] = "web",
    either: Literal["all"] | str = "all",
    tags: list[str] | None = None,
) -> str:
    """Deploys."""
    return "done"


def test_a_tool_lists_what_is_literal_or_of_an_enum_and_nothing_that_may_be_anything() -> None:
    assert choices_of(deploy) == {"way": ["rolling", "blue-green"], "place": ["north", "south"], "kind": ["web"]}
    plain = {"type": "object", "properties": {"way": {"enum": ["a", "b"]}, "text": {"type": "string"}}}
    bare = StructuredTool.from_function(lambda **given: "done", name="bare", description="Bare.", args_schema=plain)
    assert choices_of(bare) == {"way": ["a", "b"]}
    assert choices_of(None) == {}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"user": "ann", "way": "rolling", "force": True}, 'deploy(force=true, user, way="rolling")'),
        ({"user": "ann", "place": "north"}, 'deploy(place="north", user)'),
        ({"user": "rolling", "either": "all", "tags": ["a"]}, "deploy(either, tags, user)"),
    ],
)
def test_a_step_is_told_with_its_choices_and_without_other_values(alma: ALMA, given: dict[str, Any], told: str) -> None:
    agent = create_agent(scripted(call("deploy", **given), "Done."), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")])
    invoke(agent)
    assert steps(alma) == [(told, True, None)]


def test_a_value_that_the_tool_does_not_list_is_not_told(alma: ALMA) -> None:
    agent = create_agent(
        scripted(call("deploy", way="hunter2"), "Done."), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")]
    )
    invoke(agent)
    ((action, ok, _),) = steps(alma)
    assert (action, ok) == ("deploy(way)", False)


def test_a_handler_tells_true_and_false_alone(alma: ALMA) -> None:
    agent = create_agent(scripted(call("deploy", user="ann", way="rolling", force=True), "Done."), [deploy])
    invoke(agent, config={"callbacks": [ALMACallbackHandler(alma, agent="dev")]})
    assert steps(alma) == [("deploy(force=true, user, way)", True, None)]


def test_all_values_are_told_where_that_is_wanted() -> None:
    use = ToolUse("move", {"where": "eu-north", "fast": False})
    assert tool_with_arguments(use) == 'move(fast=false, where="eu-north")'
    assert tool_with_arguments(ToolUse("look", {})) == "look"
