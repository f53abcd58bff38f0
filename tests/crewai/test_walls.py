"""What belongs to a task is recorded for it, in the memory of the agent that did it, and nothing else is."""

import asyncio
import gc
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crewai import Agent, Crew

from alma import ALMA
from alma_crewai import ALMACrewListener, ALMAMemory
from crews import ScriptedLLM, agent, bad_tool, crew, good_tool, task, tool, use

DEPLOY = "Deploy the auth service"
OTHERS_FAILED = use("bad_tool", text="of another")


def told(alma: ALMA) -> list[tuple[object, ...]]:
    """Agent, task, status, outcome and steps of all episodes, oldest first."""
    return [
        (record.agent, record.task, str(record.status), record.outcome, tuple(step.action for step in record.steps))
        for record in reversed(alma.recent_episodes(limit=100))
    ]


def interrupt(messages: object) -> str:
    raise KeyboardInterrupt


@pytest.fixture
def listener(alma: ALMA) -> Iterator[ALMACrewListener]:
    made = ALMACrewListener(alma)
    yield made
    made.close()


def delegating(coworker_memory: ALMAMemory, memory: ALMAMemory) -> ScriptedLLM:
    """A manager has a coworker with a memory of its own fix the login."""
    boss = ScriptedLLM(use("delegate_work_to_coworker", task="Fix login", context="none", coworker="Coder"), "all done")
    hands = ScriptedLLM(use("good_tool", text="theirs"), "fixed by [H1]")
    worker = agent(hands, tools=[good_tool], memory=coworker_memory)
    manager = agent(boss, "Manager", allow_delegation=True)
    crew(task("Make it", manager), agents=[manager, worker], memory=memory).kickoff()
    return hands


def test_a_coworker_with_the_memory_of_another_project_is_recorded_there_and_nowhere_else(alma: ALMA, memory: ALMAMemory) -> None:
    other = alma.for_project("other")
    other.add_heuristic("Coder", "Fix login", "look at the cookies")
    theirs = ALMAMemory(other)
    assert "look at the cookies" in delegating(theirs, memory).prompt()
    theirs.close()
    assert [record[:2] for record in told(alma)] == [("Manager", "Make it")]
    assert told(other) == [("Coder", "Fix login", "ended", "unverified", ('good_tool(text="theirs")',))]
    assert [(shown.tag, shown.used) for shown in other.recent_episodes()[0].shown] == [("H1", True)]
    assert "theirs" not in "".join(memory.model_dump_json() for memory in alma.list_memories())


def test_a_coworker_whose_memory_does_not_learn_is_not_recorded(alma: ALMA, memory: ALMAMemory) -> None:
    delegating(ALMAMemory(alma, learn=False), memory)
    assert [record[:2] for record in told(alma)] == [("Manager", "Make it")]
    assert "Fix login" in str(alma.recent_episodes()[0].steps)  # that it was delegated is a step of the manager's


LONG = "all that the manager knows, " * 40 + "and a walrus"


def written(folder: Path) -> bytes:
    """All that ALMA has on the disk."""
    return b"".join(path.read_bytes() for path in (folder / "alma").iterdir())


@pytest.mark.parametrize("is_native", [True, False], ids=["native", "written"])
@pytest.mark.parametrize("name", ["delegate_work_to_coworker", "ask_question_to_coworker"])
def test_a_delegation_is_kept_like_any_call_and_without_the_answer(
    alma: ALMA, memory: ALMAMemory, tmp_path: Path, is_native: bool, name: str
) -> None:
    what = "task" if name.startswith("delegate") else "question"
    arguments = {what: "Fix login", "context": LONG, "coworker": "Coder", "api_key": "sk-9f8e7d6c"}
    call = use(name, **arguments) if is_native else f"Thought: t\nAction: {name}\nAction Input: {json.dumps(arguments)}"
    boss = ScriptedLLM(call, "Thought: I know\nFinal Answer: all done", native=is_native)
    manager = agent(boss, "Manager", allow_delegation=True)
    hands = ScriptedLLM("a zebra did it")
    crew(task("Make it", manager), agents=[manager, agent(hands)], memory=memory).kickoff()
    assert "a zebra did it" in boss.prompt(1)
    coder, ours = sorted(alma.recent_episodes(), key=lambda record: record.agent)
    assert (coder.agent, coder.task, coder.outcome, coder.strategy) == ("Coder", "Fix login", "unverified", None)
    (step,) = ours.steps
    assert (step.tool, step.ok, step.output) == (name, True, None)
    assert step.action == f'{name}(api_key, context, coworker="Coder", {what}="Fix login")'
    kept = written(tmp_path)
    assert [word in kept for word in (b"all that the manager knows", b"sk-9f8e7d6c", b"zebra", b"walrus")] == [
        False,
        False,
        False,
        False,
    ]


def test_a_coworkers_failure_is_the_coworkers_and_nobody_to_delegate_to_is_the_managers(alma: ALMA, memory: ALMAMemory) -> None:
    def delegated(coworker: str) -> object:
        return use("delegate_work_to_coworker", task="Fix login", context="none", coworker=coworker)

    boss = ScriptedLLM(delegated("Coder"), delegated("Plumber"), "unknown")
    manager = agent(boss, "Manager", allow_delegation=True)
    worker = agent(ScriptedLLM(ConnectionError("gone")), max_retry_limit=0)
    crew(task("Make it", manager), agents=[manager, worker], memory=memory).kickoff()
    found = {record.agent: record for record in alma.recent_episodes()}
    assert (found["Coder"].outcome, found["Coder"].error) == ("failure", "gone")
    coder, plumber = found["Manager"].steps
    assert (coder.ok, coder.error, coder.output) == (None, None, None)
    assert (plumber.ok, "coworker mentioned not found" in plumber.error) == (False, True)
    assert found["Manager"].outcome == "unverified"
    assert {made.agent for made in alma.list_memories("outcome") if "not found" in (made.error_message or "")} == {"Manager"}


def test_a_coworker_without_a_memory_is_recorded_by_the_listener_if_there_is_one(alma: ALMA, listener: ALMACrewListener) -> None:
    boss = ScriptedLLM(use("delegate_work_to_coworker", task="Fix login", context="none", coworker="Coder"), "all done")
    manager = agent(boss, "Manager", allow_delegation=True)
    made = crew(task("Make it", manager), agents=[manager, agent(ScriptedLLM("fixed"))])
    made.kickoff()
    assert sorted(record[:2] for record in told(alma)) == [("Coder", "Fix login"), ("Manager", "Make it")]
    listener.close()
    made.kickoff()
    assert len(told(alma)) == 2


def test_coworkers_who_work_at_the_same_time_are_kept_apart(alma: ALMA, memory: ALMAMemory) -> None:
    meeting = threading.Barrier(2, timeout=20)

    def worker(role: str, word: str) -> Agent:
        alma.add_heuristic(role, f"Bring the {word}", f"{word} first")
        llm = ScriptedLLM(
            *(lambda _, reply=reply: meeting.wait() >= 0 and reply for reply in (use("good_tool", text=word), "[H1]"))
        )
        return agent(llm, role, tools=[good_tool])

    def delegated(role: str, word: str) -> dict[str, object]:
        call = use("delegate_work_to_coworker", task=f"Bring the {word}", context="none", coworker=role)[0]
        return {**call, "id": role}

    pairs = {"Left": "hammer", "Right": "violin"}
    manager = agent(ScriptedLLM([delegated(*pair) for pair in pairs.items()], "all done"), "Manager", allow_delegation=True)
    workers = [worker(*pair) for pair in pairs.items()]
    crew(task("Bring both", manager), agents=[manager, *workers], memory=memory).kickoff()
    found = {record.agent: record for record in alma.recent_episodes()}
    for role, word in pairs.items():
        assert [step.action for step in found[role].steps] == ["good_tool(text)"]
        assert [alma.get(used).strategy for used in found[role].used] == [f"{word} first"]
    assert [step.ok for step in found["Manager"].steps] == [True, True]
    assert (len(found), len(alma.recent_episodes()), memory.errors) == (3, 3, [])


def test_a_coworkers_work_is_judged_by_the_evaluator_and_not_by_the_managers_guardrail(alma: ALMA) -> None:
    asked = []
    memory = ALMAMemory(alma, evaluator=lambda run: asked.append((run.task, run.answer)))
    boss = ScriptedLLM(use("delegate_work_to_coworker", task="Fix login", context="none", coworker="Coder"), "all done")
    manager = agent(boss, "Manager", allow_delegation=True)
    made = task("Make it", manager, guardrail=lambda output: (True, output.raw))
    crew(made, agents=[manager, agent(ScriptedLLM("fixed"))], memory=memory).kickoff()
    memory.close()
    assert asked == [("Fix login", "fixed"), ("Make it", "all done")]
    assert {record.agent: record.outcome for record in alma.recent_episodes()} == {"Coder": "unverified", "Manager": "success"}


@tool("ask_an_agent")
def ask_an_agent(text: str) -> str:
    """Starts an agent without a crew."""
    return agent(ScriptedLLM(OTHERS_FAILED, "did it"), "Helper", tools=[bad_tool]).kickoff("Sweep").raw


@tool("ask_a_crew")
def ask_a_crew(text: str) -> str:
    """Starts a crew without a memory."""
    helper = agent(ScriptedLLM(OTHERS_FAILED, "did it"), "Helper", tools=[bad_tool])
    return crew(task("Sweep the floor", helper)).kickoff().raw


@pytest.mark.parametrize("started", [ask_an_agent, ask_a_crew])
@pytest.mark.parametrize("is_native", [True, False], ids=["native", "written"])
def test_what_a_tool_starts_is_no_step_of_the_task(alma: ALMA, memory: ALMAMemory, started, is_native: bool) -> None:
    written = f'Thought: t\nAction: {started.name}\nAction Input: {{"text": "a"}}', "Thought: I know\nFinal Answer: done"
    replies = (use(started.name, text="a"), "done") if is_native else written
    crew(task(DEPLOY, agent(ScriptedLLM(*replies, native=is_native), tools=[started])), memory=memory).kickoff()
    assert told(alma) == [("Coder", DEPLOY, "ended", "unverified", (f'{started.name}(text="a")',))]


def test_a_crew_of_another_project_inside_of_a_tool_is_recorded_there(alma: ALMA, memory: ALMAMemory) -> None:
    other = alma.for_project("other")
    theirs = ALMAMemory(other)

    @tool("outsource")
    def outsource(text: str) -> str:
        """Has another crew do it."""
        helper = agent(ScriptedLLM(OTHERS_FAILED, "did it"), "Helper", tools=[bad_tool])
        return crew(task("Sweep the floor", helper), memory=theirs).kickoff().raw

    crew(task(DEPLOY, agent(ScriptedLLM(use("outsource", text="a"), "done"), tools=[outsource])), memory=memory).kickoff()
    theirs.close()
    assert told(alma) == [("Coder", DEPLOY, "ended", "unverified", ('outsource(text="a")',))]
    assert [record[:2] for record in told(other)] == [("Helper", "Sweep the floor")]


def test_what_a_judge_does_in_a_guardrail_is_no_step_of_the_task(alma: ALMA, memory: ALMAMemory) -> None:
    def judged(output: object) -> tuple[bool, str]:
        judge = agent(ScriptedLLM(OTHERS_FAILED, "fine"), "Judge", tools=[bad_tool], guardrail=lambda answer: (True, answer.raw))
        judge.kickoff("judge it")
        return True, "done"

    crew(task(DEPLOY, agent(ScriptedLLM("done")), guardrail=judged), memory=memory).kickoff()
    assert told(alma) == [("Coder", DEPLOY, "ended", "success", ())]


@pytest.mark.parametrize("way", ["a crew", "an agent"])
def test_after_an_interrupt_and_closing_nothing_is_added(alma: ALMA, way: str) -> None:
    listener, memory = ALMACrewListener(alma), ALMAMemory(alma)
    worker = agent(ScriptedLLM(use("good_tool", text="a"), interrupt), tools=[good_tool])
    begin: Callable[[], object] = crew(task(DEPLOY, worker)).kickoff
    if way == "an agent":
        worker.memory = memory
        begin = lambda: worker.kickoff(DEPLOY)  # noqa: E731
    with pytest.raises(KeyboardInterrupt):
        begin()
    listener.close()
    memory.close()
    agent(ScriptedLLM(OTHERS_FAILED, "done"), "Stranger", tools=[bad_tool]).kickoff("something else")
    assert told(alma) == [("Coder", DEPLOY, "abandoned", None, ('good_tool(text="a")',))]


def test_what_was_interrupted_is_closed_when_something_else_begins(alma: ALMA, listener: ALMACrewListener) -> None:
    worker = agent(ScriptedLLM(use("good_tool", text="a"), interrupt), tools=[good_tool])
    with pytest.raises(KeyboardInterrupt):
        crew(task(DEPLOY, worker)).kickoff()
    crew(task("Write about penguins", agent(ScriptedLLM(OTHERS_FAILED, "done"), "Writer", tools=[bad_tool]))).kickoff()
    assert [record[:4] for record in told(alma)] == [
        ("Coder", DEPLOY, "abandoned", None),
        ("Writer", "Write about penguins", "ended", "unverified"),
    ]


def test_closing_in_the_middle_of_a_task_ends_it_without_a_verdict(alma: ALMA) -> None:
    memory = ALMAMemory(alma)
    llm = ScriptedLLM(use("good_tool", text="a"), lambda messages: memory.close() or use("bad_tool", text="b"), "done")
    assert crew(task(DEPLOY, agent(llm, tools=[good_tool, bad_tool])), memory=memory).kickoff().raw == "done"
    assert told(alma) == [("Coder", DEPLOY, "abandoned", None, ('good_tool(text="a")',))]
    assert memory.errors == []


def test_a_listener_that_nobody_keeps_listens_until_it_is_closed(alma: ALMA) -> None:
    from alma_crewai import recorders

    ALMACrewListener(alma)
    gc.collect()
    crew(task(DEPLOY, agent(ScriptedLLM("done")))).kickoff()
    for left in list(recorders.OPEN):
        left.close()
    assert [record[:2] for record in told(alma)] == [("Coder", DEPLOY)]


PLAN = '{"list_of_plans_per_task": [{"task_number": 1, "task": "t", "plan": " First dance."}]}'


@pytest.mark.parametrize("inputs", [None, {"thing": "auth service"}])
def test_the_planner_is_no_agent_of_the_crew_and_its_plan_no_part_of_the_task(
    alma: ALMA, listener: ALMACrewListener, inputs: dict[str, str] | None
) -> None:
    llm = ScriptedLLM("done")
    made = crew(
        task("Deploy the {thing}" if inputs else DEPLOY, agent(llm)), planning=True, planning_llm=ScriptedLLM(PLAN, native=False)
    )
    made.kickoff(inputs)
    made.kickoff(inputs)
    assert "First dance." in llm.prompt()
    assert [record[:2] for record in told(alma)] == [("Coder", DEPLOY)] * 2


@pytest.mark.parametrize("has_memory", [True, False])
def test_crewais_evaluator_is_no_agent_of_the_crew(alma: ALMA, has_memory: bool) -> None:
    listener, memory = ALMACrewListener(alma), ALMAMemory(alma)
    made: Crew = crew(task(DEPLOY, agent(ScriptedLLM("a secret answer"))), memory=memory if has_memory else None)
    made.test(n_iterations=1, eval_llm=ScriptedLLM('{"quality": 8.0}', native=False))
    listener.close()
    memory.close()
    assert [record[:2] for record in told(alma)] == [("Coder", DEPLOY)]


def test_a_cancelled_crew_without_memory_is_closed_by_closing_its_listener(alma: ALMA) -> None:
    listener = ALMACrewListener(alma)

    def cancelled(messages: object) -> str:
        raise asyncio.CancelledError

    worker = agent(ScriptedLLM(use("good_tool", text="a"), cancelled), tools=[good_tool])
    with pytest.raises(asyncio.CancelledError):
        crew(task(DEPLOY, worker)).kickoff()
    listener.close()
    assert [record[:4] for record in told(alma)] == [("Coder", DEPLOY, "abandoned", None)]
