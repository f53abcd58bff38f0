"""Threads that go on: after an error, from an older checkpoint, and each for itself where several bear one id."""

from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from alma import ALMA
from alma_langchain.tree import Place, Threads
from scripted import QUESTION, TASK, call, runs, steps
from ways import Way

THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}


@tool
def ask_a_person(question: str) -> str:
    """Asks a person."""
    return str(interrupt(question))


@pytest.fixture
def strict(way: Way, alma: ALMA) -> Way:
    """An error of ALMA itself would be raised."""
    return Way(alma, way.by, way.is_async, on_error="raise")


def test_a_run_that_goes_on_after_an_error_is_a_run_of_its_own(strict: Way, alma: ALMA) -> None:
    tried: list[int] = []

    @tool
    def rollout() -> str:
        """Rolls out."""
        tried.append(1)
        if len(tried) < 3:
            raise RuntimeError("busy")
        return str(interrupt("Now?")) if len(tried) < 5 else "done"

    agent = strict.agent(call("rollout"), "Done.", tools=[rollout], checkpointer=InMemorySaver())
    for given in (QUESTION, None):
        with pytest.raises(RuntimeError, match="busy"):
            strict.invoke(agent, given, **THREAD)
    strict.invoke(agent, None, **THREAD)
    assert [run.outcome for run in alma.recent_episodes() if run.outcome] == ["failure"] * 2
    strict.invoke(agent, Command(resume="yes"), **THREAD)
    assert runs(alma) == [("dev", "failure"), ("dev", "failure"), ("dev", "unverified")]
    assert {run.task for run in alma.recent_episodes()} == {TASK}
    assert steps(alma) == [("rollout", False, "RuntimeError: busy")] * 2 + [("rollout", True, None)]


def test_going_back_to_an_older_checkpoint_is_a_run_of_its_own(strict: Way, alma: ALMA) -> None:
    agent = strict.agent(call("deploy", way="blue-green"), "Done.", checkpointer=InMemorySaver())
    strict.invoke(agent, QUESTION, **THREAD)
    older = next(state for state in agent.get_state_history(THREAD) if state.next == ("tools",))
    strict.invoke(agent, None, **older.config)
    assert runs(alma) == [("dev", "unverified")] * 2
    assert [len(run.steps) for run in alma.recent_episodes()] == [1, 1]


def test_a_run_goes_on_also_after_its_state_was_mended_by_hand(strict: Way, alma: ALMA) -> None:
    agent = strict.agent(call("deploy", way="blue-green"), "Done.", checkpointer=InMemorySaver(), interrupt_before=["tools"])
    strict.invoke(agent, QUESTION, **THREAD)
    agent.update_state(THREAD, {"messages": [("user", "Mind the gap")]}, as_node="model")
    while agent.get_state(THREAD).next:  # it may stop there once more
        strict.invoke(agent, None, **THREAD)
    assert runs(alma) == [("dev", "unverified")]


def test_a_run_with_steps_goes_on_after_its_state_was_mended_by_hand_as_the_same_run(strict: Way, alma: ALMA) -> None:
    calls = [call("deploy", way=way) for way in ("blue-green", "canary")]
    agent = strict.agent(*calls, "Done.", checkpointer=InMemorySaver(), interrupt_before=["tools"])
    for given in (QUESTION, None):
        strict.invoke(agent, given, **THREAD)
    assert [(run.status, len(run.steps)) for run in alma.recent_episodes()] == [("open", 1)]
    agent.update_state(THREAD, {"messages": []})
    while agent.get_state(THREAD).next:
        strict.invoke(agent, None, **THREAD)
    assert [(run.outcome, len(run.steps)) for run in alma.recent_episodes()] == [("unverified", 2)]


def test_of_several_runs_that_wait_in_a_thread_none_is_taken_by_guess() -> None:
    threads, place = Threads(), Place("shop", None, "1", "", "agent")
    threads.interrupted(place, "a", "one", TASK)
    threads.interrupted(place, "b", "other", TASK)
    assert threads.resumed(place, "c") is None
    assert threads.resumed(place, "b") == ("other", TASK)
    assert threads.resumed(Place("shop", None, "2", "", "agent"), "c") is None
    assert threads.resumed(place, "c") == ("one", TASK)


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
@pytest.mark.parametrize("is_async", [False, True])
def test_threads_of_one_id_are_told_apart(alma: ALMA, told: bool, is_async: bool) -> None:
    way = Way(alma, "handler", is_async)
    names = ("ann", "acme"), ("bob", "zeta")
    metadata = [{"user_id": user, "tenant_id": tenant} if told else {} for user, tenant in names]
    agents = [
        way.agent(
            call("deploy", way=user), call("ask_a_person", question="?"), "Done.", tools=TOOLS, checkpointer=InMemorySaver()
        )
        for user, _ in names
    ]
    for (user, _), agent, known in zip(names, agents, metadata, strict=True):
        way.invoke(agent, {"messages": [("user", f"the task of {user}")]}, metadata=known, **THREAD)
    for agent, known in zip(agents, metadata, strict=True):
        way.invoke(agent, Command(resume="yes"), metadata=known, **THREAD)
    for user, tenant in names:
        found = (alma.for_project(f"shop:{tenant}") if told else alma).recent_episodes()
        mine = [run for run in found if run.task == f"the task of {user}"]
        assert [(run.outcome, len(run.steps)) for run in mine] == [("unverified", 2)]
        assert len(found) == (1 if told else 2)


def test_a_thread_is_not_resumed_for_another_tenant(alma: ALMA) -> None:
    way = Way(alma, "handler", is_async=False)
    agent = way.agent(
        call("deploy", way="a"), call("ask_a_person", question="?"), "Done.", tools=TOOLS, checkpointer=InMemorySaver()
    )
    way.invoke(agent, {"messages": [("user", "the task of acme")]}, metadata={"tenant_id": "acme"}, **THREAD)
    way.invoke(agent, Command(resume="yes"), metadata={"tenant_id": "zeta"}, **THREAD)
    assert alma.for_project("shop:zeta").recent_episodes() == []
    assert [run.status for run in alma.for_project("shop:acme").recent_episodes()] == ["open"]


@tool
def deploy(way: str) -> str:
    """Deploys."""
    return "done"


TOOLS = [deploy, ask_a_person]
