"""Plays the scenes of the contract with the adapter that `docs/guides/integrating.md` shows."""

import asyncio
from pathlib import Path
from typing import Any

from alma import ALMA
from alma_testing.contracts.integration import Call, HandOver, Played, Scene, Turn
from run_document import blocks

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "integrating.md"


def shown_code() -> dict[str, Any]:
    """Returns the names that the first two blocks of the page define."""
    names: dict[str, Any] = {}
    for block in [block for block in blocks(PAGE.read_text(encoding="utf-8")) if block.runs][:2]:
        exec(compile(block.text, str(PAGE), "exec"), names)
    return names


CODE = shown_code()


def play(alma: ALMA, scene: Scene) -> Played:
    """Runs a scene to its end."""
    prompts: list[str] = []
    hook = CODE["ALMAHook"](alma, scene.agent, **scene.options)
    about = {"run_id": scene.run_id, "thread_id": scene.thread_id, "user_id": scene.user_id}
    agent = CODE["Agent"](scene.agent, _model(scene.turns, scene, prompts), _tools(scene), [hook], scene.guardrail)
    try:
        answer, error = agent.run(scene.task, **about), None
    except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - the scene says which
        answer, error = "", raised
    return Played(answer, error, prompts, list(hook.integration.errors))


def _model(turns: list[Turn], scene: Scene, prompts: list[str]) -> Any:
    left = list(turns)

    def model(messages: list[str]) -> Any:
        prompts.append("\n".join(messages))
        turn = left.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        if isinstance(turn, HandOver):
            left[:] = turn.turns
            return lambda agent, about: about["alma"].hand_over(turn.agent)
        calls = (turn,) if isinstance(turn, Call) else turn
        return turn if isinstance(turn, str) else [(call.tool, call.arguments) for call in calls]

    return model


def _tools(scene: Scene) -> list[Any]:
    if not scene.is_cancelled:
        return list(scene.tools)

    def deploy(way: str) -> str:
        raise asyncio.CancelledError

    return [deploy]
