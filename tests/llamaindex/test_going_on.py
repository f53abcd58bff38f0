"""Runs inside of runs, runs that wait for a person, and runs that are taken up again elsewhere."""

import asyncio
import json
import threading
from functools import partial
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent, JsonPickleSerializer, JsonSerializer
from workflows.context.state_store import UnserializableKeyWarning

from alma import ALMA
from alma.types import EpisodeStatus
from alma_llamaindex import AgentRun, ALMALearner, ALMAMemory, alma_run
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


def may_go_on(run: AgentRun, *, until: threading.Event) -> None:
    until.wait(20)


@pytest.mark.parametrize("given", [{}, {"learn": False}, {"inject": "none"}])
def test_two_runs_after_one_another_may_have_the_same_id(alma: ALMA, given: dict[str, Any]) -> None:
    """LlamaIndex refuses the id of a run that somebody still keeps: neither a memory nor what is to be written may do so."""
    agent = agent_of([[("ok", {})], "done"] * 2)
    for _ in range(2):
        assert str(run(agent, ALMAMemory.from_defaults(alma, agent="dev", **given), run_id="r-1")) == "done"


def test_nor_does_an_evaluator_keep_the_id_of_the_run_that_it_judges(alma: ALMA) -> None:
    is_judged = threading.Event()
    agent = agent_of([[("ok", {})], "done"] * 2)
    with ALMALearner(alma, evaluator=partial(may_go_on, until=is_judged)):
        for _ in range(2):
            assert str(run(agent, memory_of(alma), run_id="r-1")) == "done"
        is_judged.set()
    assert [record.run_id for record in episodes(alma)] == ["r-1"] * 2


def test_nor_does_a_run_of_ones_own_code_that_they_are_part_of(alma: ALMA) -> None:
    agent = agent_of([[("ok", {})], "done"] * 2)
    with alma_run(alma, "dev", TASK):
        for _ in range(2):
            assert str(run(agent, None, run_id="r-1")) == "done"


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
    """It is one episode, though the second run has no message of its own."""
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
        (TASK, EpisodeStatus.ENDED, ["ok", "confirm"], (rule.id,))
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


def test_a_run_that_waits_can_be_written_down_as_json_and_go_on_in_the_same_process_too(alma: ALMA) -> None:
    """What was written down is one episode however it goes on, with all that was done before and shown before."""
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    agent = agent_of([[("ok", {})], [("confirm", {})], "As [H1] says"], tools=[ok, confirm])

    async def go() -> None:
        handler = agent.run(user_msg=TASK, memory=memory_of(alma))
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                with pytest.warns(UnserializableKeyWarning):
                    written, again = [handler.ctx.to_dict(serializer=JsonSerializer()) for _ in range(2)]
                assert rule.id not in json.dumps(written)
                kept = [json.loads(each["state"]["state_data"]["_data"]["alma_episodes"]) for each in (written, again)]
                assert kept[0] == kept[1] == {"shop": alma.recent_episodes(1)[0].id}
                handler.ctx.send_event(HumanResponseEvent(response="yes"))
        await handler

    asyncio.run(go())
    assert [(record.status, record.strategy, [step.tool for step in record.steps], record.used) for record in episodes(alma)] == [
        (EpisodeStatus.ENDED, "ok, then confirm", ["ok", "confirm"], (rule.id,))
    ]


def test_a_context_that_was_written_down_in_the_middle_is_no_end(alma: ALMA) -> None:
    async def checkpoint(ctx: Context) -> str:
        """Writes it down."""
        handlers[0].ctx.to_dict(serializer=JsonPickleSerializer())
        return "written"

    handlers: list[Any] = []

    async def go() -> None:
        agent = agent_of([[("checkpoint", {})], [("ok", {})], "done"], tools=[checkpoint, ok])
        handlers.append(agent.run(user_msg=TASK, memory=memory_of(alma)))
        await handlers[0]

    asyncio.run(go())
    assert [(record.status, [step.tool for step in record.steps]) for record in episodes(alma)] == [
        (EpisodeStatus.ENDED, ["checkpoint", "ok"])
    ]


def test_what_a_person_says_when_asked_can_be_a_correction(alma: ALMA) -> None:
    async def go() -> None:
        memory = memory_of(alma)
        handler = agent_of([[("confirm", {})], "done"], tools=[confirm]).run(user_msg=TASK, memory=memory)
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                memory.learner.correct("never on Fridays", run_id=handler.run_id)
                handler.ctx.send_event(HumanResponseEvent(response="no"))
        await handler

    asyncio.run(go())
    assert [step.error for record in episodes(alma) for step in record.steps if step.ok is False] == ["never on Fridays"]


def go_on(agent: FunctionAgent, written: dict[str, Any], *events: Any) -> str:
    async def go() -> str:
        handler = agent.run(ctx=Context.from_dict(agent, written, serializer=JsonPickleSerializer()))
        for event in events:
            handler.ctx.send_event(event)
        return str(await handler)

    return asyncio.run(go())
