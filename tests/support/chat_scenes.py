"""Plays the scenes of the contract by chat loops with tools, over HTTP on loopback."""

import asyncio
import json
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from alma import ALMA
from alma.harness import remembered_client
from alma.testing import IntegrationContract
from alma_testing.contracts.integration import HandOver, Played, Scene, Turn
from chat_server import chat_server

Client = Callable[[str, str], Any]
"""Makes a client of a family for an address."""

Answer = tuple[str, list[tuple[str, str, Any]]]
"""The text, and the calls as (id, name, arguments)."""


class ChatContract(IntegrationContract):
    """The contract for a loop of the user around `create`, over HTTP on loopback."""

    has_interrupts = has_guardrail = has_one_verdict = False
    family = "openai"
    is_async = is_stream = False
    client: Callable[..., Any]
    """Makes a client of a family for an address, `is_async` or not."""

    def play(self, alma: ALMA, scene: Scene) -> Played:
        is_async = self.is_async or scene.is_async
        client = partial(type(self).client, is_async=is_async)
        return play_chats(alma, scene, self.family, client, is_async=is_async, is_stream=self.is_stream)


def play_chats(alma: ALMA, scene: Scene, family: str, client: Client, *, is_async: bool, is_stream: bool) -> Played:
    """Holds a conversation for each agent that takes part; one that hands over ends its own by saying so."""
    answer, error, prompts, problems = "", None, [], []
    for agent, turns in _parts(scene.agent, scene.turns):
        with chat_server(turns) as server:
            ids = {"run_id": scene.run_id, "thread_id": scene.thread_id}
            named = {"user_id": scene.user_id} if scene.user_id else {}
            chat = remembered_client(alma, client(family, server.url), agent, **ids, **scene.options)
            create = chat.chat.completions.create if family == "openai" else chat.messages.create
            request = {"model": "m", "max_tokens": 99, "stream": is_stream, "metadata": named}
            try:
                answer = _go(create, request, scene, family, is_async=is_async)
            except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - the scene says which
                error = raised
            chat.learning.flush()
            problems += chat.learning.errors
            prompts += server.prompts
    return Played(answer, error, prompts, problems)


def _parts(name: str, turns: Sequence[Turn]) -> list[tuple[str, list[Turn]]]:
    own: list[Turn] = []
    for turn in turns:
        if isinstance(turn, HandOver):
            return [(name, [*own, "I hand over."]), *_parts(turn.agent, turn.turns)]
        own.append(turn)
    return [(name, own)]


def _go(create: Any, request: dict[str, Any], scene: Scene, family: str, *, is_async: bool) -> str:
    loop = _conversation(scene, family)

    def ask() -> str:
        asked = next(loop)
        try:
            while True:
                answer = create(**request, messages=asked)
                asked = loop.send(_heard(family, list(answer) if request["stream"] else answer))
        except StopIteration as over:
            return str(over.value)

    async def aask() -> str:
        asked = next(loop)
        try:
            while True:
                answer = await create(**request, messages=asked)
                heard = [chunk async for chunk in answer] if request["stream"] else answer
                asked = loop.send(_heard(family, heard))
        except StopIteration as over:
            return str(over.value)

    return asyncio.run(aask()) if is_async else ask()


def _conversation(scene: Scene, family: str) -> Generator[list[Any], Answer, str]:
    """Gives the messages of each request, is sent the answer, and returns the last text."""
    messages: list[Any] = [{"role": "user", "content": scene.task}]
    while True:
        text, calls = yield list(messages)
        if not calls:
            return text
        results = [(call_id, *_result(scene, name, given)) for call_id, name, given in calls]
        if family == "openai":
            made = [{"id": one, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for one, n, a in calls]
            messages.append({"role": "assistant", "content": text or None, "tool_calls": made})
            messages += [{"role": "tool", "tool_call_id": call_id, "content": said} for call_id, said, _ in results]
        else:
            used = [{"type": "tool_use", "id": one, "name": name, "input": given} for one, name, given in calls]
            messages.append({"role": "assistant", "content": used})
            told = [
                {"type": "tool_result", "tool_use_id": one, "content": said, "is_error": failed} for one, said, failed in results
            ]
            messages.append({"role": "user", "content": told})


def _result(scene: Scene, name: str, given: Any) -> tuple[str, bool]:
    if scene.is_cancelled:
        raise asyncio.CancelledError
    tool = next(each for each in scene.tools if each.__name__ == name)
    try:
        return tool(**given), False
    except Exception as error:  # noqa: BLE001 - it is shown to the model
        return f"{type(error).__name__}: {error}", True


def _heard(family: str, answer: Any) -> Answer:
    """Reads an answer, or the chunks of one; of a vendor's library its objects."""
    if isinstance(answer, list):
        return _collected(family, [_plain(chunk) for chunk in answer])
    said = _plain(answer)
    if family == "openai":
        message = said["choices"][0]["message"]
        calls = message.get("tool_calls") or ()
        made = [(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]
        return message["content"] or "", made
    blocks = said["content"]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    return text, [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]


def _collected(family: str, chunks: list[Any]) -> Answer:
    text, calls = "", {}
    for chunk in chunks:
        if family == "openai":
            delta = chunk["choices"][0]["delta"]
            text += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                known = calls.setdefault(call["index"], [call.get("id"), call["function"].get("name"), ""])
                known[2] += call["function"].get("arguments") or ""
        elif chunk["type"] == "content_block_start" and chunk["content_block"]["type"] == "tool_use":
            calls[chunk["index"]] = [chunk["content_block"]["id"], chunk["content_block"]["name"], ""]
        elif chunk["type"] == "content_block_delta":
            text += chunk["delta"].get("text") or ""
            if chunk["index"] in calls:
                calls[chunk["index"]][2] += chunk["delta"].get("partial_json") or ""
    return text, [(one, name, json.loads(given)) for one, name, given in calls.values()]


def _plain(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else value
