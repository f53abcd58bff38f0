"""Chat models that follow a script, and real agents around them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool

from alma import ALMA, EpisodeRecord

Decide = Callable[[Sequence[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Answers as `decide` says from the messages alone, so that any number of runs may share it. `seen` has what it was asked."""

    decide: Decide
    seen: list[list[BaseMessage]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **given: Any) -> Any:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: CallbackManagerForLLMRun | None = None, **given: Any
    ) -> ChatResult:
        self.seen.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.decide(messages))])

    def _stream(self, messages: list[BaseMessage], *given: Any, **named: Any) -> Iterator[ChatGenerationChunk]:
        self.seen.append(list(messages))
        said = self.decide(messages)
        chunks = [
            ToolCallChunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=number, type="tool_call_chunk")
            for number, call in enumerate(said.tool_calls)
        ]
        yield ChatGenerationChunk(message=AIMessageChunk(said.content, tool_call_chunks=chunks, chunk_position="last"))

    async def _astream(self, messages: list[BaseMessage], *given: Any, **named: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            yield chunk


def scripted(*replies: AIMessage | str | Callable[[Sequence[BaseMessage]], AIMessage]) -> ScriptedModel:
    """A model that gives these replies to each human message, one after the other, and the last one ever after."""

    def decide(messages: Sequence[BaseMessage]) -> AIMessage:
        human = max(place for place, message in enumerate(messages) if isinstance(message, HumanMessage))
        said = sum(isinstance(message, AIMessage) for message in messages[human:])
        reply = replies[min(said, len(replies) - 1)]
        if callable(reply):
            reply = reply(messages)
        return AIMessage(reply) if isinstance(reply, str) else fresh(reply, len(messages))

    return ScriptedModel(decide=decide, seen=[])


def fresh(reply: AIMessage, place: int) -> AIMessage:
    """The reply as a message of its own, whose calls have ids that no other reply has."""
    calls = [{**call, "id": f"{call['id']}-{place}"} for call in reply.tool_calls]
    return AIMessage(reply.content, tool_calls=calls)


def call(name: str, call_id: str = "call-1", /, **arguments: Any) -> AIMessage:
    """A reply that calls one tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id}])


def system_text(messages: Sequence[BaseMessage]) -> str:
    """What the model was told by its system prompt."""
    return "\n".join(str(message.text) for message in messages if isinstance(message, SystemMessage))


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
