"""The drop-in line alone in an agent of today: a failure and a success are learned, and shown to the next run. `test_classic` has the executor's, and
`test_alone` runs each in a process of its own."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool, ToolException

from alma import ALMA
from alma_langchain import ALMAMemory, ALMAMiddleware, tools_succeeded
from scripted import QUESTION, call, deploy, invoke, runs, scripted, steps

colours = pytest.mark.parametrize("is_async", [False, True], ids=["invoke", "ainvoke"])


def rollout(way: str) -> str:
    if way == "rolling":
        raise ToolException("ImagePullBackOff")
    return f"deployed {way}"


TOOL = StructuredTool.from_function(rollout, name="rollout", description="Rolls out.", handle_tool_error=True)
REPLIES = call("rollout", way="rolling"), call("rollout", way="blue-green"), "Done."
LEARNED = [("failure", 'rollout(way="rolling")', "ImagePullBackOff"), ("success", 'rollout(way="blue-green")', None)]


def learned(alma: ALMA) -> list[tuple[str, str, str | None]]:
    found: list[Any] = alma.list_memories("outcome", newest_first=False)
    return [(each.outcome, each.strategy_used, each.error_message) for each in found if each.outcome != "unverified"]


@colours
def test_without_any_option_a_failure_and_a_success_are_learned(alma: ALMA, is_async: bool) -> None:
    model = scripted(*REPLIES)
    agent = create_agent(model, [TOOL], middleware=[ALMAMemory(alma, agent="dev").as_middleware()])
    invoke(agent, is_async=is_async)
    assert learned(alma) == LEARNED
    invoke(agent, QUESTION, is_async=is_async)
    assert "ImagePullBackOff" in model.prompts[-1][0].text
    assert len(runs(alma)) == 2
    assert len(steps(alma)) == 4


@colours
def test_by_its_one_line_an_agent_learns_a_run_that_failed_and_one_that_did_well(alma: ALMA, is_async: bool) -> None:
    def learning(*replies: Any) -> Any:
        return create_agent(
            scripted(*replies), [deploy], middleware=[ALMAMemory(alma, agent="dev", evaluator=tools_succeeded).as_middleware()]
        )

    with pytest.raises(RuntimeError, match="ImagePullBackOff"):
        invoke(learning(call("deploy", way="rolling")), is_async=is_async)
    invoke(learning(call("deploy", way="blue-green"), "As [O1] says."), is_async=is_async)
    assert runs(alma) == [("dev", "failure"), ("dev", "success")]
    assert [run.used is not None for run in alma.recent_episodes()] == [True, False]
    told = [(row.strategy, row.trials, row.successes) for row in alma.strategies(agent="dev")]
    assert told == [('deploy(way="blue-green")', 1, 1)]


@colours
def test_without_any_option_a_success_counts_within_the_run_of_the_failure_and_not_in_a_later_one(
    alma: ALMA, is_async: bool
) -> None:
    middleware = ALMAMemory(alma, agent="dev").as_middleware()
    for replies in (REPLIES[:1], REPLIES[1:]):
        invoke(create_agent(scripted(*replies, "Done."), [TOOL], middleware=[middleware]), is_async=is_async)
    assert [ok for _, ok, _ in steps(alma)] == [False, True]
    assert learned(alma) == LEARNED[:1]
    assert runs(alma) == [("dev", "unverified")] * 2


@colours
def test_middleware_alone_learns_a_run_that_failed(alma: ALMA, is_async: bool) -> None:
    agent = create_agent(scripted(call("deploy", way="rolling")), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")])
    with pytest.raises(RuntimeError, match="ImagePullBackOff"):
        invoke(agent, is_async=is_async)
    assert runs(alma) == [("dev", "failure")]
