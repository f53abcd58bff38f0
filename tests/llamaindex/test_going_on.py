"""Runs inside of runs, runs that wait for a person, and runs that are taken up again elsewhere."""

import asyncio
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent, JsonPickleSerializer

from alma import ALMA
from alma.types import EpisodeStatus
from alma_llamaindex import ALMAMemory
from llama_runs import (
    BOOM,
    TASK,
    agent_of,
    episodes,
    memory_of,
    ok,
    run,
    steps,
)


def test_a_run_inside_of_a_run_is_an_episode_of_its_own(alma: ALMA) -> None:
    inner = agent_of([[("bad", {})], "inner done"], name="helper")

    async def ask_helper(question: str) -> str:
        """Asks the helper."""
        return str(await inner.run(user_msg=question, memory=ALMAMemory.from_defaults(alma, agent="helper")))

    outer = agent_of([[("ask_helper", {"question": "How to log in?"})], "done"], tools=[ask_helper])
    run(outer, memory_of(alma))
    assert {(record.agent, record.task, tuple(steps(record))) for record in episodes(alma)} == {
        ("dev", TASK, (("ask_helper", True, None),)),
        ("helper", "How to log in?", (BOOM,)),
    }


async def confirm(ctx: Context) -> str:
    """Asks a person."""
    said = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="Sure?"))
    return str(said.response)


def test_a_run_that_waits_for_a_person_is_one_episode_and_the_waiting_tool_one_step(alma: ALMA) -> None:
    async def go() -> None:
        handler = agent_of([[("confirm", {})], "done"], tools=[confirm]).run(user_msg=TASK, memory=memory_of(alma))
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="yes"))
        await handler

    asyncio.run(go())
    assert [[(step.tool, step.ok, step.output) for step in record.steps] for record in episodes(alma)] == [
        [("confirm", True, "yes")]
    ]


def test_a_run_that_another_process_takes_up_from_a_pickled_context_is_learned_from(alma: ALMA) -> None:
    """What went before was cut short; the rest is an episode, though the run has no message of its own."""
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    first = agent_of([[("ok", {})], [("confirm", {})]], tools=[ok, confirm])
    second = agent_of(["As [H1] says"], tools=[ok, confirm])

    async def until_it_waits() -> dict[str, Any]:
        handler = first.run(user_msg=TASK, memory=memory_of(alma))
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                break
        written = handler.ctx.to_dict(serializer=JsonPickleSerializer())
        await handler.cancel_run()
        return written

    written = asyncio.run(until_it_waits())
    assert go_on(second, written, HumanResponseEvent(response="yes")) == "As [H1] says"
    assert [(record.task, record.status, [step.tool for step in record.steps], record.used) for record in episodes(alma)] == [
        (TASK, EpisodeStatus.ABANDONED, ["ok"], None),
        (TASK, EpisodeStatus.ENDED, ["confirm"], (rule.id,)),
    ]


def test_so_is_one_that_was_left_in_the_middle_of_a_turn(alma: ALMA) -> None:
    handlers: list[Any] = []
    written: list[dict[str, Any]] = []

    def writes(messages: object) -> Any:
        written.append(handlers[0].ctx.to_dict(serializer=JsonPickleSerializer()))
        return "not heard"

    async def begin() -> None:
        handlers.append(agent_of(writes).run(user_msg=TASK, memory=memory_of(alma)))
        await handlers[0]

    asyncio.run(begin())
    assert go_on(agent_of([[("bad", {})], "done"]), written[0]) == "done"
    assert [steps(record) for record in episodes(alma)] == [[], [BOOM]]


def go_on(agent: FunctionAgent, written: dict[str, Any], *events: Any) -> str:
    async def go() -> str:
        handler = agent.run(ctx=Context.from_dict(agent, written, serializer=JsonPickleSerializer()))
        for event in events:
            handler.ctx.send_event(event)
        return str(await handler)

    return asyncio.run(go())
