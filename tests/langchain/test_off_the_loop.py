"""Where a loop is running, its thread neither reads nor writes the store; and what is to be written is written, also if nobody waits for it."""

import asyncio
import inspect
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from alma import ALMA, Episode
from alma_langchain import ALMAMemory, ALMAMiddleware, ALMARetriever, AsyncALMACallbackHandler, create_alma_tools
from scripted import QUESTION, TASK, call, deploy, runs, scripted, steps

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning")

PROMPT = ChatPromptTemplate.from_messages(
    [("system", "You deploy.\n{alma_memory}"), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
)
IN_MEMORY = ("before_close", "observe", "used")
"""What does not ask the store."""

Calls = list[tuple[str, int]]


@contextmanager
def noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    """Notes whatever is asked of a store or an episode in here, and by which thread."""
    calls: Calls = []

    def noting(name: str, method: Any) -> Any:
        def ask(*given: Any, **named: Any) -> Any:
            calls.append((name, threading.get_ident()))
            return method(*given, **named)

        return ask

    with monkeypatch.context() as patch:
        for owner in (ALMA, Episode):
            for name, method in inspect.getmembers(owner):
                if inspect.isfunction(method) and not name.startswith("_") and name not in IN_MEMORY:
                    patch.setattr(owner, name, noting(name, method))
        yield calls


def by_middleware(alma: ALMA, *replies: Any) -> Any:
    return create_agent(scripted(*replies), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")]).ainvoke(QUESTION)


def by_handler(alma: ALMA, *replies: Any) -> Any:
    agent = create_agent(scripted(*replies), [deploy])
    return agent.ainvoke(QUESTION, {"callbacks": [AsyncALMACallbackHandler(alma, agent="dev")]})


def by_memory(alma: ALMA, *replies: Any) -> Any:
    agent = create_tool_calling_agent(scripted(*replies), [deploy], PROMPT)
    return AgentExecutor(agent=agent, tools=[deploy], memory=ALMAMemory(alma, agent="dev")).ainvoke({"input": TASK})


@pytest.mark.parametrize("way", ["blue-green", "rolling"])
@pytest.mark.parametrize("follow", [by_middleware, by_handler, by_memory])
def test_a_run_is_read_and_written_by_other_threads(alma: ALMA, monkeypatch: pytest.MonkeyPatch, follow: Any, way: str) -> None:
    async def run() -> int:
        with suppress(RuntimeError):
            await follow(alma, call("deploy", way=way), "As [H1] says.")
        return threading.get_ident()

    with noted(monkeypatch) as calls:
        loop = asyncio.run(run())
    assert [name for name, thread in calls if thread == loop] == []
    asked = ["episode", "step", "end"] if follow is by_handler else ["retrieve", "episode", "step", "end"]
    assert [name for name, _ in calls] == asked
    assert runs(alma) == [("dev", "failure" if way == "rolling" else "unverified")]
    assert len(steps(alma)) == 1


@tool
def ask_a_person(question: str) -> str:
    """Asks a person."""
    return str(interrupt(question))


def test_a_run_is_let_go_of_and_taken_up_again_by_other_threads(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    middleware, thread = ALMAMiddleware(alma, agent="dev"), {"configurable": {"thread_id": "1"}}
    replies = call("ask_a_person", question="Now?"), "Done."
    agent: Any = create_agent(scripted(*replies), [ask_a_person], middleware=[middleware], checkpointer=InMemorySaver())

    async def run() -> int:
        await agent.ainvoke(QUESTION, thread)
        await agent.ainvoke(Command(resume="yes"), thread)
        return threading.get_ident()

    with noted(monkeypatch) as calls:
        loop = asyncio.run(run())
    assert [name for name, thread in calls if thread == loop] == []
    assert [name for name, _ in calls] == ["retrieve", "episode", "suspend", "retrieve", "resume_episode", "step", "end"]


def test_tools_and_retriever_ask_by_other_threads(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> int:
        recall, check, save, *_ = create_alma_tools(alma, agent="dev")
        await ALMARetriever(alma=alma, agent="dev").ainvoke(TASK)
        await recall.ainvoke({"query": TASK})
        await check.ainvoke({"action": TASK})
        await save.ainvoke({"topic": "deploys", "fact": "Two replicas."})
        return threading.get_ident()

    with noted(monkeypatch) as calls:
        loop = asyncio.run(run())
    assert [name for name, thread in calls if thread == loop] == []
    assert [name for name, _ in calls] == ["retrieve", "retrieve", "check", "add_domain_knowledge"]


class Observed(ThreadPoolExecutor):
    """One thread, which says when more is asked of it."""

    def __init__(self) -> None:
        super().__init__(1)
        self.asked = asyncio.Event()

    def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
        self.asked.set()
        return super().submit(work, *given, **named)


def test_the_end_that_nobody_waits_for_any_more_while_it_waits_for_a_thread_is_written(alma: ALMA) -> None:
    handler, root = AsyncALMACallbackHandler(alma, agent="dev"), uuid4()

    async def give_up() -> None:
        loop, threads, is_free = asyncio.get_running_loop(), Observed(), threading.Event()
        loop.set_default_executor(threads)
        ThreadPoolExecutor.submit(threads, is_free.wait)
        handler.on_chain_start({}, {"input": TASK}, run_id=root)
        ending = asyncio.create_task(handler.on_chain_end({"output": "Done."}, run_id=root))
        await threads.asked.wait()
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        is_free.set()
        await loop.shutdown_default_executor()

    asyncio.run(give_up())
    assert runs(alma) == [("dev", "unverified")]
    assert handler.recorder.live == 0
