"""What is registered with CrewAI, how often a task is recorded, and what a broken store does to a crew: nothing."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from crewai import TaskOutput
from crewai.hooks import InterceptionPoint, clear_all_hooks, get_hooks

from alma import ALMA, StorageError
from alma_crewai import ALMACrewListener, ALMAMemory, attach_alma
from crews import ScriptedLLM, agent, bad_tool, crew, crewai_event_bus, good_tool, task, use

DEPLOY = "Deploy the auth service"
CALLED: list[str] = []


def registered() -> tuple[int, int]:
    """How many hooks and handlers there are."""
    handlers = crewai_event_bus._sync_handlers.values(), crewai_event_bus._async_handlers.values()
    return sum(len(get_hooks(point)) for point in InterceptionPoint), sum(len(each) for kind in handlers for each in kind)


def outcomes(alma: ALMA) -> list[object]:
    return [record.outcome for record in reversed(alma.recent_episodes())]


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[ALMA]:
    alma = ALMA.open(tmp_path / "broken", project_id="crews", embedding_provider="hash")
    alma.close()
    return alma


def test_closing_leaves_crewai_as_it_was(alma: ALMA) -> None:
    before = registered()
    made = [ALMAMemory(alma), ALMAMemory(alma), ALMACrewListener(alma)]
    assert registered() == (before[0] + 2, before[1])
    for each in [*made, made[0]]:
        each.close()
    assert registered() == before


def test_a_memory_that_only_recalls_registers_nothing_and_records_nothing(alma: ALMA) -> None:
    before = registered()
    alma.add_heuristic("Coder", DEPLOY, "roll out blue-green")
    memory, llm = ALMAMemory(alma, learn=False), ScriptedLLM()
    assert registered() == before
    crew(task(DEPLOY, agent(llm)), memory=memory).kickoff()
    agent(llm, memory=memory).kickoff(DEPLOY)
    assert "blue-green" in llm.prompt(0)
    assert "blue-green" in llm.prompt(1)
    assert outcomes(alma) == []


def test_many_memories_of_one_alma_record_each_task_once(alma: ALMA) -> None:
    memories = [ALMAMemory(alma) for _ in range(5)]
    listener = ALMACrewListener(alma)
    for memory in memories:
        crew(task(DEPLOY, agent(ScriptedLLM())), memory=memory).kickoff()
    for each in [*memories, listener]:
        each.close()
    assert outcomes(alma) == ["unverified"] * 5


def test_after_closing_a_crew_runs_on_and_nothing_is_recorded(alma: ALMA, memory: ALMAMemory) -> None:
    memory.close()
    assert crew(task(DEPLOY, agent(ScriptedLLM("done"))), memory=memory).kickoff().raw == "done"
    assert outcomes(alma) == []


def test_a_listener_alone_records_crews_without_memory(alma: ALMA) -> None:
    alma.add_heuristic("Coder", DEPLOY, "roll out blue-green")
    first, listener = ALMACrewListener(alma), ALMACrewListener(alma, agent="team")
    llm = ScriptedLLM(use("bad_tool", text="a"), "done")
    crew(task(DEPLOY, agent(llm, tools=[bad_tool]))).kickoff()
    first.close()
    listener.close()
    (record,) = alma.recent_episodes()
    assert (record.agent, record.outcome, record.shown, len(record.steps)) == ("team", "partial", (), 1)
    assert listener.last_run == record
    assert first.last_run is None


def test_two_projects_do_not_hear_each_others_crews(alma: ALMA) -> None:
    other = alma.for_project("other")
    mine, theirs = ALMAMemory(alma), ALMAMemory(other)
    crew(task(DEPLOY, agent(ScriptedLLM())), memory=mine).kickoff()
    crew(task("Write about penguins", agent(ScriptedLLM())), memory=theirs).kickoff()
    mine.close()
    theirs.close()
    assert [record.task for record in alma.recent_episodes()] == [DEPLOY]
    assert [record.task for record in other.recent_episodes()] == ["Write about penguins"]


def test_a_broken_store_changes_nothing_for_the_crew_and_is_told(broken: ALMA) -> None:
    memory = ALMAMemory(broken)
    llm = ScriptedLLM(use("good_tool", text="a"), "done")
    assert crew(task(DEPLOY, agent(llm, tools=[good_tool])), memory=memory).kickoff().raw == "done"
    memory.close()
    assert {type(error) for error in memory.errors} == {StorageError}
    assert len(memory.errors) == 3  # the recall, the step, the ending
    assert memory.last_run is None


def test_a_failing_crew_with_a_broken_store_fails_with_its_own_error(broken: ALMA) -> None:
    memory = ALMAMemory(broken)
    with pytest.raises(ConnectionError, match="gone"):
        crew(task(DEPLOY, agent(ScriptedLLM(ConnectionError("gone")), max_retry_limit=0)), memory=memory).kickoff()
    memory.close()


def test_a_user_that_cannot_be_told_keeps_no_crew_from_its_work(alma: ALMA) -> None:
    memory = ALMAMemory(alma, user_id=lambda: {}["user"])
    assert crew(task(DEPLOY, agent(ScriptedLLM("done"))), memory=memory).kickoff().raw == "done"
    memory.close()
    assert {type(error) for error in memory.errors} == {KeyError}


def test_hooks_that_the_user_cleared_come_back_with_the_next_memory(alma: ALMA, memory: ALMAMemory) -> None:
    clear_all_hooks()
    again = ALMAMemory(alma)
    crew(task(DEPLOY, agent(ScriptedLLM())), memory=again).kickoff()
    again.close()
    assert outcomes(alma) == ["unverified"]


def on_task(output: TaskOutput) -> None:
    CALLED.append("task")


def on_crew_task(output: TaskOutput) -> None:
    CALLED.append("crew")


def on_step(step: object) -> None:
    CALLED.append("step")


def test_callbacks_of_the_user_are_called_once_each(memory: ALMAMemory) -> None:
    CALLED.clear()
    made = crew(
        task(DEPLOY, agent(ScriptedLLM()), callback=on_task), memory=memory, task_callback=on_crew_task, step_callback=on_step
    )
    made.kickoff()
    assert sorted(CALLED) == ["crew", "step", "task"]


def test_each_task_is_told_in_one_line_of_the_log(memory: ALMAMemory, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="alma")
    llm = ScriptedLLM(use("good_tool", text="a"), "done")
    crew(task(DEPLOY, agent(llm, tools=[good_tool])), memory=memory).kickoff()
    assert [record.getMessage() for record in caplog.records if record.name == "alma" and "Deploy" in record.getMessage()] == [
        "unverified: Deploy the auth service by 'Coder'; 1 steps, 0 of 0 memories used"
    ]


def test_a_crew_that_is_built_gets_its_memory_afterwards(alma: ALMA) -> None:
    alma.add_heuristic("Coder", DEPLOY, "roll out blue-green")
    llm = ScriptedLLM()
    made = crew(task(DEPLOY, agent(llm)))
    memory = attach_alma(made, alma, top_k=3)
    assert attach_alma(made, alma) is memory
    made.kickoff()
    made.copy().kickoff()
    memory.close()
    assert "blue-green" in llm.prompt(0)
    assert outcomes(alma) == ["unverified"] * 2


def test_attaching_names_agents_that_recall_from_something_else(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    from crewai.memory.unified_memory import Memory

    from alma_crewai import ALMAStorage

    own = Memory(llm="none", storage=ALMAStorage(alma), embedder=lambda texts: [[0.0] for _ in texts])
    attach_alma(crew(task(DEPLOY, agent(ScriptedLLM(), memory=own))), alma).close()
    assert "'Coder' has a memory of its own" in caplog.text
