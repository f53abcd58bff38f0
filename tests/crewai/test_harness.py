"""Crews and agents of CrewAI as the agent of a harness."""

import asyncio
from typing import Any

import pytest

from alma import ALMA, ConfigurationError, Context, Verdict, create_harness
from alma.testing import IntegrationContract
from alma_crewai import ALMACrewListener
from alma_crewai.recorders import OPEN
from alma_testing.contracts.integration import Played, Scene, Turn
from crew_scenes import agent_of, guarded
from crews import ALMAMemory, ScriptedLLM, agent, bad_tool, crew, good_tool, task, use
from framework_scenes import parted, play_agents

TASK = "Deploy the auth service"


class TestCrewsInAHarness(IntegrationContract):
    """A crew of one task; a hand-over is a second task, of another agent."""

    has_interrupts = False

    def play(self, alma: ALMA, scene: Scene) -> Played:
        models: list[ScriptedLLM] = []

        def made(scene: Scene, name: str, turns: list[Turn], prompts: list[str]) -> Any:
            tasks = [task("{task}", agent_of(scene, who, own, models), **guarded(scene)) for who, own in parted(name, turns)]
            return crew(*tasks)

        played = play_agents(alma, scene, made, is_async=False, is_parted=False)
        return _with_prompts(played, models)


class TestAgentsInAHarness(IntegrationContract):
    """`agent.kickoff_async()`: an agent alone."""

    has_guardrail = has_one_verdict = has_interrupts = False

    def play(self, alma: ALMA, scene: Scene) -> Played:
        models: list[ScriptedLLM] = []
        played = play_agents(alma, scene, lambda scene, name, turns, _: agent_of(scene, name, turns, models), is_async=False)
        return _with_prompts(played, models)


def _with_prompts(played: Played, models: list[ScriptedLLM]) -> Played:
    played.prompts[:] = [model.prompt(number) for model in models for number in range(len(model.asked))]
    return played


def test_a_crew_that_takes_no_prompt_is_refused(alma: ALMA) -> None:
    with pytest.raises(ConfigurationError, match=r"write \{task\} in the description of a task"):
        create_harness("coding", "dev", alma, run=crew(task("Deploy something", agent(ScriptedLLM("done")))))


def test_a_crew_is_given_the_prompt_and_the_inputs_in_every_run(alma: ALMA) -> None:
    model = ScriptedLLM("It is live.")
    made = crew(task("{task} in {region}", agent(model)))
    harness = create_harness("coding", "dev", alma, run=made, evaluator=lambda run: "live" in run.answer)

    for region in ("Oslo", "Bergen"):
        result = harness.run(Context(task=TASK, inputs={"region": region}))
        assert (result.success, result.output) == (True, "It is live.")
        assert f"in {region}" in model.prompt(-1)

    assert [(episode.agent, episode.task, episode.outcome) for episode in alma.recent_episodes()] == [
        ("dev", TASK, Verdict.SUCCESS)
    ] * 2


def test_further_agents_of_a_crew_are_credited_by_their_roles(alma: ALMA) -> None:
    coder = agent(ScriptedLLM(use("bad_tool", text="x"), "coded"), "Coder", tools=[bad_tool])
    tester = agent(ScriptedLLM(use("good_tool", text="y"), "tested"), "Tester", tools=[good_tool])
    harness = create_harness("coding", "dev", alma, run=crew(task("{task}", coder), task("Test it", tester)))

    harness.run(Context(task=TASK))

    steps = {episode.agent: [(step.tool, step.ok) for step in episode.steps] for episode in alma.recent_episodes()}
    assert steps == {"dev": [("bad_tool", False)], "Tester": [("good_tool", True)]}


def test_a_memory_of_the_crew_records_nothing_again_and_shows_its_notes_to_further_agents(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "use blue-green")
    alma.add_heuristic("Tester", TASK, "ask for the log")
    first, second = ScriptedLLM("coded"), ScriptedLLM("tested")
    memory = ALMAMemory(alma)
    made = crew(task("{task}", agent(first, "Coder")), task("Test it", agent(second, "Tester")), memory=memory)
    harness = create_harness("coding", "dev", alma, run=made)

    harness.run(Context(task=TASK))

    assert first.prompt().count("use blue-green") == 1
    assert second.prompt().count("ask for the log") == 1
    assert sorted(episode.agent for episode in alma.recent_episodes()) == ["Tester", "dev"]
    memory.close()


def test_a_harness_whose_notes_go_nowhere_shows_none_to_further_agents_either(alma: ALMA) -> None:
    alma.add_heuristic("Tester", TASK, "ask for the log")
    second, memory = ScriptedLLM("tested, as [H1] says"), ALMAMemory(alma)
    made = crew(task("{task}", agent(ScriptedLLM("coded"), "Coder")), task("Test it", agent(second, "Tester")), memory=memory)

    create_harness("coding", "dev", alma, run=made, inject="none").run(Context(task=TASK))

    assert "ask for the log" not in second.prompt()
    assert {episode.shown for episode in alma.recent_episodes()} == {()}
    memory.close()


def test_a_memory_of_an_agent_alone_shows_the_notes_once(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "use blue-green")
    memory, model = ALMAMemory(alma), ScriptedLLM("It is live.")
    harness = create_harness("coding", "dev", alma, run=agent(model, "Coder", memory=memory))

    assert asyncio.run(harness.arun(Context(task=TASK))).output == "It is live."

    assert model.prompt().count("use blue-green") == 1
    assert [episode.agent for episode in alma.recent_episodes()] == ["dev"]
    memory.close()


def test_a_listener_leaves_the_run_to_the_harness_and_takes_the_next(alma: ALMA) -> None:
    listener = ALMACrewListener(alma)
    made = crew(task("{task}", agent(ScriptedLLM("It is live."), "Coder")))

    create_harness("coding", "dev", alma, run=made).run(Context(task=TASK))
    made.kickoff({"task": TASK})

    assert [episode.agent for episode in alma.recent_episodes()] == ["Coder", "dev"]
    listener.close()
    assert not list(OPEN)


def test_the_agent_that_has_the_name_of_the_harness_keeps_it_when_another_acts_first(alma: ALMA) -> None:
    models = {role: ScriptedLLM(use("good_tool", text=role), role) for role in ("Two", "One")}
    tasks = [task("{task}", agent(model, role, tools=[good_tool])) for role, model in models.items()]
    create_harness("coding", "One", alma, run=crew(*tasks)).run(Context(task=TASK))

    steps = {episode.agent: {step.action for step in episode.steps} for episode in alma.recent_episodes()}
    assert steps == {role: {f'good_tool(text="{role}")'} for role in ("One", "Two")}


def test_tasks_at_the_same_time_are_credited_each_to_its_agent(alma: ALMA) -> None:
    roles = ["One", "Two", "Three"]
    models = {role: ScriptedLLM(use("good_tool", text=role), use("good_tool", text=role * 2), role) for role in roles}
    tasks = [
        task("{task}", agent(model, role, tools=[good_tool]), async_execution=role != "Three") for role, model in models.items()
    ]
    create_harness("coding", "One", alma, run=crew(*tasks)).run(Context(task=TASK))

    steps = {episode.agent: {step.action for step in episode.steps} for episode in alma.recent_episodes()}
    assert steps == {role: {f'good_tool(text="{role}")', f'good_tool(text="{role * 2}")'} for role in roles}


def test_inputs_of_a_run_fill_the_texts_of_a_crew(alma: ALMA) -> None:
    llm = ScriptedLLM("Live.")
    run = crew(task("{task} in {region}", agent(llm, "dev")))
    create_harness("coding", "dev", alma, run=run).run(Context(task=TASK), inputs={"region": "Oslo"})
    assert "in Oslo" in llm.prompt(0)
