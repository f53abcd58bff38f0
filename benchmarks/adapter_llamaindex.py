"""An agent of LlamaIndex for `benchmarks.adapters`: LlamaIndex's own `Memory`, or ALMA's in its place."""

import asyncio
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import Memory

from alma import ALMA
from alma_llamaindex import ALMALearner, ALMAMemory
from alma_llamaindex.testing import ScriptedLLM
from benchmarks.adapters import Agent
from benchmarks.subject import AGENT


def look(place: str) -> str:
    """Looks somewhere."""
    return f"nothing at {place}"


def plain() -> Agent:
    """The agent with a memory of its chat."""
    return _running(Memory.from_defaults, lambda: None)


def learning(alma: ALMA) -> Agent:
    """The agent with ALMA's memory, until all is written that it learns from."""
    learner = ALMALearner(alma).install()

    def written() -> None:
        learner.flush()
        if learner.errors:
            raise learner.errors[-1]

    return _running(lambda: ALMAMemory.from_defaults(alma, agent=AGENT), written)


def _running(memory: Any, written: Any) -> Agent:
    loop = asyncio.new_event_loop()
    left = 0

    def script(messages: list[ChatMessage]) -> Any:
        done = sum(message.role == MessageRole.TOOL for message in messages)
        return [("look", {"place": f"place {done}"})] if done < left else "Done."

    agent = FunctionAgent(name=AGENT, llm=ScriptedLLM(script), tools=[look])

    async def go(task: str) -> None:
        await agent.run(user_msg=task, memory=memory())

    def run(task: str, steps: int) -> None:
        nonlocal left
        left = steps
        loop.run_until_complete(go(task))
        written()

    return run
