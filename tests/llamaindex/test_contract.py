"""LlamaIndex's agents pass the contract of all adapters, from LlamaIndex's own events."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from llama_index.core import Settings
from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.base.response.schema import Response
from llama_index.core.query_engine import RetrieverQueryEngine, RetryQueryEngine

from alma import ALMA
from alma.testing import IntegrationContract
from alma_llamaindex import ALMALearner, ALMAMemory, ALMARetriever
from alma_llamaindex.testing import ScriptedLLM
from alma_testing.contracts.integration import Played, Scene
from llama_scenes import Guardrail, agents_of, script

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
