"""Shared helpers of the LlamaIndex adapter's tests: agents that follow a script, and the episodes of their runs."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from alma import ALMA, EpisodeRecord, Outcome
from alma_llamaindex import ALMAMemory
from alma_llamaindex.handler import LEARNERS
from alma_llamaindex.testing import Answer, Script, ScriptedLLM

TASK = "Deploy the auth service"


def ok() -> str:
    """Works."""
    return "fine"


def bad() -> str:
    """Does not."""
    raise ValueError("boom")


OK_THEN_BAD: list[Answer] = [[("ok", {})], [("bad", {})], "done"]
OK = ("ok", True, None)
BOOM = ("bad", False, "ValueError: boom")
"""The two as steps, as `steps` tells them."""


def agent_of(
    script: Script, *, name: str = "dev", tools: Sequence[Callable[..., Any]] = (ok, bad), **settings: Any
) -> FunctionAgent:
    """An agent that does what the script says. Its model is `agent.llm`."""
    return FunctionAgent(name=name, description=f"The agent {name}.", llm=ScriptedLLM(script), tools=list(tools), **settings)


def react_agent_of(script: Script, **settings: Any) -> ReActAgent:
    """The same, by thought and action."""
    return ReActAgent(name="dev", llm=ScriptedLLM(script), tools=[ok, bad], **settings)


def memory_of(alma: ALMA) -> ALMAMemory:
    """The drop-in, for the agent `dev`."""
    return ALMAMemory.from_defaults(alma, agent="dev")


def run(agent: Any, memory: Any, task: str = TASK, **given: Any) -> AgentOutput:
    """Runs an agent to its end in an event loop of its own."""

    async def go() -> AgentOutput:
        return await agent.run(user_msg=task, memory=memory, **given)

    return asyncio.run(go())


def episodes(alma: ALMA) -> list[EpisodeRecord]:
    """All episodes, oldest first, when what has ended is written."""
    assert all(learner.flush() for learner in LEARNERS.known() if learner.alma == alma)
    return alma.recent_episodes(1_000)[::-1]


def steps(record: EpisodeRecord) -> list[tuple[str, bool | None, str | None]]:
    return [(step.tool, step.ok, step.error) for step in record.steps]


def outcomes(alma: ALMA, agent: str = "dev") -> set[tuple[str, str | None, str | None]]:
    """The outcomes that are kept as memories: how, by which way, with which error."""
    assert all(learner.flush() for learner in LEARNERS.known() if learner.alma == alma)
    kept = [memory for memory in alma.list_memories(agent=agent) if isinstance(memory, Outcome)]
    return {(str(memory.outcome), memory.strategy_used, memory.error_message) for memory in kept}


def kept_outcomes(alma: ALMA) -> int:
    """How many there are, two of the same words too."""
    return sum(memory.kind == "outcome" for memory in alma.list_memories())


def user_text(messages: Sequence[ChatMessage]) -> str:
    """Returns the text of the user's messages in a prompt."""
    return "\n".join(message.content or "" for message in messages if message.role == MessageRole.USER)


def whole_text(messages: Sequence[ChatMessage]) -> str:
    return "\n".join(message.content or "" for message in messages)
