"""Agents of smolagents in a harness pass the contract of all adapters, from its own steps and tools.

A member of a team is called like a tool; the program runs one agent after the other to hand over, so each part is judged by itself.
"""

import asyncio
import inspect
from typing import Any

from smolagents import LogLevel, Tool, ToolCallingAgent
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model

from alma import ALMA
from alma.testing import IntegrationContract
from alma_testing.contracts.integration import Call, Played, Scene, Turn
from framework_scenes import play_agents


class TestAgents(IntegrationContract):
    has_one_verdict = has_interrupts = False

    def play(self, alma: ALMA, scene: Scene) -> Played:
        return play_agents(alma, scene, agent, is_async=False)


class Scripted(Model):
    """A model that follows the turns."""

    def __init__(self, turns: list[Turn], prompts: list[str]) -> None:
        super().__init__(model_id="scripted")
        self._left = list(turns)
        self._prompts = prompts

    def generate(self, messages: list[Any], **_: Any) -> ChatMessage:
        self._prompts.append(str([message.content for message in messages]))
        turn = self._left.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        calls = (Call("final_answer", {"answer": turn}),) if isinstance(turn, str) else turn
        return ChatMessage(
            role=MessageRole.ASSISTANT, content="", tool_calls=[*map(_call, [calls] if isinstance(calls, Call) else calls)]
        )


def _call(call: Any) -> ChatMessageToolCall:
    _call.number += 1  # type: ignore[attr-defined]
    function = ChatMessageToolCallFunction(name=call.tool, arguments=dict(call.arguments))
    return ChatMessageToolCall(id=f"c{_call.number}", type="function", function=function)  # type: ignore[attr-defined]


_call.number = 0  # type: ignore[attr-defined]


def agent(scene: Scene, name: str, turns: list[Turn], prompts: list[str]) -> ToolCallingAgent:
    """An agent whose model follows the turns."""

    def check(answer: Any, memory: Any, agent: Any) -> bool:
        reason = scene.guardrail(str(answer)) if scene.guardrail else None
        if reason is not None:
            raise ValueError(reason)
        return True

    tools = [Plain(each, is_cancelled=scene.is_cancelled) for each in scene.tools]
    return ToolCallingAgent(
        tools, Scripted(turns, prompts), name=name, description=name, final_answer_checks=[check], verbosity_level=LogLevel.OFF
    )


class Plain(Tool):
    """A tool that is a function of texts."""

    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, function: Any, *, is_cancelled: bool) -> None:
        self.name, self.description = function.__name__, str(function.__doc__)
        self.inputs = {name: {"type": "string", "description": name} for name in inspect.signature(function).parameters}
        self._function, self._is_cancelled = function, is_cancelled
        super().__init__()

    def forward(self, **given: Any) -> Any:
        if self._is_cancelled:
            raise asyncio.CancelledError
        return self._function(**given)
