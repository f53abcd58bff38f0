"""A chat model that follows a script: for tests, examples and documentation, without a network."""

from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    MessageRole,
    ToolCallBlock,
)
from llama_index.core.llms.mock import MockFunctionCallingLLM
from pydantic import Field, PrivateAttr

Call = tuple[str, dict[str, Any]]
Answer = str | list[Call] | Exception
"""The model's text, its tool calls with arguments (several in parallel), or the error that it raises."""
Script = Callable[[list[ChatMessage]], Answer] | Sequence[Answer]
"""The answers in order, or a function of the messages that the model receives."""


class ScriptedLLM(MockFunctionCallingLLM):
    """Calls tools and answers by the script; `prompts` has the messages of each call, in order."""

    prompts: list[list[ChatMessage]] = Field(
        default_factory=list, description="The messages that the model was given, call by call."
    )
    _script: Script = PrivateAttr()

    def __init__(self, script: Script) -> None:
        super().__init__(response_generator=self._answer, is_chat_model=True)
        self._script = script

    @classmethod
    def class_name(cls) -> str:
        return "ScriptedLLM"

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self._answer([ChatMessage(role=MessageRole.USER, content=prompt)]).content or "")

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return self.complete(prompt)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        yield self.complete(prompt)

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        async def stream() -> CompletionResponseAsyncGen:
            yield self.complete(prompt)

        return stream()

    def _answer(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
        self.prompts.append([message.model_copy(deep=True) for message in messages])
        answer = self._script(self.prompts[-1]) if callable(self._script) else self._script[len(self.prompts) - 1]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=answer)
        calls = [
            ToolCallBlock(tool_call_id=f"call-{len(self.prompts)}-{place}", tool_name=name, tool_kwargs=arguments)
            for place, (name, arguments) in enumerate(answer, start=1)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=calls)
