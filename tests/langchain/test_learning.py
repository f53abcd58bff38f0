"""Learning changes what an agent does, and nothing but what was learned does."""

import re
from collections.abc import Sequence
from contextlib import suppress

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from alma import ALMA
from alma_langchain import ALMAMiddleware, tools_succeeded
from alma_langchain.testing import ScriptedChatModel
from scripted import TASK, call, invoke, only_run, runs, scripted, system_text

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
    warned = "\n".join(re.findall(r"Avoid: ([^.]*)", system_text(messages)))
    way = BLUE_GREEN if ROLLING in warned and BLUE_GREEN not in warned else ROLLING
    return call(way, str(len(messages)), service="auth")


def ended(alma: ALMA, count: int) -> list[str]:
    """How so many runs of the same task end, one after the other."""
    middleware = ALMAMiddleware(alma, agent="dev", outcome_from=tools_succeeded)
    agent = create_agent(ScriptedChatModel(script=decide), [rolling_update, blue_green], middleware=[middleware])
    for _ in range(count):
        with suppress(RuntimeError):
            invoke(agent)
    return [outcome for _, outcome in runs(alma)][-count:]


def test_after_two_failures_the_agent_is_warned_and_takes_the_other_way(alma: ALMA) -> None:
    assert ended(alma, 6) == ["failure", "failure", "success", "success", "success", "success"]
    learned = alma.retrieve(TASK, "dev")
    assert {rule.pattern for rule in learned.anti_patterns} == {'rolling_update(service="auth")'}
    assert {rule.better_alternative for rule in learned.anti_patterns} >= {'blue_green(service="auth")'}
    assert [rule.strategy for rule in learned.heuristics] == ['blue_green(service="auth")']


def test_with_its_memory_emptied_it_goes_on_failing(alma: ALMA) -> None:
    outcomes = []
    for _ in range(4):
        outcomes += ended(alma, 1)
        alma.forget(memory_ids=[memory.id for memory in alma.list_memories()])
    assert outcomes == ["failure"] * 4


def test_with_its_rules_exchanged_it_goes_on_failing(alma: ALMA) -> None:
    for _ in range(2):
        alma.learn("dev", TASK, "failure", f"{BLUE_GREEN}(service)", error_message="half of the pods stayed on the old image")
        alma.learn("dev", TASK, "success", f"{ROLLING}(service)")
    assert {rule.pattern for rule in alma.retrieve(TASK, "dev").anti_patterns} == {"blue_green(service)"}
    assert ended(alma, 1) == ["failure"]


def test_what_was_used_gains_and_what_was_passed_over_does_not(alma: ALMA) -> None:
    used = alma.add_heuristic("dev", TASK, "blue-green")
    other = alma.add_heuristic("dev", TASK, "by night")
    before = usefulness(alma)
    model = scripted(call(BLUE_GREEN, service="auth"), lambda messages: AIMessage(f"As [{tag_of(messages)}] says."))

    def tag_of(messages: Sequence[BaseMessage]) -> str:
        return re.findall(r"\[(H\d)\][^\n]*blue-green", system_text(messages))[0]

    middleware = ALMAMiddleware(alma, agent="dev", outcome_from=tools_succeeded)
    invoke(create_agent(model, [blue_green], middleware=[middleware]))
    after = usefulness(alma)
    assert only_run(alma).used == (used.id,)
    assert after[used.id] > before[used.id]
    assert after[other.id] <= before[other.id]


def usefulness(alma: ALMA) -> dict[str, float]:
    return {item.memory.id: item.factors.usefulness for item in alma.retrieve(TASK, "dev").recalled}
