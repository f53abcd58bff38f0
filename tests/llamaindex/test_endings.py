"""Runs that end by an error, are cut short or go on when nobody watches any more."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import ToolCall
from llama_index.core.instrumentation import get_dispatcher
from workflows.errors import WorkflowCancelledByUser

from alma import ALMA
from alma.types import EpisodeStatus
from alma_llamaindex import ALMALearner, instrument_alma
from alma_llamaindex.handler import HANDLER, LEARNERS
from llama_runs import (
    BOOM,
    OK,
    OK_THEN_BAD,
    TASK,
    agent_of,
    episodes,
    kept_outcomes,
    memory_of,
    ok,
    outcomes,
    run,
    steps,
)


def endless(messages: object) -> Any:
    return [("ok", {})]


async def slow() -> str:
    """Takes longer than the run may."""
    await asyncio.Event().wait()
    return ""


@pytest.mark.parametrize(
    ("agent", "given", "error"),
    [
        (lambda: agent_of([[("ok", {})], RuntimeError("no tokens left")]), {}, "no tokens left"),
        (lambda: agent_of(endless), {"max_iterations": 3}, "Max iterations of 3 reached"),
        (lambda: agent_of([[("slow", {})]], tools=[slow], timeout=0.3), {}, "timed out"),
    ],
    ids=["the model fails", "too many iterations", "too slow"],
)
def test_a_run_that_ends_by_an_error_is_a_failure_and_the_error_is_seen(
    alma: ALMA, agent: Any, given: dict[str, Any], error: str
) -> None:
    memory = memory_of(alma)
    with pytest.raises(Exception, match=error):
        run(agent(), memory, **given)
    (record,) = episodes(alma)
    assert record.outcome == "failure"
    assert error in record.error
    assert [kept for kept in outcomes(alma) if kept[0] == "failure" and error in kept[2]] != []
    assert kept_outcomes(alma) == 1


@pytest.mark.parametrize("streaming", [True, False])
def test_the_error_that_the_caller_sees_is_the_models_own(alma: ALMA, streaming: bool) -> None:
    problem = RuntimeError("no tokens left")
    with pytest.raises(RuntimeError) as caught:
        run(agent_of([[("ok", {})], problem], streaming=streaming), memory_of(alma))
    assert caught.value is problem
    assert [record.error for record in episodes(alma)] == ["RuntimeError: no tokens left"]


def test_no_span_of_a_run_is_held_when_it_is_over(alma: ALMA) -> None:
    with ALMALearner(alma):
        run(agent_of(OK_THEN_BAD), memory_of(alma))
        for agent in (
            agent_of([[("ok", {})], RuntimeError("no tokens left")]),
            agent_of([[("slow", {})]], tools=[slow], timeout=0.3),
        ):
            with pytest.raises(Exception, match=r"no tokens left|timed out"):
                run(agent, memory_of(alma))
        assert HANDLER.open_spans == {}


async def until_slow(handler: Any) -> None:
    """Waits until the run is inside of the tool that takes so long."""
    async for event in handler.stream_events():
        if isinstance(event, ToolCall) and event.tool_name == "slow":
            return


@pytest.mark.parametrize("by", ["cancel_run", "a time limit", "the end of the loop"])
def test_a_cancelled_run_is_abandoned_and_nothing_is_learned_of_it_as_a_whole(alma: ALMA, by: str) -> None:
    async def go() -> None:
        handler = agent_of([[("ok", {})], [("slow", {})]], tools=[ok, slow]).run(user_msg=TASK, memory=memory_of(alma))
        await until_slow(handler)
        if by == "cancel_run":
            await handler.cancel_run()
            with pytest.raises(WorkflowCancelledByUser):
                await handler
        elif by == "a time limit":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(handler, 0.01)
            await asyncio.sleep(0)

    asyncio.run(go())
    learner = LEARNERS.in_charge(alma)
    assert learner.flush()
    assert [(record.status, record.outcome) for record in episodes(alma)] == [(EpisodeStatus.ABANDONED, None)]
    assert (outcomes(alma), learner.errors) == (set(), [])


def test_no_strategy_is_blamed_for_an_error_of_the_model(alma: ALMA) -> None:
    with ALMALearner(alma), pytest.raises(RuntimeError):
        run(agent_of([[("ok", {})], RuntimeError("no tokens left")]), memory_of(alma))
    assert [(record.outcome, record.strategy) for record in episodes(alma)] == [("failure", None)]


def test_closing_the_store_waits_for_what_was_learned(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "s", project_id="shop", embedding_provider="hash") as alma:
        run(agent_of(OK_THEN_BAD), memory_of(alma))
    assert LEARNERS.known() == []
    with ALMA.open(tmp_path / "s", project_id="shop") as again:
        assert [steps(record) for record in episodes(again)] == [[OK, BOOM]]


def test_when_the_dispatcher_shuts_down_runs_that_go_on_are_abandoned_and_the_learner_is_off(alma: ALMA) -> None:
    def shut_down() -> str:
        """Ends the watching of everybody."""
        get_dispatcher().shutdown()
        return ""

    assert str(run(agent_of([[("shut_down", {})], "done"], tools=[shut_down]), memory_of(alma))) == "done"
    assert [(record.status, record.error) for record in episodes(alma)] == [(EpisodeStatus.ABANDONED, None)]
    assert LEARNERS.known() == []


def test_uninstalling_abandons_the_runs_that_go_on(alma: ALMA) -> None:
    async def go() -> None:
        learner = instrument_alma(alma)
        handler = agent_of([[("slow", {})]], tools=[slow]).run(user_msg=TASK, memory=memory_of(alma))
        await until_slow(handler)
        learner.uninstall()

    asyncio.run(go())
    assert [(record.status, record.reason) for record in episodes(alma)] == [(EpisodeStatus.ABANDONED, "the run was cut short")]
