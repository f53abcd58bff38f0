"""A chat model that follows a script, for tests and experiments without a network."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

Reply = str | tuple[str, dict[str, Any]] | AIMessage
"""A text, a call of one tool by name and arguments, or a message as it is."""

Script = Sequence[Reply] | Callable[[Sequence[BaseMessage]], Reply]


class ScriptedChatModel(BaseChatModel):
    """Answers by a script: `ScriptedChatModel(script=[("deploy", {"way": "rolling"}), "Done."])`.

    A list starts again after each human message, and its last reply repeats; a function receives the messages. Neither counts calls, so
    concurrent runs may share one. It accepts tools, streams, and records its inputs in `prompts`.
    """

    script: Any
    prompts: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **given: Any) -> Any:
        """Returns itself: the script knows the tools."""
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **given: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages))])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **given: Any
    ) -> Iterator[ChatGenerationChunk]:
        said = self._reply(messages)
        yield ChatGenerationChunk(message=AIMessageChunk(content=said.content, tool_calls=said.tool_calls, chunk_position="last"))

    def _reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self.prompts.append(list(messages))
        said = self.script(messages) if callable(self.script) else _next(self.script, messages)
        return _message(said, len(messages))


def _next(script: Sequence[Reply], messages: Sequence[BaseMessage]) -> Reply:
    humans = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    since = messages[humans[-1] if humans else 0 :]
    return script[min(sum(isinstance(message, AIMessage) for message in since), len(script) - 1)]


def _message(said: Reply, place: int) -> AIMessage:
    """Returns the reply as a new message, whose calls have unique ids within the run."""
    if isinstance(said, str):
        return AIMessage(said)
    if isinstance(said, tuple):
        said = AIMessage("", tool_calls=[{"name": said[0], "args": said[1], "id": "call"}])
    calls = [{**call, "id": f"{call['id']}-{place}"} for call in said.tool_calls]
    return AIMessage(said.content, tool_calls=calls)
