"""Chat models that follow a script, and real agents around them."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

from alma import ALMA, EpisodeRecord
from alma_langchain.testing import ScriptedChatModel


def scripted(*replies: Any) -> ScriptedChatModel:
    """A model that gives these replies to each human message, one after the other, and the last one ever after. A reply may be a function of the
    messages."""

    def decide(messages: Sequence[BaseMessage]) -> Any:
        human = max(place for place, message in enumerate(messages) if isinstance(message, HumanMessage))
        said = sum(isinstance(message, AIMessage) for message in messages[human:])
        reply = replies[min(said, len(replies) - 1)]
        return reply(messages) if callable(reply) else reply

    return ScriptedChatModel(script=decide)


def call(name: str, call_id: str = "call-1", /, **arguments: Any) -> AIMessage:
    """A reply that calls one tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id}])


def prompt_text(messages: Sequence[BaseMessage]) -> str:
    """Returns the system prompt and the human messages that the model received, notes included."""
    return "\n".join(str(message.text) for message in messages if isinstance(message, SystemMessage | HumanMessage))


@tool
def deploy(way: str) -> str:
    """Deploys the service in some way."""
    if way == "rolling":
        raise RuntimeError("ImagePullBackOff")
    return f"deployed {way}"


TASK = "Deploy auth service"
QUESTION = {"messages": [("user", TASK)]}


def invoke(agent: Any, given: Any = QUESTION, *, is_async: bool = False, **named: Any) -> Any:
    """Runs an agent in either colour."""
    return asyncio.run(agent.ainvoke(given, **named)) if is_async else agent.invoke(given, **named)


def runs(alma: ALMA) -> list[tuple[str, str]]:
    """How each run ended, oldest first: by whom, and its outcome or its status."""
    return [(record.agent, record.outcome or record.status) for record in reversed(alma.recent_episodes(1000))]


def steps(alma: ALMA) -> list[tuple[str, bool | None, str | None]]:
    """All steps of all runs, oldest run first: the action, whether it went well, the error."""
    return [(step.action, step.ok, step.error) for record in reversed(alma.recent_episodes(1000)) for step in record.steps]


def only_run(alma: ALMA) -> EpisodeRecord:
    """The only run that there was."""
    (record,) = alma.recent_episodes()
    return record
