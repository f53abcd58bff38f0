"""Runs an agent, a workflow of agents or a query engine of LlamaIndex in a harness of `alma-harness`, which begins and ends the run."""

import asyncio
from collections.abc import Callable
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import AsyncStreamingResponse
from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
from pydantic import PrivateAttr

from alma.integration import Run
from alma_llamaindex import spans
from alma_llamaindex.following import Followed, Line
from alma_llamaindex.handler import HANDLER, LEARNERS
from alma_llamaindex.spans import Kind


def driven(agent: Any) -> Callable[..., Any]:
    """Returns the function that runs it once on the prompt, and returns the text of its answer.

    Its tool calls are steps of the harness's run, and so are the reasons of an evaluator in a `RetryQueryEngine`. The first agent of a
    workflow has the name of the harness; agents that it hands over to have their own, and are shown their own notes.
    """
    call = _asked if isinstance(agent, BaseQueryEngine) else _run_through
    kind = Kind.QUERY if isinstance(agent, BaseQueryEngine) else Kind.WORKFLOW if isinstance(agent, AgentWorkflow) else Kind.AGENT

    async def run_agent(prompt: str, run: Run) -> str:
        followed = Followed(kind, spans.first_agent(agent), run.task)
        followed.lines[run.integration.alma] = Line(run, run.agent, is_ended_here=False)
        with LEARNERS.expecting(agent, followed):
            return spans.output_of(await call(agent, prompt, run))

    return run_agent


class NotesOfOthers(BaseMemoryBlock[str]):
    """The notes of agents that a workflow hands over to. Those of its first agent are in the prompt."""

    name: str = "alma"
    _run: Run = PrivateAttr()

    @classmethod
    def of(cls, run: Run) -> "NotesOfOthers":
        block = cls()
        block._run = run
        return block

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        span = HANDLER.here()
        speaker = None if span is None else await spans.next_speaker(span.followed.context)
        if span is not None and speaker is not None and speaker != span.followed.speaking:
            span.followed.hand_over(speaker)
        return "" if self._run.speaking == self._run.agent else await self._run.arecall()

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Stores nothing: the chat is LlamaIndex's."""


async def _run_through(agent: Any, prompt: str, run: Run) -> Any:
    memory: Memory | None = None
    if isinstance(agent, AgentWorkflow):
        memory = Memory.from_defaults(memory_blocks=[NotesOfOthers.of(run)], insert_method=InsertMethod.USER)
    handler = agent.run(user_msg=prompt, memory=memory)
    try:
        return await handler
    except asyncio.CancelledError:
        await handler.cancel_run()
        raise


async def _asked(engine: Any, prompt: str, run: Run) -> Any:
    answer = await engine.aquery(prompt)
    return await answer.get_response() if isinstance(answer, AsyncStreamingResponse) else answer
