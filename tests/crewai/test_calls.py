"""ALMA asks no model of CrewAI's: as many calls as without memory, and what comes of the crew is the same, however it works."""

import asyncio
import builtins
import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crewai import Crew, Process
from crewai.flow.flow import Flow, start
from crewai.tools import BaseTool
from pydantic import BaseModel

from alma import ALMA
from alma_crewai import ALMAMemory, ALMAStorage
from alma_crewai.memory import NO_MODEL
from crews import ScriptedLLM, agent, bad_tool, crew, good_tool, task, use

DEPLOY = "Deploy the auth service"
Done = tuple[object, list[ScriptedLLM]]


def two_tasks(**settings: object) -> tuple[Crew, list[ScriptedLLM]]:
    llm = ScriptedLLM(use("good_tool", text="a"), use("bad_tool", text="b"), "deployed", "written")
    worker = agent(llm, tools=[good_tool, bad_tool])
    return crew(task(DEPLOY, worker), task("Write about penguins", worker), **settings), [llm]


def in_order(**settings: object) -> Done:
    made, models = two_tasks(**settings)
    return made.kickoff().raw, models


def in_an_event_loop(**settings: object) -> Done:
    made, models = two_tasks(**settings)
    return asyncio.run(made.akickoff()).raw, models


def inside_a_flow(**settings: object) -> Done:
    made, models = two_tasks(**settings)

    class Release(Flow):
        @start()
        def deploy(self) -> str:
            return made.kickoff().raw

    return Release().kickoff(), models


def in_writing(**settings: object) -> Done:
    replies = [f'Thought: t\nAction: {name}\nAction Input: {{"text": "a"}}' for name in ("good_tool", "bad_tool")]
    llm = ScriptedLLM(*replies, "Thought: I know\nFinal Answer: deployed", native=False)
    return crew(task(DEPLOY, agent(llm, tools=[good_tool, bad_tool])), **settings).kickoff().raw, [llm]


def under_guardrails(**settings: object) -> Done:
    verdicts = iter([(False, "again"), (False, "again"), (True, "good")])
    llm = ScriptedLLM("bad", "bad", "good")
    made = crew(task(DEPLOY, agent(llm), guardrail=lambda output: next(verdicts)), **settings)
    return made.kickoff().raw, [llm]


def under_a_guardrail_in_words(**settings: object) -> Done:
    llm = ScriptedLLM("deployed", json.dumps({"valid": True, "feedback": None}))
    return crew(task(DEPLOY, agent(llm), guardrail="says that it is deployed"), **settings).kickoff().raw, [llm]


def after_a_plan(**settings: object) -> Done:
    plan = {"list_of_plans_per_task": [{"task_number": 1, "task": "t", "plan": " First look around."}]}
    llm, planner = ScriptedLLM("deployed"), ScriptedLLM(json.dumps(plan), native=False)
    return crew(task(DEPLOY, agent(llm)), planning=True, planning_llm=planner, **settings).kickoff().raw, [llm, planner]


def under_a_manager(**settings: object) -> Done:
    boss = ScriptedLLM(use("delegate_work_to_coworker", task="Fix it", context="none", coworker="Coder"), "all done")
    hands = ScriptedLLM(use("bad_tool", text="a"), "fixed")
    worker = agent(hands, tools=[bad_tool])
    made = Crew(
        agents=[worker],
        tasks=[task("Make it work")],
        process=Process.hierarchical,
        manager_llm=boss,
        verbose=False,
        **settings,
    )
    return made.kickoff().raw, [boss, hands]


def for_each_input(**settings: object) -> Done:
    llm = ScriptedLLM("hammer", "violin", "kettle")
    made = crew(task("Bring the {thing}", agent(llm)), **settings)
    return [each.raw for each in made.kickoff_for_each([{"thing": "hammer"}, {"thing": "violin"}, {"thing": "kettle"}])], [llm]


def as_a_copy(**settings: object) -> Done:
    made, models = two_tasks(**settings)
    return made.copy().kickoff().raw, models


def again_from_the_second(**settings: object) -> Done:
    made, models = two_tasks(**settings)
    made.kickoff()
    return made.replay(str(made.tasks[1].id)).raw, models


def in_training(**settings: object) -> Done:
    quality = json.dumps({"suggestions": ["shorter"], "quality": 8, "final_summary": "fine"})
    llm = ScriptedLLM("a long answer", "short", quality)
    crew(task(DEPLOY, agent(llm)), **settings).train(n_iterations=1, filename="trained.pkl")
    trained = pickle.loads(Path("trained.pkl").read_bytes())
    return trained, [llm]


def without_a_crew(**settings: Any) -> Done:
    llm = ScriptedLLM(use("good_tool", text="a"), "done")
    return agent(llm, tools=[good_tool], **settings).kickoff(DEPLOY).raw, [llm]


def with_a_model_that_fails(**settings: object) -> Done:
    llm = ScriptedLLM(use("good_tool", text="a"), ConnectionError("gone"))
    with pytest.raises(ConnectionError) as failed:
        crew(task(DEPLOY, agent(llm, tools=[good_tool], max_retry_limit=1)), **settings).kickoff()
    return str(failed.value), [llm]


@pytest.mark.parametrize(
    "work",
    [
        in_order,
        in_an_event_loop,
        inside_a_flow,
        in_writing,
        under_guardrails,
        under_a_guardrail_in_words,
        after_a_plan,
        under_a_manager,
        for_each_input,
        as_a_copy,
        again_from_the_second,
        in_training,
        without_a_crew,
        with_a_model_that_fails,
    ],
    ids=lambda work: work.__name__,
)
def test_a_crew_asks_its_models_as_often_as_without_memory_and_does_the_same(
    alma: ALMA, memory: ALMAMemory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, work: Callable[..., Done]
) -> None:
    embedded: list[list[str]] = []
    monkeypatch.setattr(ALMAStorage, "__call__", lambda _, texts: embedded.append(texts))
    monkeypatch.setattr(builtins, "input", lambda *_: "shorter")
    for number in range(3):
        alma.add_heuristic("Coder", f"{DEPLOY}, way {number}", "roll out blue-green")
    usual, models = work()
    known, informed = work(memory=memory)
    assert known == usual
    assert [len(llm.asked) for llm in informed] == [len(llm.asked) for llm in models]
    assert sum(len(llm.asked) for llm in models) > 0
    assert len(alma.recent_episodes()) > 0
    assert embedded == []  # nor is an embedder asked
    assert NO_MODEL not in caplog.text  # nor a model that CrewAI would load for the memory
    assert memory.errors == []


def test_the_schema_of_a_tool_is_made_once_for_all_its_calls(alma: ALMA) -> None:
    makers: list[str] = []

    class Place(BaseModel):
        name: str

        @classmethod
        def model_json_schema(cls, *given: Any, **options: Any) -> dict[str, Any]:
            makers.append(sys._getframe(1).f_globals["__name__"])
            return super().model_json_schema(*given, **options)

    class Look(BaseTool):
        name: str = "look"
        description: str = "Looks somewhere."
        args_schema: type[BaseModel] = Place

        def _run(self, name: str) -> str:
            return f"nothing at {name}"

    llm = ScriptedLLM(*(use("look", name=name) for name in ("Oslo", "Bergen", "Narvik")), "done")
    memory = ALMAMemory(alma)
    crew(task(DEPLOY, agent(llm, tools=[Look()])), memory=memory).kickoff()
    memory.close()

    [episode] = alma.recent_episodes()
    assert len(episode.steps) == 3
    assert makers.count("alma_integration.calls") == 1
