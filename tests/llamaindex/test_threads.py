"""In an event loop no call of ALMA is made by the loop's own thread: what is slow at the store keeps nobody else waiting."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import ToolCall
from llama_index.core.query_engine import RetrieverQueryEngine

from alma import ALMA, Episode
from alma_llamaindex import ALMALearner, ALMARetriever, ALMAToolSpec, ALMAUsagePostprocessor
from alma_llamaindex.testing import ScriptedLLM
from llama_runs import OK_THEN_BAD, TASK, agent_of, episodes, memory_of

pytestmark = pytest.mark.any_version

CALLS = [(ALMA, name) for name in ("retrieve", "episode", "record_usage", "add_domain_knowledge")] + [
    (Episode, name) for name in ("step", "observe", "end", "abandon")
]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Each call of ALMA, and whether the thread of the tests, in which loops run, made it."""
    noted: list[tuple[str, bool]] = []

    def noting(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted_call(*given: Any, **options: Any) -> Any:
            noted.append((name, threading.current_thread() is threading.main_thread()))
            return call(*given, **options)

        return noted_call

    for owner, name in CALLS:
        monkeypatch.setattr(owner, name, noting(name, getattr(owner, name)))
    return noted


async def a_run(alma: ALMA) -> None:
    await agent_of([*OK_THEN_BAD[:2], "As [H1] says"]).run(user_msg=TASK, memory=memory_of(alma))


async def a_run_that_fails(alma: ALMA) -> None:
    with pytest.raises(RuntimeError, match="no tokens left"):
        await agent_of([[("bad", {})], RuntimeError("no tokens left")]).run(user_msg=TASK, memory=memory_of(alma))


async def slow() -> str:
    """Takes longer than anybody waits."""
    await asyncio.Event().wait()
    return ""


async def a_run_that_is_cancelled(alma: ALMA) -> None:
    handler = agent_of([[("slow", {})]], tools=[slow]).run(user_msg=TASK, memory=memory_of(alma))
    async for event in handler.stream_events():
        if isinstance(event, ToolCall):
            await handler.cancel_run()
            return


async def a_query_engine(alma: ALMA) -> None:
    counted = ALMAUsagePostprocessor(alma, agent="dev")
    retriever = ALMARetriever(alma, agent="dev", with_tags=True)
    engine = RetrieverQueryEngine.from_args(retriever, llm=ScriptedLLM(["By [H1]."]), node_postprocessors=[counted])
    await engine.aquery(TASK)


async def tools(alma: ALMA) -> None:
    spec = ALMAToolSpec(alma, agent="dev")
    asked = [[("recall_memory", {"query": TASK}), ("save_fact", {"topic": "auth", "fact": "Two replicas."})], "done"]
    await agent_of(asked, tools=spec.to_tool_list()).run(user_msg=TASK)


@pytest.mark.parametrize(
    ("work", "calls"),
    [
        (a_run, {"retrieve", "episode", "step", "observe", "end"}),
        (a_run_that_fails, {"retrieve", "episode", "step", "observe", "end"}),
        (a_run_that_is_cancelled, {"retrieve", "episode", "observe", "abandon"}),
        (a_query_engine, {"retrieve", "record_usage", "episode", "observe", "end"}),
        (tools, {"retrieve", "add_domain_knowledge"}),
    ],
)
def test_a_loops_own_thread_calls_nothing(
    alma: ALMA, called: list[tuple[str, bool]], work: Callable[[ALMA], Awaitable[None]], calls: set[str]
) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    with ALMALearner(alma, query_engines=True) as learner:
        asyncio.run(work(alma))
    episodes(alma)
    assert {name for name, _ in called} == calls
    assert [name for name, is_in_the_loop in called if is_in_the_loop] == []
    assert learner.errors == []
