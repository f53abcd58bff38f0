"""What is recorded of a run, however it ends: by middleware alone, by a handler alone, by both, in either colour. Everything once."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents.middleware import (
    ModelCallLimitMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
    after_model,
    before_model,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import StructuredTool, ToolException, tool
from langgraph.errors import GraphRecursionError
from pydantic import BaseModel

from alma import ALMA
from scripted import TASK, call, only_run, runs, steps
from ways import Way

FAILED = ('deploy(way="rolling")', False, "RuntimeError: ImagePullBackOff")
WENT_WELL = ('deploy(way="blue-green")', True, None)


def reported(error: Exception, request: Any) -> str:
    return f"{type(error).__name__}: {error}"


def test_a_run_whose_tool_does_well_is_one_episode_with_one_step_and_one_line_in_the_log(
    way: Way, alma: ALMA, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "alma"):
        way.invoke(way.agent(call("deploy", way="blue-green"), "Done."))
    told = [record.message for record in caplog.records if record.message.startswith("run of")]
    assert told == ["run of dev: retrieved 0, cited none, learned no step, 1 step, unverified"]
    record = only_run(alma)
    assert (record.agent, record.task, record.strategy) == ("dev", TASK, 'deploy(way="blue-green")')
    assert runs(alma) == [("dev", "unverified")]
    assert steps(alma) == [WENT_WELL]


def test_a_tool_that_raises_ends_the_run_by_the_same_exception_and_is_learned(way: Way, alma: ALMA) -> None:
    problem = RuntimeError("no route to the cluster")

    @tool
    def rollout() -> str:
        """Rolls out."""
        raise problem

    with pytest.raises(RuntimeError) as caught:
        way.invoke(way.agent(call("rollout"), tools=[rollout]))
    assert caught.value is problem
    assert steps(alma) == [("rollout", False, "RuntimeError: no route to the cluster")]
    assert runs(alma) == [("dev", "failure")]
    assert only_run(alma).error == "RuntimeError: no route to the cluster"
    learned = [(each.outcome, each.strategy_used) for each in alma.list_memories("outcome", newest_first=False)]
    assert learned == [("failure", "rollout"), ("failure", "")]  # the step, and the run, which blames nothing else
    way.check()


@pytest.mark.parametrize("place", ["inner", "outer"])
def test_an_error_that_is_turned_into_a_message_fails_the_step_and_not_the_run(way: Way, alma: ALMA, place: str) -> None:
    mended = {place: [ToolErrorMiddleware(on_error=reported)]}
    for judge, verdict in ((None, "unverified"), (lambda run: run.answer == "Done.", "success")):
        judged = Way(alma, way.by, way.is_async, evaluator=judge)
        judged.invoke(judged.agent(call("deploy", way="rolling"), call("deploy", way="blue-green"), "Done.", **mended))
        assert runs(alma)[-1] == ("dev", verdict)
    assert steps(alma) == [FAILED, WENT_WELL] * 2


def test_arguments_that_do_not_fit_are_a_failed_step(way: Way, alma: ALMA) -> None:
    way.invoke(way.agent(call("deploy", speed=3), "I give up."))
    ((action, ok, error),) = steps(alma)
    assert (action, ok) == ("deploy(speed)", False)
    assert "way" in error


def test_a_tool_that_does_not_exist_is_a_failed_step(way: Way, alma: ALMA) -> None:
    way.invoke(way.agent(call("teleport", to="moon"), "I give up."))
    ((action, ok, error),) = steps(alma)
    assert (action, ok) == ('teleport(to="moon")', False)
    assert "teleport is not a valid tool" in error


def test_an_exception_that_a_tool_handles_itself_is_a_failed_step(way: Way, alma: ALMA) -> None:
    def rollout() -> str:
        """Rolls out."""
        raise ToolException("the registry is down")

    own = StructuredTool.from_function(rollout, name="rollout", handle_tool_error=True)
    way.invoke(way.agent(call("rollout"), "I give up.", tools=[own]))
    assert steps(alma) == [("rollout", False, "the registry is down")]


def test_of_retries_each_is_a_step(way: Way, alma: ALMA) -> None:
    tried: list[int] = []

    @tool
    def rollout() -> str:
        """Rolls out."""
        tried.append(1)
        if len(tried) < 3:
            raise RuntimeError("busy")
        return "done"

    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, backoff_factor=0.0, jitter=False)
    way.invoke(way.agent(call("rollout"), "Done.", tools=[rollout], inner=[retry]))
    assert steps(alma) == [*[("rollout", False, "RuntimeError: busy")] * 2, ("rollout", True, None)]
    assert runs(alma) == [("dev", "unverified")]


def test_an_error_of_the_model_fails_the_run(way: Way, alma: ALMA) -> None:
    def refuse(messages: Sequence[BaseMessage]) -> AIMessage:
        raise ValueError("the model is overloaded")

    with pytest.raises(ValueError, match="overloaded"):
        way.invoke(way.agent(refuse))
    assert runs(alma) == [("dev", "failure")]
    assert (only_run(alma).error, only_run(alma).strategy) == ("ValueError: the model is overloaded", None)
    way.check()


def test_the_recursion_limit_fails_the_run(way: Way, alma: ALMA) -> None:
    with pytest.raises(GraphRecursionError):
        way.invoke(way.agent(call("deploy", way="blue-green")), recursion_limit=9)
    assert runs(alma) == [("dev", "failure")]
    assert only_run(alma).error.startswith("GraphRecursionError")
    assert set(steps(alma)) == {WENT_WELL}
    way.check()


def test_an_exit_by_a_limit_of_calls_is_no_success(way: Way, alma: ALMA) -> None:
    limit = ModelCallLimitMiddleware(run_limit=2, exit_behavior="end")
    way.invoke(way.agent(call("deploy", way="blue-green"), inner=[limit]))
    assert runs(alma) == [("dev", "unverified")]


def test_calls_that_a_limit_refuses_were_not_made(way: Way, alma: ALMA) -> None:
    limit = ToolCallLimitMiddleware(run_limit=1)
    again = call("deploy", way="canary")
    way.invoke(way.agent(call("deploy", way="blue-green"), again, again, "Done.", inner=[limit]))
    assert steps(alma) == [WENT_WELL, *[('deploy(way="canary")', None, None)] * 2]
    assert only_run(alma).strategy == 'deploy(way="blue-green")'
    assert runs(alma) == [("dev", "unverified")]


@pytest.mark.parametrize("leaving", [before_model, after_model])
def test_a_run_that_another_middleware_ends_early_has_ended(way: Way, alma: ALMA, leaving: Any) -> None:
    @leaving(can_jump_to=["end"])
    def leave(state: Any, runtime: Any) -> dict[str, str] | None:
        return {"jump_to": "end"} if len(state["messages"]) > 2 else None

    way.invoke(way.agent(call("deploy", way="blue-green"), call("deploy", way="canary"), inner=[leave]))
    assert steps(alma) == [WENT_WELL]
    assert runs(alma) == [("dev", "unverified")]


class Report(BaseModel):
    """What was done."""

    pods: int


def test_a_run_that_ends_by_a_structured_answer_has_ended_and_the_answer_is_no_step(way: Way, alma: ALMA) -> None:
    way = Way(alma, way.by, way.is_async, evaluator=lambda run: run.outputs["structured_response"].pods == 3)
    replies = call("deploy", way="blue-green"), call("Report", "2", pods="many"), call("Report", "3", pods=3)
    way.invoke(way.agent(*replies, response_format=ToolStrategy(Report)))
    assert steps(alma) == [WENT_WELL]
    assert runs(alma) == [("dev", "success")]


def test_a_run_without_tools_is_a_run(way: Way, alma: ALMA) -> None:
    way.invoke(way.agent("Nothing to do."))
    assert runs(alma) == [("dev", "unverified")]
    assert steps(alma) == []


def test_a_run_without_a_task_is_not_followed(way: Way, alma: ALMA) -> None:
    way.invoke(way.agent("Hello."), {"messages": [("ai", "hi"), ("user", "")]})
    assert runs(alma) == []
