"""Runs that wait for a person, and runs that nobody waits for any more."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolErrorMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from alma import ALMA
from alma_langchain import ALMAMiddleware
from scripted import QUESTION, TASK, call, deploy, only_run, runs, scripted, steps
from ways import Way

THREAD = {"configurable": {"thread_id": "t1"}}


@tool
def ask_a_person(question: str) -> str:
    """Asks a person."""
    return str(interrupt(question))


def test_an_interrupt_is_no_step_and_the_run_goes_on_when_it_is_resumed(way: Way, alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    agent = way.agent(
        call("ask_a_person", question="Now?"), "As [H1] says: done.", tools=[ask_a_person], checkpointer=InMemorySaver()
    )
    way.invoke(agent, **THREAD)
    assert [run.status for run in alma.recent_episodes()] == (["open"] if way.has_middleware else [])  # a handler has no step yet
    assert steps(alma) == []
    assert alma.list_memories() == [rule]
    alma.add_heuristic("dev", TASK, "rolling")
    way.invoke(agent, Command(resume="yes"), **THREAD)
    record = only_run(alma)
    assert runs(alma) == [("dev", "unverified")]
    assert steps(alma) == [('ask_a_person(question="Now?")', True, None)]
    assert [shown.memory_id for shown in record.shown] == ([rule.id] if way.has_middleware else [])
    assert [shown.used for shown in record.shown] == ([True] if way.has_middleware else [])


def test_a_run_that_a_person_has_to_approve_goes_on_with_the_same_episode(way: Way, alma: ALMA) -> None:
    approve = HumanInTheLoopMiddleware(interrupt_on={"deploy": True})
    agent = way.agent(call("deploy", way="blue-green"), "Done.", inner=[approve], checkpointer=InMemorySaver())
    way.invoke(agent, **THREAD)
    assert steps(alma) == []
    way.invoke(agent, Command(resume={"decisions": [{"type": "approve"}]}), **THREAD)
    assert runs(alma) == [("dev", "unverified")]
    assert steps(alma) == [('deploy(way="blue-green")', True, None)]


def test_what_a_person_changes_in_a_call_is_told_as_it_was_made(way: Way, alma: ALMA) -> None:
    ask = HumanInTheLoopMiddleware(interrupt_on={"deploy": True})
    agent = way.agent(call("deploy", way="rolling"), "Done.", inner=[ask], checkpointer=InMemorySaver())
    way.invoke(agent, **THREAD)
    changed = {"type": "edit", "edited_action": {"name": "deploy", "args": {"way": "blue-green"}}}
    way.invoke(agent, Command(resume={"decisions": [changed]}), **THREAD)
    assert steps(alma) == [('deploy(way="blue-green")', True, None)]


def test_a_call_that_a_person_rejects_was_not_made(way: Way, alma: ALMA) -> None:
    ask = HumanInTheLoopMiddleware(interrupt_on={"deploy": True})
    agent = way.agent(call("deploy", way="rolling"), "As you say.", inner=[ask], checkpointer=InMemorySaver())
    way.invoke(agent, **THREAD)
    way.invoke(agent, Command(resume={"decisions": [{"type": "reject", "message": "Not today"}]}), **THREAD)
    assert steps(alma) == [('deploy(way="rolling")', None, None), ("work that was sent back: Not today", False, "Not today")]
    assert runs(alma) == [("dev", "unverified")]
    assert only_run(alma).strategy is None
    assert "Not today" in alma.retrieve(TASK, "dev").to_prompt()


def test_a_rejection_without_a_reason_is_no_correction(way: Way, alma: ALMA) -> None:
    ask = HumanInTheLoopMiddleware(interrupt_on={"deploy": True})
    agent = way.agent(call("deploy", way="rolling"), "As you say.", inner=[ask], checkpointer=InMemorySaver())
    way.invoke(agent, **THREAD)
    way.invoke(agent, Command(resume={"decisions": [{"type": "reject"}]}), **THREAD)
    assert steps(alma) == [('deploy(way="rolling")', None, None)]


def test_what_a_person_answers_in_the_place_of_a_tool_is_no_step(way: Way, alma: ALMA) -> None:
    ask = HumanInTheLoopMiddleware(interrupt_on={"deploy": {"allowed_decisions": ["respond"]}})
    agent = way.agent(call("deploy", way="rolling"), "As you say.", inner=[ask], checkpointer=InMemorySaver())
    way.invoke(agent, **THREAD)
    way.invoke(agent, Command(resume={"decisions": [{"type": "respond", "message": "I did it"}]}), **THREAD)
    assert steps(alma) == []
    assert runs(alma) == [("dev", "unverified")]


def test_a_step_before_the_interrupt_belongs_to_the_run_that_goes_on_after_it(way: Way, alma: ALMA) -> None:
    agent = way.agent(
        call("deploy", way="blue-green"),
        call("ask_a_person", question="More?"),
        "Done.",
        tools=[deploy, ask_a_person],
        checkpointer=InMemorySaver(),
    )
    way.invoke(agent, **THREAD)
    assert [(run.status, len(run.steps)) for run in alma.recent_episodes()] == [("open", 1)]
    way.invoke(agent, Command(resume="no"), **THREAD)
    assert runs(alma) == [("dev", "unverified")]
    assert [action for action, _, _ in steps(alma)] == ['deploy(way="blue-green")', 'ask_a_person(question="More?")']
    assert only_run(alma).strategy == 'deploy(way="blue-green"), then ask_a_person(question="More?")'


def test_a_call_that_failed_beside_an_interrupt_is_recorded_once_and_its_repair_counts(way: Way, alma: ALMA) -> None:
    pair = [*call("deploy", way="rolling").tool_calls, *call("ask_a_person", "call-2", question="More?").tool_calls]
    agent = way.agent(
        AIMessage("", tool_calls=pair),
        call("deploy", way="blue-green"),
        "Done.",
        tools=[deploy, ask_a_person],
        inner=[ToolErrorMiddleware(lambda error, request: f"it raised {error}")],
        checkpointer=InMemorySaver(),
    )
    way.invoke(agent, **THREAD)
    way.invoke(agent, Command(resume="no"), **THREAD)
    assert [(action, ok) for action, ok, _ in steps(alma)] == [
        ('deploy(way="rolling")', False),
        ('ask_a_person(question="More?")', True),
        ('deploy(way="blue-green")', True),
    ]
    assert only_run(alma).strategy == 'ask_a_person(question="More?"), then deploy(way="blue-green")'


def test_an_interrupted_run_is_resumed_after_the_store_was_closed_and_opened_again(tmp_path: Path) -> None:
    kept = InMemorySaver()

    def agent(alma: ALMA) -> Any:
        model = scripted(call("ask_a_person", question="Now?"), "As [H1] says: done.")
        return create_agent(model, [ask_a_person], middleware=[ALMAMiddleware(alma, agent="dev")], checkpointer=kept)

    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        rule = alma.add_heuristic("dev", TASK, "blue-green")
        agent(alma).invoke(QUESTION, THREAD)
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        assert only_run(alma).status == "open"
        agent(alma).invoke(Command(resume="yes"), THREAD)
        assert only_run(alma).used == (rule.id,)
        assert steps(alma) == [('ask_a_person(question="Now?")', True, None)]


@pytest.mark.parametrize("place", ["a node", "a tool"])
def test_an_agent_inside_another_graph_waits_and_goes_on_as_well(alma: ALMA, place: str) -> None:
    replies = call("ask_a_person", question="Now?"), "Done."
    worker = create_agent(scripted(*replies), [ask_a_person], middleware=[ALMAMiddleware(alma, agent="worker")])

    @tool
    def delegate(task: str) -> str:
        """Has another agent do it."""
        return str(worker.invoke({"messages": [("user", task)]})["messages"][-1].text)

    if place == "a node":
        drawn = StateGraph(MessagesState)
        drawn.add_node("work", worker)
        drawn.add_edge(START, "work")
        outer: Any = drawn.compile(checkpointer=InMemorySaver())
    else:
        outer = create_agent(scripted(call("delegate", task="Roll it out"), "Done."), [delegate], checkpointer=InMemorySaver())
    outer.invoke(QUESTION, THREAD)
    assert [(run.status, run.steps) for run in alma.recent_episodes()] == [("open", ())]
    outer.invoke(Command(resume="yes"), THREAD)
    assert runs(alma) == [("worker", "unverified")]
    assert steps(alma) == [('ask_a_person(question="Now?")', True, None)]


def test_a_new_question_in_an_interrupted_thread_is_a_run_of_its_own(way: Way, alma: ALMA) -> None:
    kept = InMemorySaver()
    way.invoke(way.agent(call("ask_a_person", question="Now?"), tools=[ask_a_person], checkpointer=kept), **THREAD)
    way.invoke(way.agent("Nothing to do.", tools=[ask_a_person], checkpointer=kept), {"messages": [("user", "Wait")]}, **THREAD)
    assert [run.task for run in alma.recent_episodes() if run.outcome == "unverified"] == ["Wait"]
    assert steps(alma) == []


def test_a_stream_that_is_given_up_is_no_failure(way: Way, alma: ALMA) -> None:
    agent = way.agent(call("deploy", way="blue-green"), "Done.")
    config: Any = {"callbacks": [way.handler] if way.by != "middleware" else []}

    async def give_up() -> None:
        async with contextlib.aclosing(agent.astream(QUESTION, config, stream_mode="updates")) as updates:
            async for update in updates:
                if "tools" in update:
                    break

    if way.is_async:
        asyncio.run(give_up())
    else:
        with contextlib.closing(agent.stream(QUESTION, config, stream_mode="updates")) as updates:
            next(update for update in updates if "tools" in update)
    assert runs(alma) == [("dev", "abandoned")]
    assert steps(alma) == [('deploy(way="blue-green")', True, None)]
    assert alma.list_memories() == []
    way.check()


@pytest.mark.parametrize("by", ["middleware", "handler", "both"])
def test_a_cancelled_run_is_no_failure(alma: ALMA, by: str) -> None:
    way = Way(alma, by, is_async=True)
    entered = asyncio.Event()

    @tool
    async def wait() -> str:
        """Waits for ever."""
        entered.set()
        await asyncio.Event().wait()
        return "never"

    async def cancel() -> None:
        config: Any = {"callbacks": [way.handler] if by != "middleware" else []}
        task = asyncio.create_task(way.agent(call("wait"), tools=[wait]).ainvoke(QUESTION, config))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert [outcome for _, outcome in runs(alma)] == ["abandoned"]
    assert alma.list_memories() == []
    way.check()
