"""A store that another connection holds: an agent waits for it once, and goes on without memory."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from alma import ALMA, StorageError
from alma_langchain import ALMACallbackHandler, ALMAMemory, ALMAMiddleware, AsyncALMACallbackHandler
from scripted import QUESTION, TASK, call, deploy, invoke, runs, scripted, steps

pytestmark = [pytest.mark.any_version, pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning")]

PROMPT = ChatPromptTemplate.from_messages(
    [("system", "You deploy.\n{alma_memory}"), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
)
colours = pytest.mark.parametrize("is_async", [False, True], ids=["invoke", "ainvoke"])
BRIEFLY: Any = {"agent": "dev", "lock_timeout": 0.01}
"""An agent waits a moment for a lock, not for seconds."""

GOOD = call("deploy", way="blue-green"), call("deploy", way="canary"), "Done."
BAD = (call("deploy", way="rolling"),)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "locked"


@pytest.fixture
def alma(folder: Path) -> Iterator[ALMA]:
    with ALMA.open(folder, project_id="shop", embedding_provider="hash") as opened:
        yield opened


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The store is held by somebody else."""
    with closing(sqlite3.connect(folder / "alma.db", isolation_level=None, check_same_thread=False)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")


def by_middleware(alma: ALMA, is_async: bool, *replies: Any, **given: Any) -> tuple[Any, Any]:
    middleware = ALMAMiddleware(alma, **BRIEFLY, **given)
    agent = create_agent(scripted(*replies), [deploy], middleware=[middleware])
    return middleware, lambda: invoke(agent, is_async=is_async)["messages"][-1].text


def by_handler(alma: ALMA, is_async: bool, *replies: Any, **given: Any) -> tuple[Any, Any]:
    handler: Any = (AsyncALMACallbackHandler if is_async else ALMACallbackHandler)(alma, **BRIEFLY, **given)
    agent = create_agent(scripted(*replies), [deploy])
    return handler, lambda: invoke(agent, is_async=is_async, config={"callbacks": [handler]})["messages"][-1].text


def by_memory(alma: ALMA, is_async: bool, *replies: Any, **given: Any) -> tuple[Any, Any]:
    memory = ALMAMemory(alma, **BRIEFLY, **given)
    agent = create_tool_calling_agent(scripted(*replies), [deploy], PROMPT)
    executor = AgentExecutor(agent=agent, tools=[deploy], memory=memory)
    return memory, lambda: invoke(executor, {"input": TASK}, is_async=is_async)["output"]


followers = pytest.mark.parametrize("follow", [by_middleware, by_handler, by_memory])


@colours
@followers
@pytest.mark.parametrize("replies", [GOOD, ("Done.",)], ids=["two steps", "no step"])
def test_a_run_whose_first_write_fails_is_given_up_and_told_once(
    alma: ALMA, folder: Path, caplog: pytest.LogCaptureFixture, follow: Any, is_async: bool, replies: Any
) -> None:
    memory, run = follow(alma, is_async, *replies)
    with held(folder), caplog.at_level(logging.WARNING, "alma"):
        assert run() == "Done."
    assert [type(error) for error in memory.errors] == [StorageError]
    assert [record.message for record in caplog.records if "was locked by another process" in record.message] == caplog.messages
    assert len(caplog.messages) == 1
    assert (runs(alma), memory.last_run, memory.recorder.live) == ([], None, 0)
    assert run() == "Done."
    assert runs(alma) == [("dev", "unverified")]
    assert len(steps(alma)) == len(replies) - 1
    assert len(memory.errors) == 1


@colours
@followers
def test_the_error_of_a_tool_reaches_the_caller_without_a_word_of_the_lock(
    alma: ALMA, folder: Path, follow: Any, is_async: bool
) -> None:
    memory, run = follow(alma, is_async, *BAD)
    with held(folder), pytest.raises(RuntimeError, match="ImagePullBackOff") as caught:
        run()
    assert [note for note in getattr(caught.value, "__notes__", ()) if "ALMA" in note] == []
    assert [type(error) for error in memory.errors] == [StorageError]
    assert (runs(alma), memory.recorder.live) == ([], 0)


@colours
@followers
@pytest.mark.parametrize("replies", [GOOD, ("Done.",)], ids=["two steps", "no step"])
def test_where_that_is_wanted_the_lock_is_raised(alma: ALMA, folder: Path, follow: Any, is_async: bool, replies: Any) -> None:
    memory, run = follow(alma, is_async, *replies, on_error="raise")
    with held(folder), pytest.raises(StorageError, match="was locked by another process"):
        run()
    assert {type(error) for error in memory.errors} == {StorageError}
    assert memory.recorder.live == 0


@colours
def test_an_interrupted_run_that_could_not_be_kept_goes_on_as_a_new_one(alma: ALMA, folder: Path, is_async: bool) -> None:
    def ask_a_person(question: str) -> str:
        """Asks a person."""
        return str(interrupt(question))

    middleware, thread = ALMAMiddleware(alma, **BRIEFLY), {"configurable": {"thread_id": "1"}}
    replies = call("ask_a_person", question="Now?"), "Done."
    agent = create_agent(scripted(*replies), [ask_a_person], middleware=[middleware], checkpointer=InMemorySaver())
    with held(folder):
        invoke(agent, QUESTION, is_async=is_async, config=thread)
    assert [type(error) for error in middleware.errors] == [StorageError]
    invoke(agent, Command(resume="yes"), is_async=is_async, config=thread)
    assert runs(alma) == [("dev", "unverified")]
    assert len(steps(alma)) == 1
    assert len(middleware.errors) == 1


def test_a_run_of_which_something_is_written_is_not_given_up(alma: ALMA, folder: Path) -> None:
    def slow(way: str) -> str:
        """Deploys while the store is held."""
        if way == "canary":
            lock.__enter__()
        return way

    lock = held(folder)
    middleware = ALMAMiddleware(alma, **BRIEFLY)
    calls = [call("slow", way=way) for way in ("blue-green", "canary")]

    def release(messages: Any) -> str:
        lock.__exit__(None, None, None)
        return "Done."

    invoke(create_agent(scripted(*calls, release), [slow], middleware=[middleware]))
    assert runs(alma) == [("dev", "unverified")]
    assert [action for action, _, _ in steps(alma)] == ['slow(way="blue-green")']
    assert len(middleware.errors) == 1


def test_what_cannot_be_told_of_the_first_step_gives_no_run_up(alma: ALMA) -> None:
    wrong: Any = {"action": lambda use: 5}
    memory, run = by_middleware(alma, False, *GOOD, **wrong)
    assert run() == "Done."
    assert runs(alma) == [("dev", "unverified")]
    assert len(memory.errors) == 2
