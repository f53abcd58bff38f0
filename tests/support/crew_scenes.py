"""Agents of CrewAI that follow the turns of a scene of the contract."""

import asyncio
import copy
import json
from collections.abc import Sequence
from typing import Any

from crewai import Agent, TaskOutput
from crewai.tools import tool

from alma_testing.contracts.integration import Call, Scene, Turn
from crews import ScriptedLLM, agent


def agent_of(scene: Scene, name: str, turns: Sequence[Turn], models: list[ScriptedLLM], is_native: bool = True) -> Agent:
    """An agent whose model follows the turns; the model is added to `models`."""
    model = ScriptedLLM(*((_reply if is_native else _text)(turn) for turn in turns), native=is_native)
    models.append(model)
    return agent(model, name, tools=[_tool(scene, function) for function in scene.tools], max_retry_limit=0)


def _reply(turn: Turn) -> Any:
    calls = (turn,) if isinstance(turn, Call) else turn
    if not isinstance(calls, tuple):
        return turn
    return [
        {"id": f"call_{number}", "type": "function", "function": {"name": call.tool, "arguments": dict(call.arguments)}}
        for number, call in enumerate(calls)
    ]


def _text(turn: Turn) -> Any:
    if isinstance(turn, Call):
        return f"Thought: t\nAction: {turn.tool}\nAction Input: {json.dumps(dict(turn.arguments))}"
    return f"Thought: I know\nFinal Answer: {turn}" if isinstance(turn, str) else turn


def _tool(scene: Scene, function: Any) -> Any:
    def cancelled(way: str) -> str:
        """Is cancelled."""
        raise asyncio.CancelledError

    made = tool(function.__name__)(copy.copy(cancelled if scene.is_cancelled else function))
    made.cache_function = lambda *_: False
    return made


def guarded(scene: Scene) -> dict[str, Any]:
    """The guardrail of a scene, as an argument of a task."""

    def guard(output: TaskOutput) -> tuple[bool, Any]:
        reason = scene.guardrail(output.raw) if scene.guardrail else None
        return (True, output.raw) if reason is None else (False, reason)

    return {"guardrail": guard} if scene.guardrail else {}
