"""Plays the scenes of the contract with agents of other frameworks in a harness."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from alma import ALMA, Context
from alma.harness import create_harness
from alma_testing.contracts.integration import HandOver, Played, Scene, Turn

Made = Callable[[Scene, str, list[Turn], list[str]], Any]
"""Makes an agent of a name that follows the turns, and keeps the prompts of its model."""


def play_agents(alma: ALMA, scene: Scene, make: Made, *, is_async: bool, is_parted: bool = True) -> Played:
    """Runs the scene. Where the framework has no hand-off (`is_parted`), the program runs one agent after the other."""
    prompts: list[str] = []
    problems: list[Exception] = []
    answer, error = "", None
    parts = parted(scene.agent, scene.turns) if is_parted else [(scene.agent, list(scene.turns))]
    for name, turns in parts:
        harness = create_harness("general", name, alma, run=make(scene, name, turns, prompts), **scene.options)
        ids = {"run_id": scene.run_id} if scene.run_id else {}
        context = Context(task=scene.task, user_id=scene.user_id, session_id=scene.thread_id, **ids)
        try:
            result = asyncio.run(harness.arun(context)) if is_async or scene.is_async else harness.run(context)
            answer = str(result.output)
        except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - the scene says which
            error = raised
        problems += harness.errors
    return Played(answer, error, prompts, problems)


def parted(name: str, turns: Sequence[Turn]) -> list[tuple[str, list[Turn]]]:
    """Returns the turns of each agent. One that hands over ends its run by saying so."""
    own: list[Turn] = []
    for turn in turns:
        if isinstance(turn, HandOver):
            return [(name, [*own, "I hand over."]), *parted(turn.agent, turn.turns)]
        own.append(turn)
    return [(name, own)]


def cancel_run(alma: ALMA, scene: Scene, agent: Any, entered: asyncio.Event) -> Played:
    """Runs an agent in a harness, and cancels the run when its tool has entered."""
    harness = create_harness("general", scene.agent, alma, run=agent)

    async def go() -> None:
        running = asyncio.ensure_future(harness.arun(Context(task=scene.task)))
        await entered.wait()
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(go())
    return Played()
