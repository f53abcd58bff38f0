"""An agent of LlamaIndex for `benchmarks.families`."""

import asyncio
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import Memory

from alma import ALMA
from alma_llamaindex import ALMAMemory
from alma_llamaindex.testing import ScriptedLLM
from benchmarks.families import AGENT, Follower, Run, apply_for, look, went_well


def runner(alma: ALMA | None) -> Run:
    """Runs of the agent, with its memory or without."""
    now: list[Follower] = []

    def script(messages: list[ChatMessage]) -> Any:
        prompt = "\n".join(message.content or "" for message in messages)
        results = [message.content or "" for message in messages if message.role == MessageRole.TOOL]
        said = now[-1].next(prompt, results)
        return said if isinstance(said, str) else [said]

    async def run(task: str) -> None:
        memory = Memory.from_defaults() if alma is None else ALMAMemory.from_defaults(alma, agent=AGENT, evaluator=went_well)
        agent = FunctionAgent(name=AGENT, llm=ScriptedLLM(script), tools=[look, apply_for(lambda: now[-1])])
        await agent.run(user_msg=task, memory=memory)
        if isinstance(memory, ALMAMemory) and (learner := memory.learner) is not None:
            await learner.aflush()
            if learner.errors:
                raise learner.errors[-1]

    def go(task: str, follower: Follower) -> None:
        now[:] = [follower]
        asyncio.run(run(task))

    return go
