"""Several agents in one run: each is shown what it knows, and each has an episode of its own."""

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.workflow import Context
from workflows.context.state_store import UnserializableKeyWarning

from alma import ALMA
from alma_llamaindex import ALMALearner, ALMAMemory, RunReport
from llama_runs import TASK, agent_of, bad, episodes, ok, run, steps, whole_text


def to(name: str) -> list[tuple[str, dict[str, Any]]]:
    return [("handoff", {"to_agent": name, "reason": "it knows more"})]


def two_agents(first: list[Any], second: list[Any]) -> tuple[AgentWorkflow, FunctionAgent, FunctionAgent]:
    a, b = agent_of(first, name="triage", tools=[ok]), agent_of(second, name="fixer", tools=[ok, bad])
    return AgentWorkflow(agents=[a, b], root_agent="triage"), a, b


@pytest.fixture
def taught(alma: ALMA) -> ALMA:
    for name in ("triage", "front-desk", "fixer"):
        alma.add_heuristic(name, TASK, f"the way of {name}")
    return alma


def test_in_its_turn_an_agent_is_shown_what_it_knows(taught: ALMA, retrievals: list[tuple[str, str]]) -> None:
    workflow, triage, fixer = two_agents([[("ok", {})], to("fixer")], [[("bad", {})], "done"])
    run(workflow, ALMAMemory.from_defaults(taught, agent="triage"))
    assert retrievals == [("triage", TASK), ("fixer", TASK)]
    assert ["the way of triage" in whole_text(prompt) for prompt in triage.llm.prompts] == [True, True]
    assert ["the way of fixer" in whole_text(prompt) for prompt in triage.llm.prompts] == [False, False]
    assert ["the way of fixer" in whole_text(prompt) for prompt in fixer.llm.prompts] == [True, True]
    assert ["the way of triage" in whole_text(prompt) for prompt in fixer.llm.prompts] == [False, False]


def test_each_agent_has_an_episode_and_handing_over_is_no_strategy(taught: ALMA) -> None:
    workflow, _, _ = two_agents([[("ok", {})], to("fixer")], [[("bad", {})], [("ok", {})], "As [H1] says: done"])
    with ALMALearner(taught, evaluator=lambda run: True) as learner:
        run(workflow, ALMAMemory.from_defaults(taught, agent="triage"))
    triage, fixer = learner.last_run.episodes
    assert (triage.agent, triage.strategy, steps(triage)) == ("triage", "ok", [("ok", True, None)])
    assert (fixer.agent, fixer.strategy) == ("fixer", "ok")
    assert steps(fixer) == [("bad", False, "ValueError: boom"), ("ok", True, None)]
    assert (triage.outcome, fixer.outcome) == ("success", "success")
    assert (triage.used, fixer.used) == (None, tuple(exposure.memory_id for exposure in fixer.shown))
    assert {record.id for record in episodes(taught)} == {triage.id, fixer.id}


def test_the_memorys_agent_speaks_for_the_first_agent_and_others_by_their_names(taught: ALMA) -> None:
    workflow, triage, fixer = two_agents([to("fixer")], [to("triage")])
    triage.llm._script = [to("fixer"), "done"]
    with ALMALearner(taught) as learner:
        run(workflow, ALMAMemory.from_defaults(taught, agent="front-desk"))
    assert ["the way of front-desk" in whole_text(prompt) for prompt in triage.llm.prompts] == [True, True]
    assert "the way of fixer" in whole_text(fixer.llm.prompts[0])
    assert [record.agent for record in learner.last_run.episodes] == ["front-desk", "fixer"]
    assert learner.errors == []


def test_a_hand_off_to_nobody_changes_nobody(taught: ALMA) -> None:
    workflow, _, _ = two_agents([to("nobody"), "done"], [])
    with ALMALearner(taught):
        run(workflow, ALMAMemory.from_defaults(taught, agent="triage"))
    assert [(record.agent, steps(record)) for record in episodes(taught)] == [("triage", [])]


def test_an_agent_alone_is_nobody_else_whoever_spoke_last_in_its_context(taught: ALMA, retrievals: list[tuple[str, str]]) -> None:
    agent = agent_of(["done"], name="triage")

    async def go() -> None:
        context = Context(agent)
        await context.store.set("current_agent_name", "fixer")
        await agent.run(user_msg=TASK, memory=ALMAMemory.from_defaults(taught, agent="triage"), ctx=context)

    asyncio.run(go())
    assert retrievals == [("triage", TASK)]
    assert [record.agent for record in episodes(taught)] == ["triage"]


def test_a_workflow_that_goes_on_begins_where_it_was(taught: ALMA) -> None:
    workflow, _, fixer = two_agents([to("fixer")], ["done", "done again"])

    async def go() -> None:
        context = Context(workflow)
        memory = ALMAMemory.from_defaults(taught, agent="triage")
        await workflow.run(user_msg=TASK, memory=memory, ctx=context)
        with pytest.warns(UnserializableKeyWarning, match="memory"):  # a context that goes on is written down, without its memory
            await workflow.run(user_msg=f"{TASK} again", memory=memory, ctx=context)

    reports: list[RunReport] = []
    with ALMALearner(taught, on_run=reports.append):
        asyncio.run(go())
    assert [(record.agent, record.task) for report in reports for record in report.episodes] == [
        ("triage", TASK),
        ("fixer", TASK),
        ("fixer", f"{TASK} again"),
    ]
    assert "the way of fixer" in whole_text(fixer.llm.prompts[-1])


def test_named_agents_of_a_workflow_are_learned_from_without_a_block(alma: ALMA) -> None:
    workflow, _, _ = two_agents([[("ok", {})], to("fixer")], [[("bad", {})], "done"])
    with ALMALearner(alma, agents=["fixer"]):
        run(workflow, None)
    assert [(record.agent, steps(record)) for record in episodes(alma)] == [("fixer", [("bad", False, "ValueError: boom")])]
