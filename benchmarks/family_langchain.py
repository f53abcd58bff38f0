"""An agent of LangChain for `benchmarks.families`."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ToolErrorMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from alma import ALMA
from alma_langchain import ALMAMiddleware
from alma_langchain.testing import ScriptedChatModel
from benchmarks.families import AGENT, Follower, Run, apply_for, look, went_well


def runner(alma: ALMA | None) -> Run:
    """Runs of the agent, with its memory or without."""
    now: list[Follower] = []

    def script(messages: Sequence[BaseMessage]) -> Any:
        prompt = "\n".join(str(message.text) for message in messages)
        return now[-1].next(prompt, [str(message.text) for message in messages if isinstance(message, ToolMessage)])

    memory = [] if alma is None else [ALMAMiddleware(alma, agent=AGENT, evaluator=went_well, on_error="raise")]
    middleware: list[Any] = [*memory, ToolErrorMiddleware(on_error=lambda error, request: str(error))]
    agent = create_agent(ScriptedChatModel(script=script), [look, apply_for(lambda: now[-1])], middleware=middleware)

    def go(task: str, follower: Follower) -> None:
        now[:] = [follower]
        agent.invoke({"messages": [HumanMessage(task)]})

    return go
