"""Whichever way a crew is started, each task that it does is one episode, and stored when the crew is done."""

import asyncio
import builtins
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from crewai import Agent, Crew, Process
from crewai.context import get_current_task_id
from crewai.events.types.memory_events import MemoryRetrievalCompletedEvent
from crewai.flow.flow import Flow, start
from crewai.lite_agent import LiteAgent
from crewai.state.checkpoint_config import CheckpointConfig

from alma import ALMA
from alma.integration import RunContext
from alma_crewai import ALMAMemory
from crews import Message, ScriptedLLM, agent, bad_tool, crew, crewai_event_bus, good_tool, task, tool, use
from stores import rows

DEPLOY = "Deploy the auth service"


def told(alma: ALMA) -> list[tuple[object, ...]]:
    """What is kept of all episodes, oldest first, without ids and times."""
    return [
        (
            record.agent,
            record.task,
            record.outcome,
            tuple((step.action, step.ok) for step in record.steps),
            tuple((shown.tag, shown.used) for shown in record.shown),
        )
        for record in reversed(alma.recent_episodes(limit=100))
    ]


def two_tasks(memory: ALMAMemory, **settings: object) -> Crew:
    llm = ScriptedLLM(use("bad_tool", text="a"), "by [H1]", "written")
    worker = agent(llm, tools=[bad_tool])
    return crew(task(DEPLOY, worker), task("Write about penguins", worker), memory=memory, **settings)


async def drained(made: Crew) -> None:
    async for _ in await made.kickoff_async():
        pass


def streamed(made: Crew) -> None:
    for _ in made.kickoff():
        pass


def first_async(made: Crew) -> Crew:
    """The first task on a thread of its own; the second waits for it."""
    first, second = made.tasks
    first.async_execution = True
    second.context = [first]
    return made


def last_async(made: Crew) -> Crew:
    """The last task on a thread of its own."""
    made.tasks[1].async_execution = True
    return made


WAYS: dict[str, tuple[dict[str, object], Callable[[Crew], object]]] = {
    "kickoff": ({}, lambda made: made.kickoff()),
    "kickoff_async": ({}, lambda made: asyncio.run(made.kickoff_async())),
    "akickoff": ({}, lambda made: asyncio.run(made.akickoff())),
    "stream": ({"stream": True}, streamed),
    "stream_async": ({"stream": True}, lambda made: asyncio.run(drained(made))),
    "async_execution": ({}, lambda made: first_async(made).kickoff()),
    "async_execution_of_the_last": ({}, lambda made: last_async(made).kickoff()),
    "akickoff_with_async_execution": ({}, lambda made: asyncio.run(first_async(made).akickoff())),
}


def learned(alma: ALMA, folder: Path) -> list[object]:
    """The memories of what happened, what the steps tried came to, and how shown memories were used, oldest first."""
    whole = folder / "alma" / "alma.db"
    outcomes = alma.list_memories("outcome", newest_first=False)
    tried = alma.strategies(agent="Coder", include_steps=True)
    return [
        [(made.agent, made.task_description, made.outcome, made.strategy_used, made.error_message) for made in outcomes],
        [(row.agent, row.strategy, row.successes, row.trials, row.unverified) for row in tried],
        rows(whole, "SELECT used, ignored, credited_successes, credited_trials FROM usage ORDER BY memory"),
    ]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_start_a_crew_keeps_the_same(alma: ALMA, memory: ALMAMemory, tmp_path: Path, way: str) -> None:
    alma.add_heuristic("Coder", DEPLOY, "roll out blue-green")
    settings, begin = WAYS[way]
    begin(two_tasks(memory, **settings))
    assert told(alma) == [
        ("Coder", DEPLOY, "unverified", (('bad_tool(text="a")', False),), (("H1", True),)),
        ("Coder", "Write about penguins", "unverified", (), ()),
    ]
    boom = 'bad_tool(text="a")', "RuntimeError: boom"
    assert learned(alma, tmp_path) == [
        [("Coder", DEPLOY, "failure", *boom), ("Coder", DEPLOY, "unverified", "", None)],
        [("Coder", boom[0], 0, 1, 0)],
        [(1, 0, 0, 0)],
    ]
    assert memory.errors == []


@pytest.mark.parametrize("begin", [lambda made: made.kickoff(), lambda made: asyncio.run(made.akickoff())], ids=["sync", "async"])
def test_tasks_side_by_side_are_kept_apart(alma: ALMA, memory: ALMAMemory, begin: Callable[[Crew], object]) -> None:
    coder = agent(ScriptedLLM(use("bad_tool", text="a"), "gave up"), tools=[bad_tool])
    tester = agent(ScriptedLLM(use("good_tool", text="b"), "tested"), "Tester", tools=[good_tool])
    first = task(DEPLOY, coder, async_execution=True)
    second = task("Test the login form", tester, async_execution=True)
    last = task("Write about penguins", agent(ScriptedLLM("written"), "Writer"), context=[first, second])
    begin(crew(first, second, last, memory=memory))
    assert sorted(told(alma)) == [
        ("Coder", DEPLOY, "unverified", (('bad_tool(text="a")', False),), ()),
        ("Tester", "Test the login form", "unverified", (('good_tool(text="b")', True),), ()),
        ("Writer", "Write about penguins", "unverified", (), ()),
    ]


@pytest.mark.parametrize("is_one_project", [True, False], ids=["one project", "two projects"])
def test_crews_that_work_in_step_do_not_mix(alma: ALMA, is_one_project: bool) -> None:
    """Both are asked, call a tool, answer and begin their second task at the same time."""
    meeting = threading.Barrier(2, timeout=20)

    def together(reply: object) -> Callable[[object], object]:
        return lambda messages: meeting.wait() >= 0 and reply

    @tool("meet")
    def meet(text: str) -> str:
        """Waits for the other."""
        meeting.wait()
        return f"fine: {text}"

    def one(memory: ALMAMemory, role: str, word: str) -> tuple[Crew, ScriptedLLM, str]:
        lesson = memory.recorder.integration.alma.add_heuristic(role, f"Bring the {word}", f"{word} first").id
        llm = ScriptedLLM(*map(together, (use("meet", text=word), f"{word} by [H1]", use("meet", text=f"{word} again"), "done")))
        worker = agent(llm, role, tools=[meet])
        return crew(task(f"Bring the {word}", worker), task(f"Return the {word}", worker), memory=memory), llm, lesson

    async def both(first: Crew, second: Crew) -> None:
        await asyncio.gather(first.akickoff(), second.akickoff())

    other = alma if is_one_project else alma.for_project("other")
    left = ALMAMemory(alma)
    right = left if is_one_project else ALMAMemory(other)
    made = {"Left": ("hammer", alma, one(left, "Left", "hammer")), "Right": ("violin", other, one(right, "Right", "violin"))}
    asyncio.run(both(*(each[0] for _, _, each in made.values())))
    for role, (word, home, (_, llm, lesson)) in made.items():
        found = [record for record in reversed(home.recent_episodes()) if record.agent == role]
        assert [record.task for record in found] == [f"Bring the {word}", f"Return the {word}"]
        assert [[step.action for step in record.steps] for record in found] == [
            ["meet(text)"],
            [f'meet(text="{word} again")'],
        ]
        assert (found[0].used, found[0].credited) == ((lesson,), (lesson,))
        assert {home.get(shown.memory_id).agent for record in found for shown in record.shown} == {role}
        assert {home.get(record.outcome_id).agent for record in found} == {role}
        others = "violin" if word == "hammer" else "hammer"
        assert len(llm.asked) == 4
        assert others not in "".join(map(llm.prompt, range(4)))
    assert len(alma.recent_episodes()) == (4 if is_one_project else 2)
    assert left.errors == right.errors == []
    left.close()
    right.close()


def test_many_copies_at_once_are_kept_apart(alma: ALMA, memory: ALMAMemory) -> None:
    def busy(messages: list[Message]) -> object:
        if messages[-1]["role"] == "tool":
            return "done"
        thing = next(word for word in ("hammer", "violin") if word in str(messages))
        return use("good_tool", text=thing)

    made = crew(task("Bring the {thing}", agent(ScriptedLLM(busy), tools=[good_tool])), memory=memory)
    asyncio.run(made.akickoff_for_each([{"thing": "hammer"}, {"thing": "violin"}]))
    assert sorted(told(alma)) == [
        ("Coder", "Bring the hammer", "unverified", (("good_tool(text)", True),), ()),
        ("Coder", "Bring the violin", "unverified", (("good_tool(text)", True),), ()),
    ]


def test_a_crew_that_is_cancelled_says_nothing_about_its_task(alma: ALMA, memory: ALMAMemory) -> None:
    began, released = threading.Event(), threading.Event()

    def wait(messages: object) -> str:
        began.set()
        released.wait(20)
        return "too late"

    async def cut_short() -> None:
        going = asyncio.create_task(crew(task(DEPLOY, agent(ScriptedLLM(wait))), memory=memory).akickoff())
        assert await asyncio.to_thread(began.wait, 20)
        going.cancel()
        released.set()
        with pytest.raises(asyncio.CancelledError):
            await going

    asyncio.run(cut_short())
    (record,) = alma.recent_episodes()
    assert (record.status, record.outcome) == ("abandoned", None)
    assert "CancelledError" in record.reason
    assert memory.errors == []


def test_a_crew_for_each_of_many_inputs_learns_into_the_same_memory(alma: ALMA, memory: ALMAMemory) -> None:
    made = crew(task("Bring the {thing}", agent(ScriptedLLM())), memory=memory)
    made.kickoff_for_each([{"thing": "hammer"}, {"thing": "violin"}, {"thing": "kettle"}])
    assert [record[1] for record in told(alma)] == ["Bring the hammer", "Bring the violin", "Bring the kettle"]
    copied = made.copy()
    assert copied._memory is memory
    copied.kickoff({"thing": "lamp"})
    assert told(alma)[3][1] == "Bring the lamp"


def test_a_role_with_an_input_is_one_agent_with_what_it_learned_for_all_inputs(
    alma: ALMA, memory: ALMAMemory, caplog: pytest.LogCaptureFixture
) -> None:
    llm = ScriptedLLM(use("bad_tool", text="a"), "gave up", "understood")
    made = crew(task("Test the page", agent(llm, "Tester of {page}", tools=[bad_tool])), memory=memory)
    made.kickoff_for_each([{"page": "login"}, {"page": "checkout"}])
    assert [record[0] for record in told(alma)] == ["Tester of {page}"] * 2
    assert "boom" in llm.prompt(2)
    assert "did you mean" not in caplog.text


def test_a_function_of_the_run_may_group_agents_otherwise(alma: ALMA) -> None:
    seen: list[object] = []

    def by_page(run: RunContext) -> str:
        seen.append((run.context.role, run.context.agent.role, run.context.task.description, run.metadata))
        return f"tester-{run.metadata['page']}"

    memory = ALMAMemory(alma, agent=by_page)
    made = crew(task("Test the page", agent(ScriptedLLM("done"), "Tester of {page}")), memory=memory)
    made.kickoff({"page": "login"})
    memory.close()
    assert [record[0] for record in told(alma)] == ["tester-login"]
    assert seen == [("Tester of {page}", "Tester of login", "Test the page", {"page": "login"})]


def test_a_memory_that_an_agent_has_is_given_back_to_its_copies(alma: ALMA, memory: ALMAMemory) -> None:
    alma.add_heuristic("Coder", "Bring the hammer", "with both hands")
    llm = ScriptedLLM()
    made = crew(task("Bring the {thing}", agent(llm, memory=memory)))
    made.kickoff_for_each([{"thing": "hammer"}, {"thing": "violin"}])
    assert "with both hands" in llm.prompt(0)
    assert [record[:2] for record in told(alma)] == [("Coder", "Bring the hammer"), ("Coder", "Bring the violin")]


@pytest.mark.parametrize("learn", [True, False])
def test_copies_of_a_memory_that_only_recalls_work_without_it_and_warn(
    alma: ALMA, caplog: pytest.LogCaptureFixture, learn: bool
) -> None:
    alma.add_heuristic("Coder", "Bring the hammer", "with both hands")
    memory, llm = ALMAMemory(alma, learn=learn), ScriptedLLM("done")
    made = crew(task("Bring the {thing}", agent(llm, memory=memory)))
    done = made.kickoff_for_each([{"thing": "hammer"}])
    memory.close()
    assert [each.raw for each in done] == ["done"]
    assert ("with both hands" in llm.prompt()) is learn
    assert ("Give the ALMAMemory to the crew instead of an agent" in caplog.text) is not learn


def test_an_agent_copied_by_itself_warns_and_tries_no_network(
    alma: ALMA, memory: ALMAMemory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key that nobody asked to be used")
    copied = agent(ScriptedLLM("done"), memory=memory).copy()
    assert not isinstance(copied.memory, ALMAMemory)
    assert copied.kickoff("Bring the hammer").raw == "done"
    assert "Give the ALMAMemory to the crew instead of an agent" in caplog.text
    assert alma.list_memories() == []


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_without_a_crew_recalls_and_learns(alma: ALMA, memory: ALMAMemory, is_async: bool) -> None:
    alma.add_heuristic("Coder", DEPLOY, "roll out blue-green")
    llm = ScriptedLLM(use("good_tool", text="a"), "as [H1] says")
    worker = agent(llm, memory=memory, tools=[good_tool])
    asyncio.run(worker.kickoff_async(DEPLOY)) if is_async else worker.kickoff(DEPLOY)
    assert "blue-green" in llm.prompt()
    assert told(alma) == [("Coder", DEPLOY, "unverified", (('good_tool(text="a")', True),), (("H1", True),))]


def test_an_agent_without_a_crew_has_no_task_and_is_warned_of_what_failed_before(alma: ALMA, memory: ALMAMemory) -> None:
    before: Crew = two_tasks(memory)
    before.kickoff()  # what is left of it in this context is none of the agent's
    tasks: list[tuple[object, object]] = []
    llm = ScriptedLLM(use("bad_tool", text="a"), "gave up", use("bad_tool", text="a"), "gave up", "understood")
    worker = agent(llm, "Fixer", memory=memory, tools=[bad_tool])
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(MemoryRetrievalCompletedEvent)
        def note(source: object, event: MemoryRetrievalCompletedEvent) -> None:
            tasks.append((event.task_id, get_current_task_id()))

        for _ in range(3):
            worker.kickoff(DEPLOY)
        crewai_event_bus.flush()
    assert tasks == [(None, None)] * 3
    assert "[A1]" not in llm.prompt(2)
    assert '[A1] bad_tool(text="a"): failed 2 of 2 times' in llm.prompt(4)
    assert "boom" in llm.prompt(4)
    assert [record[:3] for record in told(alma)[2:]] == [
        ("Fixer", DEPLOY, "unverified"),
        ("Fixer", DEPLOY, "unverified"),
        ("Fixer", DEPLOY, "unverified"),
    ]
    assert [warning.agent for warning in alma.list_memories("anti_pattern")] == ["Fixer"]


def test_an_agent_without_a_crew_that_fails_is_a_failure(alma: ALMA, memory: ALMAMemory) -> None:
    with pytest.raises(ConnectionError):
        agent(ScriptedLLM(ConnectionError("gone")), memory=memory, max_retry_limit=0).kickoff(DEPLOY)
    assert [record[:3] for record in told(alma)] == [("Coder", DEPLOY, "failure")]


def test_an_agent_without_a_crew_is_judged_by_its_guardrail(alma: ALMA, memory: ALMAMemory) -> None:
    verdicts = iter([(False, "again"), (True, "good")])
    agent(ScriptedLLM("bad", "good"), memory=memory, guardrail=lambda output: next(verdicts)).kickoff(DEPLOY)
    assert [record[:3] for record in told(alma)] == [("Coder", DEPLOY, "success")]


def test_crewais_old_kind_of_agent_recalls_and_is_not_recorded(alma: ALMA, memory: ALMAMemory) -> None:
    alma.add_heuristic("crew", DEPLOY, "roll out blue-green")
    llm = ScriptedLLM()
    agent(ScriptedLLM()).kickoff("Begin what CrewAI keeps of a run")
    with pytest.warns(FutureWarning, match="LiteAgent"):
        LiteAgent(role="Coder", goal="help", backstory="none", llm=llm, memory=memory).kickoff(DEPLOY)
    assert "blue-green" in llm.prompt()  # it does not say who it is
    assert told(alma) == []


def test_all_is_stored_when_a_crew_returns_or_fails(alma: ALMA, memory: ALMAMemory, tmp_path: Path) -> None:
    def ended() -> int:
        """How many have ended by what another connection reads."""
        return rows(tmp_path / "alma" / "alma.db", "SELECT count(*) FROM record WHERE kind = 'episode_end'")[0][0]

    two_tasks(memory).kickoff()
    assert (ended(), len(told(alma))) == (2, 2)
    with pytest.raises(ConnectionError):
        crew(task(DEPLOY, agent(ScriptedLLM(ConnectionError("gone")), max_retry_limit=0)), memory=memory).kickoff()
    assert (ended(), told(alma)[2][2]) == (3, "failure")


def test_work_that_is_delegated_is_the_coworkers(alma: ALMA, memory: ALMAMemory) -> None:
    alma.add_heuristic("Coder", "Fix the broken login", "look at the cookies first")
    boss = ScriptedLLM(
        use("delegate_work_to_coworker", task="Fix the broken login", context="none", coworker="Coder"), "all done"
    )
    hands = ScriptedLLM(use("bad_tool", text="a"), "fixed, see [H1]")
    worker = agent(hands, tools=[bad_tool])
    made = Crew(
        agents=[worker],
        tasks=[task("Make the login work")],
        process=Process.hierarchical,
        manager_agent=agent(boss, "Manager"),
        memory=memory,
        verbose=False,
    )
    made.kickoff()
    assert "look at the cookies first" in hands.prompt()
    assert "look at the cookies first" not in boss.prompt()
    manager, coder = sorted(told(alma), key=lambda record: record[0], reverse=True)
    assert coder == ("Coder", "Fix the broken login", "unverified", (('bad_tool(text="a")', False),), (("H1", True),))
    assert manager[:3] == ("Manager", "Make the login work", "unverified")
    assert [ok for _, ok in manager[3]] == [True]
    assert "fixed, see" not in "".join(record.model_dump_json() for record in alma.recent_episodes())


def test_a_manager_that_crewai_makes_is_an_agent_like_any(alma: ALMA, memory: ALMAMemory) -> None:
    boss = ScriptedLLM(use("delegate_work_to_coworker", task="Fix the login", context="none", coworker="Coder"), "all done")
    worker = agent(ScriptedLLM("fixed"))
    made = Crew(
        agents=[worker],
        tasks=[task("Make it work")],
        process=Process.hierarchical,
        manager_llm=boss,
        memory=memory,
        verbose=False,
    )
    made.kickoff()
    assert sorted(record[:2] for record in told(alma)) == [
        ("Coder", "Fix the login"),
        (f"Crew Manager ({made.key[:8]})", "Make it work"),
    ]
    assert memory.errors == []


def test_a_coworker_that_fails_is_a_failure_and_the_manager_goes_on(alma: ALMA, memory: ALMAMemory) -> None:
    boss = ScriptedLLM(use("ask_question_to_coworker", question="Is it up?", context="none", coworker="Coder"), "unknown")
    worker = agent(ScriptedLLM(ConnectionError("gone")), max_retry_limit=0)
    manager = agent(boss, "Manager", allow_delegation=True)
    crew(task("Say whether it is up", manager), agents=[manager, worker], memory=memory).kickoff()
    assert sorted(record[:3] for record in told(alma)) == [
        ("Coder", "Is it up?", "failure"),
        ("Manager", "Say whether it is up", "unverified"),
    ]
    assert "gone" in next(record.error for record in alma.recent_episodes() if record.agent == "Coder")


def test_a_crew_inside_a_flow_learns(alma: ALMA, memory: ALMAMemory) -> None:
    class Release(Flow):
        @start()
        def deploy(self) -> str:
            return two_tasks(memory).kickoff().raw

    assert Release().kickoff() == "written"
    assert [record[1:3] for record in told(alma)] == [(DEPLOY, "unverified"), ("Write about penguins", "unverified")]


def test_a_flow_keeps_and_finds_notes(alma: ALMA, memory: ALMAMemory) -> None:
    class Noting(Flow):
        @start()
        def note(self) -> list[str]:
            self.remember("The staging cluster is called heron")
            return [match.record.content for match in self.recall("name of the staging cluster")]

    (found,) = Noting(memory=memory).kickoff()
    assert "heron" in found
    assert [note.agent for note in alma.list_memories("domain_knowledge")] == ["crew"]


def test_a_crew_that_a_tool_starts_is_kept_apart_from_the_task_around_it(alma: ALMA, memory: ALMAMemory) -> None:
    @tool("outsource")
    def outsource(text: str) -> str:
        """Has another crew do it."""
        helper = agent(ScriptedLLM(use("bad_tool", text="b"), "did it"), "Helper", tools=[bad_tool])
        return crew(task("Sweep the floor", helper), memory=memory).kickoff().raw

    crew(task(DEPLOY, agent(ScriptedLLM(use("outsource", text="a"), "done"), tools=[outsource])), memory=memory).kickoff()
    assert sorted(told(alma)) == [
        ("Coder", DEPLOY, "unverified", (('outsource(text="a")', True),), ()),
        ("Helper", "Sweep the floor", "unverified", (('bad_tool(text="b")', False),), ()),
    ]


def test_training_goes_through_and_claims_no_success(
    alma: ALMA, memory: ALMAMemory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(builtins, "input", lambda *_: "shorter")
    quality = '{"suggestions": ["shorter"], "quality": 8, "final_summary": "fine"}'
    worker: Agent = agent(ScriptedLLM("a long answer", "short", quality))
    crew(task(DEPLOY, worker), memory=memory).train(n_iterations=1, filename="trained.pkl")
    assert [record[:3] for record in told(alma)] == [("Coder", DEPLOY, "unverified")]
    assert memory.errors == []


def test_a_replay_records_the_tasks_that_are_done_again(alma: ALMA, memory: ALMAMemory) -> None:
    made = two_tasks(memory)
    made.kickoff()
    made.replay(str(made.tasks[1].id))
    assert [record[1:3] for record in told(alma)] == [
        (DEPLOY, "unverified"),
        ("Write about penguins", "unverified"),
        ("Write about penguins", "unverified"),
    ]
    assert memory.errors == []


def checkpoint_after_the_first_task(memory: ALMAMemory, folder: Path) -> Path:
    """Runs a crew until CrewAI wrote both checkpoints. On a busy machine its writer, a thread, now and then panics, as the crew changes meanwhile."""
    for number in range(5):
        place = folder / f"checkpoints-{number}"
        worker = agent(ScriptedLLM("deployed"))
        tasks = (task(DEPLOY, worker), task("Write about penguins", worker))
        crew(*tasks, memory=memory, checkpoint=CheckpointConfig(location=str(place))).kickoff()
        first, *others = sorted(place.rglob("*.json"), key=lambda path: "_p-none" not in path.stem) or [place]
        if len(others) == len(tasks) - 1:
            return first
    raise AssertionError("CrewAI did not write its checkpoints in five runs")


def test_a_crew_restored_from_a_checkpoint_goes_on_with_its_memory(alma: ALMA, memory: ALMAMemory, tmp_path: Path) -> None:
    restored = Crew.from_checkpoint(CheckpointConfig(restore_from=str(checkpoint_after_the_first_task(memory, tmp_path))))
    assert not isinstance(restored._memory, ALMAMemory)
    for each in [*restored.agents, *(one.agent for one in restored.tasks)]:
        each.llm = ScriptedLLM("written")
    assert restored.kickoff().raw == "written"
    assert restored._memory is memory
    assert [record[1] for record in told(alma)][-3:] == [DEPLOY, "Write about penguins", "Write about penguins"]
    assert memory.errors == []
