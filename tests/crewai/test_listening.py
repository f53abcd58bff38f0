"""What is registered with CrewAI, how often a task is recorded, and what a broken store does to a crew: nothing."""

import gc
import json
import logging
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import ClassVar

import pytest
from crewai import Agent, Crew, Task, TaskOutput
from crewai.events import stream_context
from crewai.hooks import InterceptionPoint, clear_all_hooks, get_hooks
from crewai.project import CrewBase
from crewai.project import agent as agent_of_the_crew
from crewai.project import crew as the_crew
from crewai.project import task as task_of_the_crew

from alma import ALMA, StorageError
from alma_crewai import ALMACrewListener, ALMAMemory, ALMARecallTool, ALMARememberTool, attach_alma
from alma_crewai.recorders import LOCK
from crews import ScriptedLLM, agent, bad_tool, crew, crewai_event_bus, good_tool, task, use
from stores import Driver

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
    yield alma
    alma.close()


def test_closing_leaves_crewai_as_it_was(alma: ALMA) -> None:
    gc.collect()  # memories of other tests that were not closed still have hooks
    before = registered()
    made = [ALMAMemory(alma), ALMAMemory(alma), ALMACrewListener(alma)]
    assert registered() == (before[0] + 3, before[1])
    for each in [*made, made[0]]:
        each.close()
    assert registered() == before


def comes_to(expected: object, look: Callable[[], object] = registered) -> bool:
    """Whether what is looked at becomes what is expected: worker threads of CrewAI release a crew some moments after it ended."""
    deadline, pause = monotonic() + 20, Event()
    while look() != expected and monotonic() < deadline:
        crewai_event_bus.reset_runtime_state()  # it holds the crew, and so its memory
        gc.collect()
        pause.wait(0.01)
    return look() == expected


def at_rest() -> tuple[int, int]:
    """What is registered once nothing of former tests is left."""
    assert comes_to(0, lambda: registered()[0])
    return registered()


def test_of_a_memory_that_nobody_keeps_nothing_stays(alma: ALMA) -> None:
    before, kept = at_rest(), ALMAMemory(alma)
    dropped = ALMAMemory(alma)
    crew(task(DEPLOY, agent(ScriptedLLM(use("good_tool", text="a"), "done"), tools=[good_tool])), memory=dropped).kickoff()
    gone = weakref.ref(dropped.recorder)
    del dropped
    assert comes_to(None, gone)
    assert comes_to((before[0] + 3, before[1]))
    crew(task(DEPLOY, agent(ScriptedLLM())), memory=kept).kickoff()
    assert outcomes(alma) == ["unverified"] * 2
    del kept
    assert comes_to(before)


def test_of_a_listener_nothing_stays_when_its_alma_is_closed(alma: ALMA) -> None:
    before = registered()
    listener = ALMACrewListener(alma)
    alma.close()
    assert (registered(), listener.is_open) == (before, False)
    with pytest.raises(StorageError, match="closed"):
        ALMACrewListener(alma)
    assert registered() == before


def test_a_listener_is_closed_when_no_crew_looks_for_one(alma: ALMA) -> None:
    gc.collect()
    listener = ALMACrewListener(alma)
    closing = Thread(target=listener.close, daemon=True)
    with LOCK:  # as a crew that begins a task holds it
        closing.start()
        closing.join(0.2)
        assert listener.is_open
    closing.join(10)
    assert not listener.is_open


def test_a_listener_that_is_collected_waits_for_no_lock(tmp_path: Path) -> None:
    alma = ALMA.open(tmp_path / "dropped", project_id="crews", embedding_provider="hash")
    ALMACrewListener(alma)
    dropped = [alma]
    del alma
    collecting = Thread(target=lambda: (dropped.clear(), gc.collect()), daemon=True)
    with LOCK:  # as a crew that begins a task, whose thread starts another in which the collector runs
        collecting.start()
        collecting.join(10)
        assert not collecting.is_alive()
    with ALMA.open(tmp_path / "next", project_id="crews", embedding_provider="hash") as alma:
        ALMACrewListener(alma).close()
    assert registered()[0] == 0


def test_of_a_listener_nothing_stays_when_nobody_keeps_its_alma(tmp_path: Path) -> None:
    before = at_rest()
    alma = ALMA.open(tmp_path / "dropped", project_id="crews", embedding_provider="hash")
    ALMACrewListener(alma)
    gc.collect()
    assert registered() == (before[0] + 3, before[1])
    del alma
    assert comes_to(before)


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


def test_a_crew_that_is_built_anew_records_each_task_once(alma: ALMA, memory: ALMAMemory) -> None:
    registered_before = registered()
    for number in range(5):
        made = crew(task(f"{DEPLOY} {number}", agent(ScriptedLLM())), memory=memory)
        assert attach_alma(made, alma) is memory
        made.kickoff()
    assert [record.task for record in reversed(alma.recent_episodes())] == [f"{DEPLOY} {number}" for number in range(5)]
    assert registered() == registered_before


def test_after_a_task_nothing_is_left_in_its_context(alma: ALMA, memory: ALMAMemory) -> None:
    before = stream_context._stream_sinks.get()
    crew(task(DEPLOY, agent(ScriptedLLM())), memory=memory).kickoff()
    agent(ScriptedLLM(), memory=memory).kickoff(DEPLOY)
    with pytest.raises(ConnectionError):
        crew(task(DEPLOY, agent(ScriptedLLM(ConnectionError("gone")), max_retry_limit=0)), memory=memory).kickoff()
    assert stream_context._stream_sinks.get() == before
    assert len(alma.recent_episodes()) == 3


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
    assert (record.agent, record.outcome, record.shown, len(record.steps)) == ("team", "unverified", (), 1)
    assert listener.last_run.episodes == (record,)
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


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setattr(sqlite3, "connect", made.connect)
    return made


def reading(statement: str) -> None:
    """Fails where ALMA searches."""
    if "MATCH" in statement or "FROM passage" in statement:
        raise sqlite3.OperationalError("it cannot be read")


def writing(statement: str) -> None:
    """Fails where ALMA begins to write."""
    if statement.startswith("BEGIN IMMEDIATE"):
        raise sqlite3.OperationalError("it cannot be written")


def both(statement: str) -> None:
    """Fails in both places."""
    reading(statement)
    writing(statement)


def work(**settings: object) -> tuple[object, list[str]]:
    """What comes of a crew of two tasks, and each answer; it fails in the middle and goes on."""
    llm = ScriptedLLM(use("bad_tool", text="a"), "gave up", use("good_tool", text="b"), "written")
    worker = agent(llm, tools=[bad_tool, good_tool])
    done = crew(task(DEPLOY, worker), task("Write about penguins", worker), **settings).kickoff()
    return done.raw, [each.raw for each in done.tasks_output], len(llm.asked)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (reading, {"it cannot be read"}),
        (writing, {"it cannot be written"}),
        (both, {"it cannot be read", "it cannot be written"}),
    ],
    ids=["reading", "writing", "both"],
)
def test_a_store_that_fails_changes_nothing_of_a_crews_output_and_stands_in_the_errors(
    driver: Driver, alma: ALMA, memory: ALMAMemory, fault: Callable[[str], None], told: set[str]
) -> None:
    alma.add_heuristic("Coder", DEPLOY, "roll out blue-green")
    usual = work()
    with driver.doing(fault):
        assert work(memory=memory) == usual
    assert {type(error) for error in memory.errors} == {StorageError}
    assert {words for words in ("it cannot be read", "it cannot be written") if words in str(memory.errors)} == told
    assert work(memory=memory) == usual
    assert outcomes(alma)[-2:] == ["unverified", "unverified"]


def test_a_broken_store_changes_nothing_for_the_crew_and_is_told(broken: ALMA) -> None:
    memory = ALMAMemory(broken)
    broken.close()
    llm = ScriptedLLM(use("good_tool", text="a"), "done")
    assert crew(task(DEPLOY, agent(llm, tools=[good_tool])), memory=memory).kickoff().raw == "done"
    memory.close()
    assert {type(error) for error in memory.errors} == {StorageError}
    assert len(memory.errors) == 2  # the recall, and the beginning of the episode
    assert memory.last_run is None


def test_a_failing_crew_with_a_broken_store_fails_with_its_own_error(broken: ALMA) -> None:
    memory = ALMAMemory(broken)
    broken.close()
    with pytest.raises(ConnectionError, match="gone"):
        crew(task(DEPLOY, agent(ScriptedLLM(ConnectionError("gone")), max_retry_limit=0)), memory=memory).kickoff()
    memory.close()
    assert [type(error) for error in memory.errors] == [StorageError] * 2  # the recall, the ending


@pytest.mark.parametrize("contents", [["heron"], ["heron", "stork"]], ids=len)
@pytest.mark.parametrize("is_native", [True, False], ids=["native", "written"])
def test_what_an_agent_cannot_save_is_told_to_it_and_stands_in_the_errors(
    driver: Driver, alma: ALMA, memory: ALMAMemory, contents: list[str], is_native: bool
) -> None:
    written = f'Thought: t\nAction: save_to_memory\nAction Input: {{"contents": {json.dumps(contents)}}}'
    saving = use("save_to_memory", contents=contents) if is_native else written
    llm = ScriptedLLM(saving, "Thought: I know\nFinal Answer: done", native=is_native)

    def only_notes(statement: str) -> None:
        if len(llm.asked) == 1:
            writing(statement)

    with driver.doing(only_notes):
        done = crew(task(DEPLOY, agent(llm)), memory=memory).kickoff()
    assert "done" in done.raw
    assert "it cannot be written" in llm.prompt(1)
    assert memory.errors
    assert {type(error) for error in memory.errors} == {StorageError}
    assert outcomes(alma) == ["unverified"]
    assert alma.list_memories("domain_knowledge") == []


def test_what_a_tool_cannot_do_is_told_in_the_log(broken: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    tools = [ALMARecallTool(broken, agent="Coder"), ALMARememberTool(broken, agent="Coder")]
    broken.close()
    llm = ScriptedLLM(use("save_fact", topic="birds", fact="heron"), use("recall_memory", query="bird"), "done")
    assert crew(task(DEPLOY, agent(llm, tools=tools))).kickoff().raw == "done"
    told = [record.getMessage() for record in caplog.records if record.name == "alma"]
    assert [message.partition(": ")[0] for message in told] == ["save_fact gave no answer", "recall_memory gave no answer"]


def test_a_user_that_cannot_be_told_keeps_no_crew_from_its_work(alma: ALMA) -> None:
    memory = ALMAMemory(alma, user_id=lambda _: {}["user"])
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
    assert [record.getMessage() for record in caplog.records if record.name == "alma" and "run of" in record.getMessage()] == [
        "run of Coder: retrieved 0, cited none, learned no step, 1 step, unverified"
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


@CrewBase
class Releasing:
    """A crew as CrewAI's template for projects has it."""

    agents_config: ClassVar[dict[str, object]] = {}
    tasks_config: ClassVar[dict[str, object]] = {}

    @agent_of_the_crew
    def coder(self) -> Agent:
        return agent(ScriptedLLM(use("bad_tool", text="a"), "gave up"), tools=[bad_tool])

    @task_of_the_crew
    def deploying(self) -> Task:
        return task(DEPLOY, self.coder())

    @the_crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks, verbose=False)


def test_a_crew_of_a_project_gets_its_memory_when_it_is_built(alma: ALMA) -> None:
    alma.add_heuristic("Coder", DEPLOY, "roll out blue-green")
    made = Releasing().crew()
    memory = attach_alma(made, alma)
    made.kickoff()
    memory.close()
    (record,) = alma.recent_episodes()
    assert (record.outcome, len(record.steps), len(record.shown)) == ("unverified", 1, 1)
    assert "blue-green" in made.agents[0].llm.prompt()


def test_attaching_names_agents_that_recall_from_something_else(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    from crewai.memory.unified_memory import Memory

    from alma_crewai import ALMAStorage

    own = Memory(llm="none", storage=ALMAStorage(alma), embedder=lambda texts: [[0.0] for _ in texts])
    attach_alma(crew(task(DEPLOY, agent(ScriptedLLM(), memory=own))), alma).close()
    assert "'Coder' has a memory of its own" in caplog.text
