"""Agents of the OpenAI Agents SDK in a harness pass the contract of all adapters, from the SDK's own hooks.

A guardrail of the SDK ends the run and sends no answer back, and a run is not put aside here for another process.
"""

import asyncio
from typing import Any

from agents import Agent, FunctionTool, function_tool, set_tracing_disabled
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from alma import ALMA
from alma.testing import IntegrationContract
from alma_testing.contracts.integration import Call, HandOver, Played, Scene, Turn
from framework_scenes import play_agents

set_tracing_disabled(True)


class TestAgents(IntegrationContract):
    has_guardrail = has_interrupts = False
    is_async = False

    def play(self, alma: ALMA, scene: Scene) -> Played:
        return play_agents(alma, scene, agent, is_async=self.is_async, is_parted=False)


class TestAgentsInAnEventLoop(TestAgents):
    is_async = True


def agent(scene: Scene, name: str, turns: list[Turn], prompts: list[str]) -> Agent[None]:
    """An agent whose model follows the turns; one that hands over has the other as a hand-off."""
    last = turns[-1]
    others = [agent(scene, last.agent, list(last.turns), prompts)] if isinstance(last, HandOver) else []
    model = ScriptedModel([ModelStep.respond(_responder(turn, f"{name}{place}", prompts)) for place, turn in enumerate(turns)])
    tools: list[Any] = [_cancelled() if scene.is_cancelled else function_tool(each) for each in scene.tools]
    return Agent(name=name, model=model, tools=tools, handoffs=list(others))


def _responder(turn: Turn, place: str, prompts: list[str]) -> Any:
    def respond(call: Any) -> Any:
        prompts.append(f"{call.system_instructions}\n{call.input}")
        if isinstance(turn, BaseException):
            return turn
        if isinstance(turn, str):
            return [assistant_message(turn)]
        if isinstance(turn, HandOver):
            return [function_call(f"transfer_to_{turn.agent}", {}, call_id=f"h{place}")]
        calls = (turn,) if isinstance(turn, Call) else turn
        return [function_call(one.tool, dict(one.arguments), call_id=f"c{place}_{number}") for number, one in enumerate(calls)]

    return respond


def _cancelled() -> FunctionTool:
    @function_tool(failure_error_function=None)
    async def deploy(way: str) -> str:
        """Is cancelled."""
        raise asyncio.CancelledError

    return deploy
