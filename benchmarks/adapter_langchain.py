"""An agent of LangChain for `benchmarks.adapters`."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from alma import ALMA
from alma_langchain import ALMAMiddleware
from alma_langchain.testing import ScriptedChatModel
from benchmarks.adapters import Agent
from benchmarks.subject import AGENT


@tool
def look(place: str) -> str:
    """Looks somewhere."""
    return f"nothing at {place}"


def plain() -> Agent:
    """The agent alone."""
    return _running([])


def learning(alma: ALMA) -> Agent:
    """The agent with its memory."""
    return _running([ALMAMiddleware(alma, agent=AGENT, on_error="raise")])


def _running(middleware: list[Any]) -> Agent:
    left = 0

    def script(messages: Sequence[BaseMessage]) -> Any:
        done = sum(isinstance(message, ToolMessage) for message in messages)
        return ("look", {"place": "here"}) if done < left else "Done."

    agent = create_agent(ScriptedChatModel(script=script), [look], middleware=middleware)

    def run(task: str, steps: int) -> None:
        nonlocal left
        left = steps
        agent.invoke({"messages": [HumanMessage(task)]})

    return run
