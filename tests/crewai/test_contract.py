"""What every adapter promises, played by real crews."""

import asyncio
import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from crewai import Agent, TaskOutput

from alma import ALMA
from alma.testing import IntegrationContract
from alma.testing.contracts.integration import Call, HandOver, Played, Scene, Turn
from crews import ALMAMemory, ScriptedLLM, agent, crew, task, tool


class Crews(IntegrationContract):
    """A crew of one task; a hand-over is a second task, of another agent, which is how crews share work."""

    is_native = True
    has_one_verdict = False  # each task of a crew has an answer of its own, which is judged
    has_interrupts = False  # CrewAI asks a person while the task waits; nothing of it is put aside for another process

    def play(self, alma: ALMA, scene: Scene) -> Played:
        memory = ALMAMemory(alma, **scene.options)
        models: list[ScriptedLLM] = []
        tasks = [
            task(scene.task, _agent(scene, name, turns, models, self.is_native), **_guarded(scene))
            for name, turns in _parts(scene.agent, scene.turns)
        ]
        made = crew(*tasks, memory=memory)
        inputs = {"run_id": scene.run_id, "thread_id": scene.thread_id, "user_id": scene.user_id}
        given = {name: value for name, value in inputs.items() if value is not None}
        answer, error = "", None
        try:
            answer = (asyncio.run(made.akickoff(given)) if scene.is_async else made.kickoff(given)).raw
        except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - the scene says which
            error = raised
        memory.flush()
        memory.close()
        prompts = [model.prompt(number) for model in models for number in range(len(model.asked))]
        return Played(answer, error, prompts, memory.errors)


class TestCrews(Crews):
    """Crews as most programs start them."""


class TestCrewsInAnEventLoop(Crews):
    """The same crews by `akickoff`, where nothing may wait for the store."""

    def play(self, alma: ALMA, scene: Scene) -> Played:
        return super().play(alma, replace(scene, is_async=True))


class TestCrewsWhoseModelWritesItsCalls(Crews):
    """A model that cannot call tools, which CrewAI asks to write its calls down."""

    is_native = False

    def test_calls_in_parallel_are_a_step_each(self, store: ALMA) -> None:
        pytest.skip("such a model makes one call at a time")


def _parts(name: str, turns: Sequence[Turn]) -> list[tuple[str, list[Turn]]]:
    """The turns of each agent. One that hands over ends its task by saying so."""
    own: list[Turn] = []
    for turn in turns:
        if isinstance(turn, HandOver):
            return [(name, [*own, "I hand over."]), *_parts(turn.agent, turn.turns)]
        own.append(turn)
    return [(name, own)]


def _agent(scene: Scene, name: str, turns: Sequence[Turn], models: list[ScriptedLLM], is_native: bool) -> Agent:
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


def _guarded(scene: Scene) -> dict[str, Any]:
    def guard(output: TaskOutput) -> tuple[bool, Any]:
        reason = scene.guardrail(output.raw) if scene.guardrail else None
        return (True, output.raw) if reason is None else (False, reason)

    return {"guardrail": guard} if scene.guardrail else {}
