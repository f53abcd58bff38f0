"""Which values of a tool's arguments are told: the short ones, and no secrets."""

import contextlib
from enum import Enum
from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool, tool

from alma import ALMA
from alma_langchain import (
    ALMACallbackHandler,
    ALMAMiddleware,
    tool_with_choices,
    tools_succeeded,
)
from scripted import TASK, call, invoke, scripted, steps

pytestmark = pytest.mark.any_version


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


def test_a_tool_whose_schema_is_plain_json_is_read_as_well(alma: ALMA) -> None:
    plain = {"type": "object", "properties": {"way": {"enum": ["1", "2"]}, "text": {"type": "string"}}}
    bare = StructuredTool.from_function(lambda **given: "done", name="bare", description="Bare.", args_schema=plain)
    learning = ALMAMiddleware(alma, agent="dev", action=tool_with_choices)
    invoke(create_agent(scripted(call("bare", way="1", text="2"), "Done."), [bare], middleware=[learning]))
    assert steps(alma) == [('bare(text, way="1")', True, None)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"user": "ann", "way": "rolling", "force": True}, 'deploy(force=true, user="ann", way="rolling")'),
        ({"user": "ann", "place": "north"}, 'deploy(place="north", user="ann")'),
        ({"user": "rolling", "either": "all", "tags": ["a"]}, 'deploy(either="all", tags, user="rolling")'),
        ({"user": "a" * 40, "place": None}, f'deploy(place, user="{"a" * 40}")'),
        ({"user": "a" * 41}, "deploy(user)"),
        ({"user": "two\nlines"}, "deploy(user)"),
    ],
)
def test_a_step_is_told_with_its_choices_and_short_values_and_without_others(
    alma: ALMA, given: dict[str, Any], told: str
) -> None:
    agent = create_agent(scripted(call("deploy", **given), "Done."), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")])
    invoke(agent)
    assert steps(alma) == [(told, True, None)]


@pytest.mark.parametrize("colour", [ALMAMiddleware, ALMACallbackHandler])
def test_a_way_that_is_any_text_tells_the_failed_one_from_the_good_one(alma: ALMA, colour: Any) -> None:
    @tool
    def ship(way: str) -> str:
        """Ships."""
        if way == "rolling":
            raise RuntimeError("502")
        return "done"

    memory = colour(alma, agent="dev", evaluator=tools_succeeded)
    middleware, callbacks = ([memory], []) if colour is ALMAMiddleware else ([], [memory])
    for way in ("blue-green", "rolling", "rolling", "rolling"):
        agent = create_agent(scripted(call("ship", way=way), "Done."), [ship], middleware=middleware)
        with contextlib.suppress(RuntimeError):
            invoke(agent, config={"callbacks": callbacks})
    assert '[A1] ship(way="rolling"): failed 3 of 3 times' in (told := alma.retrieve(TASK, "dev").to_prompt())
    assert '[S1] ship(way="blue-green"): worked 1 of 1' in told
    assert "[A2]" not in told


def test_what_may_not_be_told_can_be_left_to_the_choices(alma: ALMA) -> None:
    learning = ALMAMiddleware(alma, agent="dev", action=tool_with_choices)
    invoke(create_agent(scripted(call("deploy", user="ann", way="rolling"), "Done."), [deploy], middleware=[learning]))
    assert steps(alma) == [('deploy(user, way="rolling")', True, None)]
