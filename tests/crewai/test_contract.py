"""What every adapter promises, played by real crews."""

import asyncio
from dataclasses import replace

import pytest

from alma import ALMA
from alma.testing import IntegrationContract
from alma_testing.contracts.integration import Played, Scene
from crew_scenes import agent_of, guarded
from crews import ALMAMemory, ScriptedLLM, crew, task
from framework_scenes import parted


class Crews(IntegrationContract):
    """A crew of one task; a hand-over is a second task, of another agent, which is how crews share work."""

    is_native = True
    has_one_verdict = False  # each task of a crew has an answer of its own, which is judged
    has_interrupts = False  # CrewAI asks a person while the task waits; nothing of it is put aside for another process

    def play(self, alma: ALMA, scene: Scene) -> Played:
        memory = ALMAMemory(alma, **scene.options)
        models: list[ScriptedLLM] = []
        tasks = [
            task(scene.task, agent_of(scene, name, turns, models, self.is_native), **guarded(scene))
            for name, turns in parted(scene.agent, scene.turns)
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
