"""A chat model that follows a script: for tests, examples and documentation, without a network."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import BaseTool
from pydantic import PrivateAttr

Call = tuple[str, dict[str, Any]]
Answer = str | list[Call] | Exception
"""What the model says, which tools it calls with which arguments (several in parallel), or what it raises."""
Script = Callable[[list[ChatMessage]], Answer] | Sequence[Answer]
"""The answers in their order, or a function of the messages that the model is given."""


class ScriptedLLM(FunctionCallingLLM):
    """Calls tools and answers as the script says; `prompts` has the messages of each call, in order."""

    _script: Script = PrivateAttr()
    _prompts: list[list[ChatMessage]] = PrivateAttr(default_factory=list)

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    @classmethod
    def class_name(cls) -> str:
        return "ScriptedLLM"

    @property
    def prompts(self) -> list[list[ChatMessage]]:
        """What the model was given, one list of messages a call."""
        return self._prompts

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted", is_chat_model=True, is_function_calling_model=True)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self._prompts.append([message.model_copy(deep=True) for message in messages])
        answer = self._script(self._prompts[-1]) if callable(self._script) else self._script[len(self._prompts) - 1]
        if isinstance(answer, Exception):
            raise answer
        message = _message(answer, len(self._prompts))
        return ChatResponse(message=message, delta=message.content or "")

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self.chat(messages)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Iterator[ChatResponse]:  # type: ignore[override] # a generator
        yield self.chat(messages)

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> AsyncIterator[ChatResponse]:  # type: ignore[override] # an async generator
        response = self.chat(messages)

        async def stream() -> AsyncIterator[ChatResponse]:
            yield response

        return stream()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.chat([ChatMessage(role=MessageRole.USER, content=prompt)]).message.content or "")

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return self.complete(prompt)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Iterator[CompletionResponse]:  # type: ignore[override] # a generator
        yield self.complete(prompt)

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> AsyncIterator[CompletionResponse]:  # type: ignore[override] # an async generator
        response = self.complete(prompt)

        async def stream() -> AsyncIterator[CompletionResponse]:
            yield response

        return stream()

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(tool_id=block.tool_call_id or "", tool_name=block.tool_name, tool_kwargs=block.tool_kwargs)
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock) and isinstance(block.tool_kwargs, dict)
        ]

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return {"messages": chat_history or []}


def _message(answer: str | list[Call], number: int) -> ChatMessage:
    if isinstance(answer, str):
        return ChatMessage(role=MessageRole.ASSISTANT, content=answer)
    calls = [
        ToolCallBlock(tool_call_id=f"call-{number}-{place}", tool_name=name, tool_kwargs=arguments)
        for place, (name, arguments) in enumerate(answer, start=1)
    ]
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=calls)
