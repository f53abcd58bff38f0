"""Every way to call an agent or an executor records the same rows, whatever follows it, and tells the same events as without ALMA."""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolErrorMiddleware
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_classic.memory import SimpleMemory
from langchain_core.prompts import ChatPromptTemplate

from alma import ALMA, MemorySlice
from alma_langchain import ALMACallbackHandler, ALMAMemory, ALMAMiddleware, AsyncALMACallbackHandler, tools_succeeded
from facade import ManualClock
from scripted import QUESTION, TASK, call, deploy, invoke, runs, scripted, steps

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning")

Caller = Callable[[Any, Any, Any], Any]


async def streamed(agent: Any, given: Any, config: Any, **how: Any) -> None:
    async for _ in agent.astream(given, config, **how):
        pass


async def told(agent: Any, given: Any, config: Any) -> list[Any]:
    return [event async for event in agent.astream_events(given, config, version="v2")]


ANY: dict[str, Caller] = {
    "invoke": lambda agent, given, config: agent.invoke(given, config),
    "ainvoke": lambda agent, given, config: asyncio.run(agent.ainvoke(given, config)),
    "batch": lambda agent, given, config: agent.batch([given], config),
    "stream": lambda agent, given, config: list(agent.stream(given, config)),
    "astream": lambda agent, given, config: asyncio.run(streamed(agent, given, config)),
    "events": lambda agent, given, config: asyncio.run(told(agent, given, config)),
}


def in_mode(mode: str) -> dict[str, Caller]:
    return {
        f"stream {mode}": lambda agent, given, config: list(agent.stream(given, config, stream_mode=mode)),
        f"astream {mode}": lambda agent, given, config: asyncio.run(streamed(agent, given, config, stream_mode=mode)),
    }


OF_GRAPHS: dict[str, Caller] = {**ANY, **in_mode("updates"), **in_mode("values"), **in_mode("messages")}

HEEDED = call("deploy", way="blue-green"), "As [H1] says."
PROMPT = ChatPromptTemplate.from_messages(
    [("system", "You deploy.\n{alma_memory}"), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
)


def agent(*replies: Any, middleware: Any = (), is_tidy: bool = False) -> Any:
    tidy = [ToolErrorMiddleware(on_error=lambda error, request: str(error))] if is_tidy else []
    return create_agent(scripted(*replies), [deploy], middleware=[*middleware, *tidy])


def executor(*replies: Any, memory: Any) -> Any:
    return AgentExecutor(agent=create_tool_calling_agent(scripted(*replies), [deploy], PROMPT), tools=[deploy], memory=memory)


FOLLOWERS: dict[str, Callable[..., tuple[list[Any], list[Any]]]] = {
    "middleware": lambda alma, **given: ([ALMAMiddleware(alma, agent="dev", **given)], []),
    "handler": lambda alma, **given: ([], [ALMACallbackHandler(alma, agent="dev", **given)]),
    "async handler": lambda alma, **given: ([], [AsyncALMACallbackHandler(alma, agent="dev", **given)]),
    "memory as middleware": lambda alma, **given: ([ALMAMemory(alma, agent="dev", **given).as_middleware()], []),
    "memory as handler": lambda alma, **given: ([], [ALMAMemory(alma, agent="dev", **given).callback_handler()]),
    "memory as async handler": lambda alma, **given: ([], [ALMAMemory(alma, agent="dev", **given).async_callback_handler()]),
}


@contextmanager
def opened(folder: Path) -> Iterator[tuple[ALMA, ManualClock]]:
    """A store that knows two ways, and whose clock stands still."""
    clock = ManualClock()
    with ALMA.open(folder, project_id="shop", embedding_provider="hash", clock=clock) as alma:
        for way in ("blue-green", "canary"):
            alma.add_heuristic("dev", TASK, way)
        yield alma, clock


def rows(alma: ALMA) -> list[str]:
    """All that is kept, but for ids and for how long tools took."""
    episodes = [record.model_dump_json() for record in reversed(alma.recent_episodes(1000))]
    memories = [memory.model_dump_json() for memory in alma.list_memories(limit=1000)]
    useful = [f"{item.memory.text}: {item.factors.usefulness}" for item in alma.retrieve(TASK, "dev").recalled]
    known: dict[str, str] = {}
    for found in re.findall(ID, "".join(episodes)):
        known.setdefault(found, f"#{len(known)}")
    plain = [re.sub(ID, lambda match: known.get(match[0], "#"), row) for row in (*episodes, *memories)]
    return sorted(re.sub(r'"duration_ms":\d+', "", row) for row in (*plain, *useful))


ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[57][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


def rows_of_agents(folder: Path, follower: str, caller: str) -> list[str]:
    """What two runs of agents leave: of one that mends its failure, and of one that fails."""
    with opened(folder) as (alma, clock):
        middleware, callbacks = FOLLOWERS[follower](alma)
        mending = agent(call("deploy", way="rolling"), *HEEDED, middleware=middleware, is_tidy=True)
        failing = agent(call("deploy", way="rolling"), middleware=middleware)
        for each in (mending, failing):
            with suppress(RuntimeError):
                OF_GRAPHS[caller](each, QUESTION, {"callbacks": callbacks})
            clock.advance(seconds=1)
        assert runs(alma) == [("dev", "unverified"), ("dev", "failure")]
        assert [ok for _, ok, _ in steps(alma)] == [False, True, False]
        assert [shown.used for shown in alma.recent_episodes()[1].shown] == ([True, False] if middleware else [])
        return rows(alma)


def rows_of_executors(folder: Path, caller: str) -> list[str]:
    """The same of two executors with a memory, of which one does well."""
    with opened(folder) as (alma, clock):
        memory = ALMAMemory(alma, agent="dev")
        for replies in (HEEDED, [call("deploy", way="rolling")]):
            with suppress(RuntimeError):
                ANY[caller](executor(*replies, memory=memory), {"input": TASK}, {})
            clock.advance(seconds=1)
        assert runs(alma) == [("dev", "unverified"), ("dev", "failure")]
        assert [ok for _, ok, _ in steps(alma)] == [True, False]
        assert [shown.used for shown in alma.recent_episodes()[1].shown] == [True, False]
        return rows(alma)


@pytest.fixture(scope="module")
def by_invoke(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """The rows that are compared with, made once for each follower."""

    @cache
    def of(follower: str) -> list[str]:
        folder = tmp_path_factory.mktemp("by_invoke")
        return rows_of_agents(folder, follower, "invoke") if follower else rows_of_executors(folder, "invoke")

    return of


@pytest.mark.parametrize("caller", [caller for caller in OF_GRAPHS if caller != "invoke"])
@pytest.mark.parametrize("follower", FOLLOWERS)
def test_every_way_to_call_an_agent_records_the_same(tmp_path: Path, by_invoke: Any, follower: str, caller: str) -> None:
    assert rows_of_agents(tmp_path, follower, caller) == by_invoke(follower)


@pytest.mark.parametrize("caller", [caller for caller in ANY if caller != "invoke"])
def test_every_way_to_call_an_executor_records_the_same(tmp_path: Path, by_invoke: Any, caller: str) -> None:
    assert rows_of_executors(tmp_path, caller) == by_invoke("")


RUN_ID = "0199b2c4-8a52-7c3e-9d1f-3a5b7c9d1e2f"


def told_by_hand(folder: Path, *, is_shown: bool) -> tuple[list[str], int]:
    """What the same episode leaves, and by how many writes."""
    with opened(folder) as (alma, _):
        before = alma.get_stats().journal_records
        nothing = None if is_shown else MemorySlice(agent="dev", project_id="shop")
        with alma.episode("dev", TASK, memories=nothing, deferred=True, run_id=RUN_ID) as episode:
            episode.step('deploy(way="blue-green")', True, tool="deploy", duration_ms=1, output="deployed blue-green")
            episode.observe("As [H1] says.")
            episode.succeed('deploy(way="blue-green")', source="evaluator")
        return rows(alma), alma.get_stats().journal_records - before


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("follower", [*FOLLOWERS, "executor"])
def test_a_run_is_one_step_one_outcome_and_one_count_of_use_as_if_told_by_hand(
    tmp_path: Path, follower: str, is_async: bool
) -> None:
    with opened(tmp_path / "run") as (alma, _):
        found, before = alma.retrieve(TASK, "dev").ids, alma.get_stats().journal_records
        judged: Any = {"evaluator": tools_succeeded}
        if follower == "executor":
            invoke(executor(*HEEDED, memory=ALMAMemory(alma, agent="dev", **judged)), {"input": TASK}, is_async=is_async)
            middleware = True
        else:
            middleware, callbacks = FOLLOWERS[follower](alma, **judged)
            invoke(agent(*HEEDED, middleware=middleware), is_async=is_async, config={"callbacks": callbacks})
        left = rows(alma), alma.get_stats().journal_records - before
        assert [shown.memory_id for shown in alma.recent_episodes()[0].shown] == (found if middleware else [])
        assert [(each.outcome, each.strategy_used) for each in alma.list_memories("outcome")] == [
            ("success", 'deploy(way="blue-green")')
        ]
    assert left == told_by_hand(tmp_path / "by hand", is_shown=bool(middleware))
    assert left[1] == 2


def is_of_alma(event: Any) -> bool:
    """Whether a node of ALMA's own tells this, or gives an update."""
    chunk = event["data"].get("chunk")
    return any("ALMA" in name for name in (event["name"], *(chunk if isinstance(chunk, dict) else ())))


def events(runnable: Any, given: Any, callbacks: Any = ()) -> list[Any]:
    """What others than ALMA tell while something runs, in order: what happened, to what, how deep inside, under which tags and metadata. The number
    of a graph's step is left out, for ALMA's nodes are steps, too."""
    found = asyncio.run(told(runnable, given, {"callbacks": list(callbacks)}))
    return [
        (
            event["event"],
            event["name"],
            len(event["parent_ids"]),
            [tag.partition(":step:")[0] for tag in event["tags"]],
            sorted(event["metadata"]),
        )
        for event in found
        if not is_of_alma(event)
    ]


@pytest.mark.parametrize("follower", FOLLOWERS)
def test_an_agent_tells_what_it_tells_without_alma_but_for_the_nodes_of_alma(tmp_path: Path, follower: str) -> None:
    with opened(tmp_path) as (alma, _):
        middleware, callbacks = FOLLOWERS[follower](alma)
        learning = agent(*HEEDED, middleware=middleware)
        assert events(learning, QUESTION, callbacks) == events(agent(*HEEDED), QUESTION)
        names = {event["name"] for event in asyncio.run(told(learning, QUESTION, {})) if "ALMA" in event["name"]}
        assert names == ({"ALMAMiddleware.before_agent", "ALMAMiddleware.after_agent"} if middleware else set())


def test_an_executor_tells_what_it_tells_with_a_memory_that_does_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as (alma, _):
        learning = executor(*HEEDED, memory=ALMAMemory(alma, agent="dev"))
        plain = executor(*HEEDED, memory=SimpleMemory(memories={"alma_memory": ""}))
        assert events(learning, {"input": TASK}) == events(plain, {"input": TASK})
        assert runs(alma) == [("dev", "unverified")]
