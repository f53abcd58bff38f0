"""Whose run it is: agents, users, tenants and task types that the run itself names, and where its notes and tags go."""

import sys
from contextvars import ContextVar
from typing import Any, Literal

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel

from alma import ALMA
from alma_llamaindex import ALMALearner, ALMAMemory, RunReport, RunView
from alma_llamaindex.testing import ScriptedLLM
from llama_runs import TASK, agent_of, episodes, run, whole_text

pytestmark = pytest.mark.any_version


def test_a_run_names_its_user_tenant_thread_and_id(alma: ALMA) -> None:
    seen: list[RunReport] = []
    memory = ALMAMemory.from_defaults(alma, agent="dev", session_id="s-1", on_run=seen.append)
    run(agent_of(["done"]), memory, user_id="ann", tenant_id="acme", run_id="r-1")
    assert episodes(alma) == []
    [record] = episodes(alma.for_project("shop:acme"))
    assert (record.user_id, record.thread_id, record.run_id) == ("ann", "s-1", "r-1")
    assert [(report.run_id, report.thread_id, report.episode_id) for report in seen] == [("r-1", "s-1", record.id)]


def test_agent_user_and_task_type_may_be_functions_of_the_run(alma: ALMA) -> None:
    memory = ALMAMemory.from_defaults(
        alma,
        agent=lambda run: f"{run.find('team')}-agent",
        user_id=lambda run: run.find("customer"),
        task_type=lambda run: "deployment",
    )
    agent = FunctionAgent(name="dev", llm=ScriptedLLM(["done"]), initial_state={"customer": "bob"})
    run(agent, memory, team="shop")
    assert [(record.agent, record.user_id, record.task_type) for record in episodes(alma)] == [
        ("shop-agent", "bob", "deployment")
    ]


@pytest.mark.parametrize(("inject", "roles"), [("message", ["system", "user"]), ("system", ["system", "system", "user"])])
def test_notes_go_beside_the_message_or_into_a_system_message(alma: ALMA, inject: Any, roles: list[str]) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    agent = agent_of(["done"], system_prompt="You deploy.")
    memory = ALMAMemory.from_defaults(alma, agent="dev", inject=inject)
    run(agent, memory)
    assert [message.role.value for message in agent.llm.prompts[0]] == roles
    assert "blue-green" in whole_text(agent.llm.prompts[0])
    assert "blue-green" not in whole_text(memory.get_all())


def test_notes_may_go_nowhere_and_the_run_is_learned_from_all_the_same(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    agent = agent_of([[("ok", {})], "done"])
    run(agent, ALMAMemory.from_defaults(alma, agent="dev", inject="none"))
    assert [whole_text(prompt).count("blue-green") for prompt in agent.llm.prompts] == [0, 0]
    assert [(len(record.steps), record.shown) for record in episodes(alma)] == [(1, ())]


@pytest.mark.parametrize("streaming", [True, False])
def test_tags_are_taken_out_of_the_final_answer_on_request(alma: ALMA, streaming: bool) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    seen: list[RunView] = []
    memory = ALMAMemory.from_defaults(alma, agent="dev", strip_tags=True, evaluator=seen.append)
    answer = run(agent_of(["Blue-green [H1], not [9]."], streaming=streaming), memory)
    assert str(answer) == "Blue-green, not [9]."
    assert [record.used for record in episodes(alma)] == [(rule.id,)]
    assert [view.cited for view in seen] == [("H1",)]
    assert [message.content for message in memory.get_all() if message.role == "assistant"] == ["Blue-green, not [9]."]


def test_options_of_a_memory_go_before_those_of_the_learner(alma: ALMA) -> None:
    with ALMALearner(alma, evaluator=lambda run: False, task_type="chores") as learner:
        run(agent_of(["done"]), ALMAMemory.from_defaults(alma, agent="dev", evaluator=lambda run: True))
        run(agent_of(["done"]), ALMAMemory.from_defaults(alma, agent="dev"))
        assert learner.flush()
    assert [(record.outcome, record.task_type) for record in episodes(alma)] == [("success", "chores"), ("failure", "chores")]


def test_an_error_of_alma_is_raised_into_the_agent_on_request(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**given: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(alma, "retrieve", fails)
    with pytest.raises(OSError, match="the disk is gone"):
        run(agent_of(["done"]), ALMAMemory.from_defaults(alma, agent="dev", on_error="raise"))


def test_a_choice_that_a_tools_schema_lists_is_part_of_a_calls_name(alma: ALMA) -> None:
    def scale(replicas: Literal[1, 2], service: str) -> str:
        """Scales."""
        return "scaled"

    calls = [[("scale", {"replicas": 2, "service": "auth"})], "done"]
    run(agent_of(calls, tools=[scale]), ALMAMemory.from_defaults(alma, agent="dev"))
    assert [record.strategy for record in episodes(alma)] == ["scale(replicas=2, service)"]


def test_the_schema_of_a_tool_is_made_once_for_all_runs(alma: ALMA) -> None:
    makers: list[str] = []

    class Place(BaseModel):
        name: Literal["Oslo", "Bergen"]

        @classmethod
        def model_json_schema(cls, *given: Any, **options: Any) -> dict[str, Any]:
            makers.append(sys._getframe(1).f_globals["__name__"])
            return super().model_json_schema(*given, **options)

    look = FunctionTool.from_defaults(fn=lambda name: f"nothing at {name}", name="look", description="Looks.", fn_schema=Place)
    for _ in range(2):
        run(agent_of([[("look", {"name": "Oslo"})], "done"], tools=[look]), ALMAMemory.from_defaults(alma, agent="dev"))
    assert [record.strategy for record in episodes(alma)] == ['look(name="Oslo")'] * 2
    assert [name for name in makers if not name.startswith("llama_index")] == ["alma_integration.calls"]


USER: ContextVar[str] = ContextVar("user", default="nobody")


def test_a_function_of_the_run_may_read_context_variables(alma: ALMA) -> None:
    token = USER.set("ann")
    try:
        run(agent_of([[("ok", {})], "done"]), ALMAMemory.from_defaults(alma, agent="dev", user_id=lambda run: USER.get()))
    finally:
        USER.reset(token)
    assert [record.user_id for record in episodes(alma)] == ["ann"]


def test_a_function_that_names_nobody_reaches_no_agent_and_is_told(alma: ALMA) -> None:
    memory = ALMAMemory.from_defaults(alma, agent=lambda run: run.find("team"))
    assert str(run(agent_of(["done"]), memory)) == "done"
    assert "agent gave no name for this run" in str(memory.learner.errors)
