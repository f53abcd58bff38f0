"""Calls of tools side by side: a step each, whose error is that of the same call, in every run and in every way to follow an agent."""

import asyncio
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from langchain.agents.middleware import ToolErrorMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from alma import ALMA
from scripted import QUESTION, runs, steps
from ways import Way

pytestmark = pytest.mark.any_version

RUNS = 100
SOME = 20

Called = Annotated[str, InjectedToolCallId]


def rollout(number: int, tool_call_id: Called) -> str:
    """Rolls out, but for odd numbers."""
    if number % 2:
        raise RuntimeError(f"{tool_call_id} was refused")
    return f"{tool_call_id} is live"


async def arollout(number: int, tool_call_id: Called) -> str:
    """Rolls out, but for odd numbers."""
    return rollout(number, tool_call_id)


ROLLOUT = StructuredTool.from_function(rollout, arollout)


def calls(*numbers: int, name: str = "rollout") -> AIMessage:
    """A reply that calls a tool for each of the numbers, by an id that tells it."""
    return AIMessage("", tool_calls=[{"name": name, "args": {"number": number}, "id": f"call-{number}"} for number in numbers])


def found(alma: ALMA) -> Counter[Any]:
    """How often a run had which steps; of an error as much as says which call it is of, whose id ends in its place in the thread."""
    records = alma.recent_episodes(1000)
    assert all([step.number for step in record.steps] == [*range(1, len(record.steps) + 1)] for record in records)
    told = [sorted((step.action, step.ok, (step.error or "")[:22]) for step in record.steps) for record in records]
    return Counter(map(tuple, told))


def made_memories(alma: ALMA) -> list[str]:
    """The ids of the memories that runs and steps say were made of them."""
    records = alma.recent_episodes(1000)
    made = [step.memory_id for record in records for step in record.steps] + [record.outcome_id for record in records]
    return sorted(memory_id for memory_id in made if memory_id)


def kept_memories(alma: ALMA) -> list[str]:
    return sorted(memory.id for memory in alma.list_memories("outcome", limit=1000))


BOTH = (("rollout(number)", False, "RuntimeError: call-1-2"), ("rollout(number)", True, ""))


def test_each_of_parallel_calls_is_a_step_with_what_became_of_it(way: Way, alma: ALMA) -> None:
    tidy = ToolErrorMiddleware(on_error=lambda error, request: f"RuntimeError: {error}")
    agent = way.agent(calls(1, 2), "Done.", tools=[ROLLOUT], inner=[tidy], system_prompt="You deploy.")
    for _ in range(RUNS):
        way.invoke(agent)
    assert runs(alma) == [("dev", "unverified")] * RUNS
    assert found(alma) == {BOTH: RUNS}
    assert made_memories(alma) == kept_memories(alma)


def test_so_is_each_if_one_of_them_ends_the_run(way: Way, alma: ALMA) -> None:
    agents = [way.agent(calls(*order), tools=[ROLLOUT], system_prompt="You deploy.") for order in ((1, 2), (2, 1))]
    for number in range(SOME):
        with pytest.raises(RuntimeError, match="call-1"):
            way.invoke(agents[number % 2])
        way.check()
    assert runs(alma) == [("dev", "failure")] * SOME
    assert found(alma) == {BOTH: SOME}
    assert made_memories(alma) == kept_memories(alma)


class Overtaken(ThreadPoolExecutor):
    """Threads that never get to one thing: the first that they are asked for once `passes_over` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.passes_over = False
        self.has_passed = asyncio.Event()

    def submit(self, work: Any, /, *given: Any, **named: Any) -> Any:
        if not self.passes_over or self.has_passed.is_set():
            return super().submit(work, *given, **named)
        self.has_passed.set()
        return Future[Any]()


@pytest.mark.parametrize("by", ["middleware", "handler", "both"])
@pytest.mark.parametrize("is_cancelled", [False, True])
def test_what_a_tool_returned_is_recorded_also_if_the_end_of_the_run_overtakes_its_recording(
    alma: ALMA, by: str, is_cancelled: bool
) -> None:
    way = Way(alma, by, is_async=True)

    async def go() -> None:
        threads = Overtaken()
        asyncio.get_running_loop().set_default_executor(threads)

        @tool
        async def well(number: int) -> str:
            """Does well."""
            threads.passes_over = True
            return "done"

        @tool
        async def badly(number: int) -> str:
            """Ends the run."""
            await threads.has_passed.wait()
            if is_cancelled:
                running.cancel()
                await asyncio.Event().wait()
            raise RuntimeError("gone")

        both = AIMessage("", tool_calls=[*calls(1, name="well").tool_calls, *calls(2, name="badly").tool_calls])
        config: Any = {"callbacks": [way.handler] if by != "middleware" else []}
        running = asyncio.create_task(way.agent(both, tools=[well, badly]).ainvoke(QUESTION, config))
        await running

    with pytest.raises(asyncio.CancelledError if is_cancelled else RuntimeError):
        asyncio.run(go())
    failed = [] if is_cancelled else [("badly(number)", False, "RuntimeError: gone")]
    assert sorted(steps(alma)) == [*failed, ("well(number)", True, None)]
    assert runs(alma) == [("dev", "failure" if failed else "abandoned")]
    way.check()


def test_beside_a_call_that_waits_for_a_person_the_others_are_steps_of_the_run_that_goes_on(way: Way, alma: ALMA) -> None:
    @tool
    def ask(number: int) -> str:
        """Asks a person."""
        return str(interrupt("How?"))

    both = AIMessage("", tool_calls=[*calls(2).tool_calls, *calls(3, name="ask").tool_calls])
    agent = way.agent(both, "Done.", tools=[ROLLOUT, ask], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    way.invoke(agent, **thread)
    assert steps(alma) == [("rollout(number)", True, None)]
    way.invoke(agent, Command(resume="yes"), **thread)
    assert steps(alma) == [("rollout(number)", True, None), ("ask(number)", True, None)]
    assert runs(alma) == [("dev", "unverified")]
