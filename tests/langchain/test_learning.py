"""Learning changes what an agent does, and nothing but what was learned does."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolErrorMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from alma import ALMA
from alma_langchain import ALMAMiddleware, tools_succeeded
from alma_langchain.testing import ScriptedChatModel
from facade import ManualClock
from scripted import TASK, call, invoke, prompt_text, runs, scripted

pytestmark = pytest.mark.any_version

ROLLING, BLUE_GREEN = "rolling_update", "blue_green"


@tool
def rolling_update(service: str) -> str:
    """Replaces pods one by one."""
    raise RuntimeError("half of the pods stayed on the old image")


@tool
def blue_green(service: str) -> str:
    """Starts new pods beside the old ones, then switches."""
    return "switched"


def decide(messages: Sequence[BaseMessage]) -> AIMessage:
    """Updates in the rolling way, unless its notes warn of that; then it takes the other way, unless they warn of that as well."""
    if messages[-1].type == "tool":
        return AIMessage("Done.")
    warned = "\n".join(re.findall(r"\[A\d+\] (.*): failed \d+ of \d+", prompt_text(messages)))
    way = BLUE_GREEN if ROLLING in warned and BLUE_GREEN not in warned else ROLLING
    return call(way, str(len(messages)), service="auth")


def ended(alma: ALMA, count: int) -> list[str]:
    """How so many runs of the same task end, one after the other."""
    middleware = ALMAMiddleware(alma, agent="dev", evaluator=tools_succeeded)
    agent = create_agent(ScriptedChatModel(script=decide), [rolling_update, blue_green], middleware=[middleware])
    for _ in range(count):
        with suppress(RuntimeError):
            invoke(agent)
    return [outcome for _, outcome in runs(alma)][-count:]


def test_after_two_failures_the_agent_is_warned_and_takes_the_other_way(alma: ALMA) -> None:
    assert ended(alma, 6) == ["failure", "failure", "success", "success", "success", "success"]
    learned = alma.retrieve(TASK, "dev")
    assert {rule.pattern for rule in learned.anti_patterns} == {"rolling_update(service)"}
    assert {rule.better_alternative for rule in learned.anti_patterns} == {None}  # that needs successes on two tasks
    assert [rule.strategy for rule in learned.heuristics] == ["blue_green(service)"]


def test_one_failure_is_told_as_what_happened_and_two_as_a_warning(alma: ALMA) -> None:
    def told() -> tuple[bool, bool]:
        """Whether the next run is shown the failure, and whether it is warned."""
        notes = alma.retrieve(TASK, "dev").to_prompt()
        is_shown = "[O1] Failed" in notes or "no strategy named: failed 2 of 2 times" in notes
        return is_shown, "[A1] rolling_update(service): failed 2 of 2 times" in notes

    assert ended(alma, 1) == ["failure"]
    assert told() == (True, False)
    assert ended(alma, 1) == ["failure"]
    assert told() == (True, True)


def test_after_one_run_that_failed_twice_in_one_way_the_next_is_warned_and_takes_the_other(alma: ALMA) -> None:
    def stubborn(messages: Sequence[BaseMessage]) -> AIMessage:
        """As `decide`, but tries once more what did not work."""
        tried = [message for message in messages if message.type == "tool"]
        return decide(messages[:-1]) if len(tried) == 1 and tried[0].status == "error" else decide(messages)

    told = iter([f"{error} of the old pods answered no more" for error in ("half", "all")])

    @tool("rolling_update")
    def failing(service: str) -> str:
        """Replaces pods one by one."""
        raise RuntimeError(next(told))

    tidy = ToolErrorMiddleware(on_error=lambda error, request: str(error))
    middleware = ALMAMiddleware(alma, agent="dev", evaluator=tools_succeeded)
    model = ScriptedChatModel(script=stubborn)
    agent = create_agent(model, [failing, blue_green], middleware=[middleware, tidy])
    invoke(agent)
    assert [rule.pattern for rule in alma.retrieve(TASK, "dev").anti_patterns] == ["rolling_update(service)"]
    assert not alma.check("dev", "rolling_update(service)", task=TASK).is_clear
    invoke(agent)
    assert [outcome for _, outcome in runs(alma)] == ["failure", "success"]
    assert "[A1] rolling_update(service)" in prompt_text(model.prompts[-1])


def test_with_its_memory_emptied_it_goes_on_failing(alma: ALMA) -> None:
    outcomes = []
    for _ in range(4):
        outcomes += ended(alma, 1)
        alma.forget(memory_ids=[memory.id for memory in alma.list_memories()])
    assert outcomes == ["failure"] * 4


@pytest.mark.parametrize("is_exchanged", [False, True], ids=["as it was", "exchanged"])
def test_what_it_really_learned_makes_it_do_well_and_exchanged_makes_it_fail(
    alma: ALMA, tmp_path: Path, is_exchanged: bool
) -> None:
    assert ended(alma, 6) == ["failure", "failure", "success", "success", "success", "success"]
    learned: list[Any] = alma.list_memories("outcome", newest_first=False)
    other_way = {ROLLING: BLUE_GREEN, BLUE_GREEN: ROLLING}
    with ALMA.open(tmp_path / "other", project_id="other", embedding_provider="hash") as other:
        for each in (outcome for outcome in learned if outcome.strategy_used):
            way, arguments = each.strategy_used.split("(")
            told = f"{other_way[way] if is_exchanged else way}({arguments}"
            other.learn("dev", each.task_description, each.outcome, told, error_message=each.error_message)
        warned = f"{BLUE_GREEN if is_exchanged else ROLLING}(service)"
        assert {rule.pattern for rule in other.retrieve(TASK, "dev").anti_patterns} == {warned}
        assert ended(other, 4) == ["failure" if is_exchanged else "success"] * 4


def test_the_score_of_what_was_used_rises_and_that_of_what_was_passed_over_does_not(tmp_path: Path) -> None:
    def scores(said: str) -> dict[str, float]:
        """After a run in which the model said this, by strategy."""
        with ALMA.open(tmp_path / said, project_id="shop", embedding_provider="hash", clock=ManualClock()) as alma:
            for strategy in ("blue-green", "by night"):
                alma.add_heuristic("dev", TASK, strategy)

            def cite(messages: Sequence[BaseMessage]) -> AIMessage:
                (tag,) = re.findall(r"\[(H\d)\][^\n]*blue-green", prompt_text(messages))
                return AIMessage(said.replace("H", tag))

            middleware = ALMAMiddleware(alma, agent="dev", evaluator=tools_succeeded)
            invoke(create_agent(scripted(call(BLUE_GREEN, service="auth"), cite), [blue_green], middleware=[middleware]))
            assert runs(alma) == [("dev", "success")]
            return {rule.memory.strategy: rule.score for rule in alma.retrieve(TASK, "dev").recalled if rule.tag[0] == "H"}

    cited, silent = scores("As [H] says."), scores("Done.")
    assert cited["blue-green"] > silent["blue-green"]
    assert cited["by night"] < silent["by night"]
