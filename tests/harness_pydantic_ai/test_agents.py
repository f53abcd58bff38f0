"""What agents of PydanticAI have beyond the contract: arguments that do not fit, calls that are put off, errors that end a run."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, CallDeferred, DeferredToolRequests, RunContext, UsageLimitExceeded, UsageLimits
from pydantic_ai.capabilities import AbstractCapability
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


# Arguments of the agent's own run.


@dataclass
class Deps:
    """What a tool needs and no model sees."""

    key: str
    rows: dict[str, str]


def lookup() -> Agent[Deps, str]:
    """An agent whose tool reads its dependencies, and whose answer has what the model was asked."""

    def model(messages: list[Any], info: Any) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        if not any(part.part_kind == "tool-return" for part in messages[-1].parts):
            return ModelResponse([ToolCallPart("look", {"name": "a"})])
        return ModelResponse([TextPart(str([getattr(part, "content", "") for part in parts]))])

    agent = Agent(FunctionModel(model), deps_type=Deps)

    @agent.tool
    def look(ctx: RunContext[Deps], name: str) -> str:
        """Looks up."""
        return ctx.deps.rows[name]

    return agent


@pytest.mark.parametrize("is_input", [False, True], ids=["an argument", "an input"])
def test_an_agent_gets_its_dependencies_and_its_model_does_not(alma: ALMA, is_input: bool) -> None:
    harness, deps = create_harness("coding", "dev", alma, run=lookup()), Deps("hunter2", {"a": "one"})
    if is_input:
        result = harness.run(Context(task="Look up", inputs={"deps": deps, "city": "Oslo"}))
    else:
        result = harness.run(Context(task="Look up", inputs={"city": "Oslo"}), deps=deps)

    assert [step.ok for step in alma.recent_episodes()[0].steps] == [True]
    assert "hunter2" not in result.prompt + result.output
    assert "Oslo" in result.prompt


def test_a_conversation_goes_on_with_the_messages_of_the_last_result(alma: ALMA) -> None:
    harness, deps = create_harness("coding", "dev", alma, run=lookup()), Deps("", {"a": "one"})
    first = harness.run(Context(task="Look up Oslo"), deps=deps)
    second = asyncio.run(harness.arun(Context(task="Look up Bergen"), deps=deps, message_history=first.result.all_messages()))

    assert "Look up Oslo" in second.output
    assert second.result.usage.requests == 2


def test_a_limit_of_the_run_ends_it_as_a_failure(alma: ALMA) -> None:
    harness = create_harness("coding", "dev", alma, run=lookup())
    with pytest.raises(UsageLimitExceeded):
        harness.run(TASK, deps=Deps("", {"a": "one"}), usage_limits=UsageLimits(request_limit=1))

    assert alma.recent_episodes()[0].outcome is Verdict.FAILURE


def test_hooks_of_the_user_are_called_beside_those_of_alma(alma: ALMA) -> None:
    class Counting(AbstractCapability[Any]):
        requests = 0

        async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
            Counting.requests += 1
            return response

    create_harness("coding", "dev", alma, run=lookup()).run(TASK, deps=Deps("", {"a": "one"}), capabilities=[Counting()])

    assert (Counting.requests, len(alma.recent_episodes()[0].steps)) == (2, 1)
