"""What agents of PydanticAI have beyond the contract: arguments that do not fit, calls that are put off, errors that end a run."""

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, CallDeferred, DeferredToolRequests
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from alma import ALMA, Context, Verdict, create_harness

TASK = Context(task="Deploy the auth service")


@pytest.fixture
def alma(tmp_path: Path) -> Any:
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as opened:
        yield opened


def scripted(*turns: Any) -> FunctionModel:
    left = list(turns)
    return FunctionModel(lambda messages, info: ModelResponse([left.pop(0)]))


def test_arguments_that_do_not_fit_the_schema_are_a_failed_step(alma: ALMA) -> None:
    def scale(copies: int) -> str:
        """Scales."""
        return "done"

    model = scripted(ToolCallPart("scale", {"copies": "many"}), ToolCallPart("scale", {"copies": 3}), TextPart("It is live."))
    create_harness("coding", "dev", alma, run=Agent(model, tools=[scale], retries=2)).run(TASK)

    assert [step.ok for step in alma.recent_episodes()[0].steps] == [False, True]


def test_a_call_that_is_put_off_is_no_step(alma: ALMA) -> None:
    def deploy(way: str) -> str:
        """Deploys."""
        raise CallDeferred

    agent: Agent[None, Any] = Agent(
        scripted(ToolCallPart("deploy", {"way": "rolling"})), tools=[deploy], output_type=[str, DeferredToolRequests]
    )
    create_harness("coding", "dev", alma, run=agent).run(TASK)

    assert [len(episode.steps) for episode in alma.recent_episodes()] == [0]


def test_an_exception_of_a_tool_ends_the_run_as_a_failure_and_is_raised(alma: ALMA) -> None:
    def deploy(way: str) -> str:
        """Deploys."""
        raise RuntimeError("502 bad gateway")

    agent = Agent(scripted(ToolCallPart("deploy", {"way": "rolling"})), tools=[deploy])
    with pytest.raises(RuntimeError, match="502"):
        create_harness("coding", "dev", alma, run=agent).run(TASK)

    (episode,) = alma.recent_episodes()
    assert (episode.outcome, [step.ok for step in episode.steps]) == (Verdict.FAILURE, [False])
