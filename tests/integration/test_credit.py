"""What a run is credited with: the calls that did it, and no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.integration import ToolStep, strategy_of
from alma_integration.credit import tools_succeeded


def steps(*calls: tuple[str, bool | None]) -> list[ToolStep]:
    return [ToolStep(agent="a", tool=action.partition("(")[0], action=action, ok=ok, arguments={}) for action, ok in calls]


@pytest.mark.parametrize(
    ("calls", "credited"),
    [
        ([], None),
        ([("search", False)], None),
        ([("search", True), ("write", True)], "search, then write"),
        ([("search", True), ("search", True), ("write", True)], "search, then write"),
        ([("deploy(rolling)", False), ("deploy(blue)", True)], "deploy(blue)"),
        ([("check", True), ("deploy(rolling)", False), ("deploy(blue)", True)], "check, then deploy(blue)"),
        ([("deploy(rolling)", True), ("verify", False), ("deploy(blue)", True), ("verify", True)], "deploy(blue), then verify"),
        ([("read(a)", True), ("read(b)", False), ("read(c)", True)], "read(a), then read(c)"),
        ([("search", False), ("answer", True)], "answer"),
        ([("ask", None), ("answer", True)], "ask, then answer"),
    ],
)
def test_the_strategy_is_made_of_the_calls_that_did_it(calls: list[tuple[str, bool | None]], credited: str | None) -> None:
    assert strategy_of(steps(*calls)) == credited


@pytest.mark.parametrize("name", ["write_todos", "TodoWrite", "todo_write", "update_plan", "task", "Task"])
def test_planning_and_giving_work_to_a_sub_agent_is_no_part_of_a_strategy(name: str) -> None:
    given = {"description": "deploy it", "subagent_type": "deployer"} if name.casefold() == "task" else {"todos": ["deploy"]}
    plan = ToolStep(agent="a", tool=name, action=f"{name}(x)", ok=True, arguments=given)
    assert strategy_of([plan, *steps(("deploy(blue)", True)), plan]) == "deploy(blue)"
    assert strategy_of([plan]) is None


@pytest.mark.parametrize("name", ["task", "transfer_to_savings", "update_plan_price", "write_todo_app"])
def test_a_tool_that_only_sounds_like_planning_is_credited(name: str) -> None:
    assert strategy_of([ToolStep(agent="a", tool=name, action=name, ok=True, arguments={"id": 7})]) == name


def test_a_call_that_was_not_made_is_no_part_of_a_strategy() -> None:
    refused = ToolStep(agent="a", tool="drop", action="drop", ok=None, arguments={}, is_made=False)
    assert strategy_of([refused]) is None


@given(st.lists(st.tuples(st.sampled_from(["a(1)", "a(2)", "b(1)", "c"]), st.sampled_from([True, False, None])), max_size=12))
def test_no_failed_call_is_credited_unless_the_same_call_did_well_too(calls: list[tuple[str, bool | None]]) -> None:
    said = strategy_of(steps(*calls)) or ""
    did_well = {action for action, ok in calls if ok is not False}
    assert {part for part in said.split(", then ") if part} <= did_well


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [([], None), ([("a", None)], None), ([("a", False), ("a", True)], True), ([("a", True), ("b", False)], False)],
)
def test_the_last_call_of_each_tool_decides(calls: list[tuple[str, bool | None]], verdict: bool | None) -> None:
    assert tools_succeeded(steps(*calls)) is verdict
