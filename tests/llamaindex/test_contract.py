"""LlamaIndex's agents pass the contract of all adapters, from LlamaIndex's own events."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Settings
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.response.schema import Response
from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
from llama_index.core.query_engine import RetrieverQueryEngine, RetryQueryEngine

from alma import ALMA
from alma.testing import IntegrationContract
from alma.testing.contracts.integration import Call, HandOver, Played, Scene, Turn
from alma_llamaindex import ALMALearner, ALMAMemory, ALMARetriever
from alma_llamaindex.testing import ScriptedLLM

pytestmark = pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")


class TestLlamaIndex(IntegrationContract):
    def play(self, alma: ALMA, scene: Scene) -> Played:
        if scene.guardrail is not None:
            return play_query(alma, scene, scene.guardrail)
        return play(alma, scene)

    def play_interrupted(self, folder: Path, scene: Scene) -> Played:
        context = folder.parent / "context.json"
        program = Path(__file__).parents[1] / "support" / "llama_interrupted.py"
        for part in ("waits", "goes on"):
            subprocess.run([sys.executable, str(program), part, str(folder), str(context)], check=True, timeout=60)
        return Played()


def play(alma: ALMA, scene: Scene) -> Played:
    """Runs an agent, or a workflow of agents where one hands over."""
    prompts: list[str] = []
    is_done = threading.Event()
    on_run = scene.options.get("on_run", lambda report: None)
    options = {**scene.options, "on_run": lambda report: (is_done.set(), on_run(report))}
    memory = ALMAMemory.from_defaults(alma, scene.agent, session_id=scene.thread_id, user_id=scene.user_id, **options)
    learner = memory.learner
    assert learner is not None
    agents = agents_of(scene, prompts)
    agent = agents[0] if len(agents) == 1 else AgentWorkflow(agents=agents, root_agent=scene.agent)

    async def go() -> str:
        handler = agent.run(user_msg=scene.task, memory=memory, run_id=scene.run_id)
        if scene.is_cancelled:
            async for event in handler.stream_events():
                if type(event).__name__ == "ToolCall":
                    await handler.cancel_run()
        return str(await handler)

    try:
        answer, error = asyncio.run(go()), None
    except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - the scene says which
        answer, error = "", raised
    while not is_done.is_set() and not learner.flush(0.05):
        pass
    return Played(answer, error, prompts, learner.errors)


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


def play_query(alma: ALMA, scene: Scene, complaint: Callable[[str], str | None]) -> Played:
    """Asks a query engine, which sends its answers to a guardrail."""
    prompts: list[str] = []
    llm = ScriptedLLM(script(list(scene.turns), prompts))
    Settings.llm = llm  # it makes its transformation of the question with this one
    with ALMALearner(alma, query_engines=True, **scene.options) as learner:
        engine = RetrieverQueryEngine.from_args(ALMARetriever(alma, scene.agent, with_tags=True), llm=llm)
        response = RetryQueryEngine(engine, Guardrail(complaint)).query(scene.task)
        assert isinstance(response, Response)
    return Played(str(response), None, prompts, learner.errors)
