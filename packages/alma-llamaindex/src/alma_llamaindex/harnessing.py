"""Runs an agent, a workflow of agents or a query engine of LlamaIndex in a harness of `alma-harness`, which begins and ends the run."""

import asyncio
from collections.abc import Callable
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import AsyncStreamingResponse
from llama_index.core.memory import InsertMethod, Memory

from alma_integration import Run
from alma_llamaindex import spans
from alma_llamaindex.block import ALMAMemoryBlock
from alma_llamaindex.following import Followed, Line
from alma_llamaindex.handler import LEARNERS
from alma_llamaindex.spans import Kind


def driven(agent: Any) -> Callable[..., Any]:
    """Returns the function that runs it once on the prompt, and returns the text of its answer.

    Its tool calls are steps of the harness's run, and so are the reasons of an evaluator in a `RetryQueryEngine`. The first agent of a
    workflow has the name of the harness; agents that it hands over to have their own, and are shown their own notes.
    """
    call = _asked if isinstance(agent, BaseQueryEngine) else _run_through
    kind = Kind.QUERY if isinstance(agent, BaseQueryEngine) else Kind.WORKFLOW if isinstance(agent, AgentWorkflow) else Kind.AGENT

    async def run_agent(prompt: str, run: Run, **given: Any) -> str:
        followed = Followed(kind, spans.first_agent(agent), run.task)
        followed.lines[run.integration.alma] = Line(run, run.agent, is_ended_here=False)
        with LEARNERS.expecting(agent, followed):
            return spans.output_of(await call(agent, prompt, run, **given))

    return run_agent


async def _run_through(agent: Any, prompt: str, run: Run, memory: Any = None, **given: Any) -> Any:
    if memory is None and isinstance(agent, AgentWorkflow):
        notes = ALMAMemoryBlock(run.integration.alma, run.agent)
        memory = Memory.from_defaults(memory_blocks=[notes], insert_method=InsertMethod.USER)
    handler = agent.run(user_msg=prompt, memory=memory, **given)
    try:
        return await handler
    except asyncio.CancelledError:
        await handler.cancel_run()
        raise


async def _asked(engine: Any, prompt: str, run: Run, **given: Any) -> Any:
    answer = await engine.aquery(prompt, **given)
    return await answer.get_response() if isinstance(answer, AsyncStreamingResponse) else answer
