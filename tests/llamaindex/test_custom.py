"""Custom workflows, functions and blocks of code as recorded runs."""

import asyncio
from typing import Any

import pytest
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

from alma import ALMA
from alma.integration import tool_use
from alma_llamaindex import ALMALearner, ALMAMemory, alma_run, recorded
from alma_llamaindex.handler import LEARNERS
from llama_runs import TASK, agent_of, bad, episodes, ok, run, steps, whole_text


def deploy(way: str) -> str:
    """Deploys."""
    if way == "rolling":
        raise RuntimeError("502")
    return "live"


DEPLOY = FunctionTool.from_defaults(deploy)
STEPS = [("deploy", False, "RuntimeError: 502"), ("deploy", True, None)]


class Deployment(Workflow):
    """Tries two ways by a tool."""

    @step
    async def try_it(self, event: StartEvent) -> StopEvent:
        for way in ("rolling", "blue-green"):
            try:
                said = await DEPLOY.acall(way=way)
            except RuntimeError:
                continue
            return StopEvent(result=f"{said.content}; {event.get('notes', None) or 'nothing known'}")
        raise AssertionError


async def function(task: str, notes: str = "") -> str:
    for way in ("rolling", "blue-green"):
        try:
            said = DEPLOY.call(way=way)
        except RuntimeError:
            continue
        return f"{said.content}; {notes or 'nothing known'}"
    raise AssertionError


WORK: dict[str, Any] = {"a workflow": (Deployment(), {"task": TASK}), "a function": (function, {"task": TASK})}


@pytest.mark.parametrize("what", WORK)
def test_a_custom_workflow_or_function_is_one_run_with_its_tools_as_steps(alma: ALMA, what: str) -> None:
    work, given = WORK[what]
    wrapped = recorded(work, alma, agent="dev", notes="notes", evaluator=lambda run: "live" in run.answer)
    assert asyncio.run(wrapped(**given)) == "live; nothing known"
    [record] = episodes(alma)
    assert (record.task, record.outcome, record.strategy) == (TASK, "success", 'deploy(way="blue-green")')
    assert steps(record) == STEPS
    assert "502" in asyncio.run(wrapped(**given))


@pytest.mark.parametrize("what", WORK)
def test_the_task_may_be_a_function_of_the_arguments(alma: ALMA, what: str) -> None:
    work, given = WORK[what]
    asyncio.run(recorded(work, alma, agent="dev", task=lambda task: f"{task}, please")(**given))
    assert [record.task for record in episodes(alma)] == [f"{TASK}, please"]


def test_a_block_of_code_says_itself_what_happened(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    with alma_run(alma, "dev", TASK, run_id="r-1", thread_id="t-1", evaluator=lambda run: True) as recording:
        assert "[H1] Deploy the auth service: blue-green" in recording.notes
        recording.tool_returned(tool_use("kubectl", {"verb": "apply"}), "applied")
        recording.corrected("name your source")
        recording.answer = "done, as [H1] says"
    [record] = episodes(alma)
    assert (record.run_id, record.thread_id, record.outcome, record.used) == ("r-1", "t-1", "success", (rule.id,))
    assert [step.action for step in record.steps] == ['kubectl(verb="apply")', "work that was sent back: name your source"]


def test_a_block_that_raises_is_a_failure_and_the_error_is_seen(alma: ALMA) -> None:
    with pytest.raises(LookupError), alma_run(alma, "dev", TASK):
        raise LookupError("no such service")
    assert [(record.outcome, record.error) for record in episodes(alma)] == [("failure", "LookupError: no such service")]


def test_a_memory_that_is_asked_inside_shows_the_notes_of_the_run(alma: ALMA, retrievals: list[tuple[str, str]]) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    memory = ALMAMemory.from_defaults(alma, agent="dev")

    async def work(task: str) -> str:
        return whole_text(await memory.aget(input=task))

    assert "blue-green" in asyncio.run(recorded(work, alma, agent="dev")(TASK))
    assert [len(record.shown) for record in episodes(alma)] == [1]
    assert retrievals == [("dev", TASK)]


def test_runs_at_once_keep_apart(alma: ALMA) -> None:
    async def work(way: str) -> str:
        await asyncio.sleep(0)
        return str(await DEPLOY.acall(way=way))

    async def go() -> None:
        wrapped = recorded(work, alma, agent="dev", task=lambda way: f"Deploy {way}")
        await asyncio.gather(*(wrapped(way) for way in ("canary", "shadow")))

    asyncio.run(go())
    assert {(record.task, len(record.steps)) for record in episodes(alma)} == {("Deploy canary", 1), ("Deploy shadow", 1)}


def test_an_agent_without_memory_inside_has_its_tools_recorded(alma: ALMA) -> None:
    async def work(task: str) -> str:
        return str(await agent_of([[("ok", {})], [("bad", {})], "done"]).run(user_msg=task))

    asyncio.run(recorded(work, alma, agent="dev")(TASK))
    assert [steps(record) for record in episodes(alma)] == [[("ok", True, None), ("bad", False, "ValueError: boom")]]


def test_an_agent_with_memory_inside_is_a_run_of_its_own(alma: ALMA) -> None:
    async def work(task: str) -> str:
        agent = agent_of([[("ok", {})], "done"], tools=[ok, bad])
        return str(await agent.run(user_msg=task, memory=ALMAMemory.from_defaults(alma, agent="helper")))

    asyncio.run(recorded(work, alma, agent="dev")(TASK))
    assert {(record.agent, len(record.steps)) for record in episodes(alma)} == {("dev", 0), ("helper", 1)}


def test_a_person_corrects_a_run_from_a_tool_or_by_its_id(alma: ALMA) -> None:
    def ask_ann() -> str:
        """Asks Ann."""
        learner.correct("not on Fridays")
        return "noted"

    with ALMALearner(alma) as learner:
        run(agent_of([[("ask_ann", {})], "done"], tools=[ask_ann]), ALMAMemory.from_defaults(alma, agent="dev"))
    assert [step.error for step in episodes(alma)[0].steps if step.ok is False] == ["not on Fridays"]
    agent = agent_of(["done"])
    run(agent, ALMAMemory.from_defaults(alma, agent="dev"))
    assert "not on Fridays" in whole_text(agent.llm.prompts[0])


def test_a_run_that_does_not_go_on_cannot_be_corrected(alma: ALMA) -> None:
    ALMAMemory.from_defaults(alma, agent="dev")
    for given in ({}, {"run_id": "gone"}):
        with pytest.raises(ValueError, match="there is no run to correct"):
            LEARNERS.in_charge(alma).correct("not on Fridays", **given)
