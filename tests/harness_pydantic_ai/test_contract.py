"""Agents of PydanticAI in a harness pass the contract of all adapters, from PydanticAI's own hooks.

It has no hand-off inside a run: its documents have the program run one agent after the other, which is what these scenes do, so each
part is judged by itself. A run is not put aside in another process.
"""

import asyncio
import functools
from typing import Any

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from alma import ALMA
from alma.testing import IntegrationContract
from alma_testing.contracts.integration import Call, Played, Scene, Turn
from framework_scenes import play_agents


class TestAgents(IntegrationContract):
    has_one_verdict = has_interrupts = False
    is_async = False

    def play(self, alma: ALMA, scene: Scene) -> Played:
        return play_agents(alma, scene, agent, is_async=self.is_async)


class TestAgentsInAnEventLoop(TestAgents):
    is_async = True


def agent(scene: Scene, name: str, turns: list[Turn], prompts: list[str]) -> Agent[None, str]:
    """An agent whose model follows the turns."""
    left = list(turns)

    def model(messages: list[ModelMessage], _: Any) -> ModelResponse:
        prompts.append("\n".join(str(getattr(part, "content", "")) for message in messages for part in message.parts))
        turn = left.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        if isinstance(turn, str):
            return ModelResponse([TextPart(turn)])
        calls = (turn,) if isinstance(turn, Call) else turn
        return ModelResponse([ToolCallPart(call.tool, dict(call.arguments)) for call in calls])

    tools = [_cancelled(each) if scene.is_cancelled else _shown(each) for each in scene.tools]
    made = Agent(FunctionModel(model), name=name, tools=tools, retries=3)
    if scene.guardrail is not None:

        @made.output_validator
        def check(output: str) -> str:
            reason = scene.guardrail(output) if scene.guardrail else None
            if reason is not None:
                raise ModelRetry(reason)
            return output

    return made


def _shown(tool: Any) -> Any:
    """A tool whose error the model is shown: in PydanticAI it says so itself."""

    @functools.wraps(tool)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return tool(*given, **named)
        except Exception as error:
            raise ModelRetry(f"{type(error).__name__}: {error}") from error

    return call


def _cancelled(tool: Any) -> Any:
    @functools.wraps(tool)
    async def call(way: str) -> str:
        running = asyncio.current_task()
        assert running is not None
        raise asyncio.CancelledError

    return call
