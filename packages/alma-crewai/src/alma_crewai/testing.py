"""A chat model that follows a script, for trying crews without a network."""

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from crewai.llms.base_llm import BaseLLM
from pydantic import PrivateAttr

Message = Mapping[str, Any]
Reply = str | Exception | list[dict[str, Any]] | Callable[[list[Message]], Any]


class ScriptedLLM(BaseLLM):
    """Returns the replies it was created with, one per call, the last one repeatedly; records its inputs.

    A reply is a text, calls of tools as `use` creates them, an error to raise, or a function of the messages that returns one of these.
    With `native=False` it is a model that cannot call tools, so that CrewAI asks it to write them down.
    """

    _replies: list[Reply] = PrivateAttr()
    _asked: list[list[Message]] = PrivateAttr(default_factory=list)
    _is_native: bool = PrivateAttr(default=True)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, *replies: Reply, native: bool = True, **settings: Any) -> None:
        super().__init__(model="scripted", **settings)
        self._replies = list(replies) or ["done"]
        self._is_native = native

    @property
    def asked(self) -> list[list[Message]]:
        """Messages of each call."""
        return self._asked

    def prompt(self, number: int = 0) -> str:
        """Returns all text that it received in a call."""
        return "\n".join(str(message.get("content") or "") for message in self._asked[number])

    def supports_function_calling(self) -> bool:
        return self._is_native

    def call(self, messages: str | list[Any], *_: Any, **__: Any) -> Any:
        shown: list[Message] = [{"content": messages}] if isinstance(messages, str) else [dict(message) for message in messages]
        with self._lock:
            self._asked.append(shown)
            reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply(shown) if callable(reply) else reply

    def get_input_tokens_count(self, messages: str | list[Any], *_: Any, **__: Any) -> int:
        """Returns an estimate, without CrewAI's warning that it is one."""
        return len(str(messages)) // 4 + 1

    async def acall(self, messages: str | list[Any], *_: Any, **__: Any) -> Any:
        return self.call(messages)


def use(tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """Returns a reply that calls a tool."""
    return [{"id": f"call_{tool}", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}]
