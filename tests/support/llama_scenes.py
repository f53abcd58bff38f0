"""Agents of LlamaIndex that follow the turns of a scene of the contract."""

import asyncio
from collections.abc import Callable
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

from alma_llamaindex.testing import ScriptedLLM
from alma_testing.contracts.integration import Call, HandOver, Scene, Turn


def agents_of(scene: Scene, prompts: list[str]) -> list[FunctionAgent]:
    """An agent for each that takes part, with its turns."""
    names, parts, turns = [scene.agent], [list(scene.turns)], list(scene.turns)
    while turns and isinstance(turns[-1], HandOver):
        last = turns[-1]
        names.append(last.agent)
        turns = list(last.turns)
        parts.append(turns)
    return [
        FunctionAgent(
            name=name,
            description=name,
            llm=ScriptedLLM(script(part, prompts)),
            tools=tools_of(scene),
            can_handoff_to=[other for other in names if other != name],
        )
        for name, part in zip(names, parts, strict=True)
    ]


def script(turns: list[Turn], prompts: list[str]) -> Callable[[Any], Any]:
    left = list(turns)

    def answer(messages: Any) -> Any:
        prompts.append("\n".join(message.content or "" for message in messages))
        turn = left.pop(0)
        if isinstance(turn, HandOver):
            return [("handoff", {"to_agent": turn.agent, "reason": "it knows more"})]
        if isinstance(turn, str | BaseException):
            return turn
        return [(call.tool, dict(call.arguments)) for call in ((turn,) if isinstance(turn, Call) else turn)]

    return answer


def tools_of(scene: Scene) -> list[Any]:
    if not scene.is_cancelled:
        return list(scene.tools)

    async def deploy(way: str) -> str:
        """Does not come back."""
        await asyncio.Event().wait()
        return ""

    return [deploy]


class Guardrail(BaseEvaluator):
    """What sends answers back in LlamaIndex: the evaluator of a `RetryQueryEngine`."""

    def __init__(self, complaint: Callable[[str], str | None]) -> None:
        self._complaint = complaint

    def _get_prompts(self) -> Any:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """It has none."""

    def evaluate(self, query: Any = None, response: Any = None, **given: Any) -> EvaluationResult:
        said = self._complaint(str(response))
        return EvaluationResult(query=query, response=response, passing=said is None, feedback=said)

    async def aevaluate(self, query: Any = None, response: Any = None, **given: Any) -> EvaluationResult:
        return self.evaluate(query, response)
