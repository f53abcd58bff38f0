"""A server on loopback that speaks the HTTP of two families of chat APIs, streams too, and answers from a script."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import httpx

from alma_testing.contracts.integration import Call, Turn

NO_TLS = False
"""For `verify`: httpx reads all certificates for each client otherwise, which takes longer than the scenes."""


class ChatServer:
    """Answers each request by the next turn, and keeps what it was asked."""

    def __init__(self, turns: Sequence[Turn], url: str) -> None:
        self.left = list(turns)
        self.url = url
        self.prompts: list[str] = []

    def reply(self, path: str, body: dict[str, Any]) -> tuple[int, list[Any]]:
        """Returns the status, and the answer or the events of the stream."""
        self.prompts.append("\n".join(_texts(body["messages"])))
        turn = self.left.pop(0)
        if isinstance(turn, BaseException):
            return 503, [{"type": "error", "error": {"type": "overloaded_error", "message": str(turn)}}]
        calls = (turn,) if isinstance(turn, Call) else turn if isinstance(turn, tuple) else ()
        text = turn if isinstance(turn, str) else ""
        named = [(f"call_{len(self.prompts)}_{place}", call.tool, dict(call.arguments)) for place, call in enumerate(calls)]
        made = _openai if path.endswith("completions") else _anthropic
        return 200, made(text, named, is_stream=bool(body.get("stream")))


@contextmanager
def chat_server(turns: Sequence[Turn]) -> Iterator[ChatServer]:
    """Serves while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answers = chat.reply(self.path.partition("?")[0], body)
            is_stream = status == 200 and body.get("stream")
            said = b"".join(map(_event, answers)) if is_stream else json.dumps(answers[0]).encode()
            if is_stream and self.path.endswith("completions"):
                said += b"data: [DONE]\n\n"
            self.send_response(status)
            self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    chat = ChatServer(turns, f"http://127.0.0.1:{server.server_port}")
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    serving.start()
    try:
        yield chat
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def plain_client(family: str, url: str, *, is_async: bool) -> Any:
    """Returns a client without a vendor's library: its answers are the JSON of the server."""
    path = "/v1/chat/completions" if family == "openai" else "/v1/messages"

    def create(**body: Any) -> Any:
        response = httpx.post(f"{url}{path}", json=body, verify=NO_TLS)
        _check(response)
        return _events(response) if body.get("stream") else response.json()

    async def acreate(**body: Any) -> Any:
        async with httpx.AsyncClient(verify=NO_TLS) as client:
            response = await client.post(f"{url}{path}", json=body)
        _check(response)
        return _aevents(response) if body.get("stream") else response.json()

    end = SimpleNamespace(create=acreate if is_async else create)
    return SimpleNamespace(chat=SimpleNamespace(completions=end)) if family == "openai" else SimpleNamespace(messages=end)


def _check(response: httpx.Response) -> None:
    if response.status_code != 200:
        raise ConnectionError(response.json()["error"]["message"])


def _events(response: httpx.Response) -> Iterator[Any]:
    for line in response.text.splitlines():
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))


async def _aevents(response: httpx.Response) -> AsyncIterator[Any]:
    for event in _events(response):
        await asyncio.sleep(0)
        yield event


def _event(answer: dict[str, Any]) -> bytes:
    kind = f"event: {answer['type']}\n" if "type" in answer else ""
    return f"{kind}data: {json.dumps(answer)}\n\n".encode()


def _texts(messages: Any) -> Iterator[str]:
    for message in messages:
        content = message["content"]
        yield from [content] if isinstance(content, str) else (str(part.get("text", "")) for part in content or ())


def _openai(text: str, calls: list[tuple[str, str, Any]], *, is_stream: bool) -> list[Any]:
    made = [
        {"id": one, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}} for one, name, given in calls
    ]
    end = "tool_calls" if calls else "stop"
    if not is_stream:
        message = {"role": "assistant", "content": text or None, **({"tool_calls": made} if made else {})}
        choice = {"index": 0, "finish_reason": end, "message": message}
        return [{"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}]
    deltas: list[Any] = [{"role": "assistant", "content": ""}, *({"content": part} for part in _halves(text))]
    for place, call in enumerate(made):
        first, second = _halves(call["function"]["arguments"])
        named = {"index": place, "id": call["id"], "type": "function"}
        deltas.append({"tool_calls": [{**named, "function": {"name": call["function"]["name"], "arguments": first}}]})
        deltas.append({"tool_calls": [{"index": place, "function": {"arguments": second}}]})
    frame = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*chunks, {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]}]


def _anthropic(text: str, calls: list[tuple[str, str, Any]], *, is_stream: bool) -> list[Any]:
    blocks: list[Any] = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_use", "id": one, "name": name, "input": given} for one, name, given in calls]
    end = "tool_use" if calls else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None, "usage": usage}
    if not is_stream:
        return [{**whole, "content": blocks, "stop_reason": end}]
    events: list[Any] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for place, block in enumerate(blocks):
        is_call = block["type"] == "tool_use"
        empty = {**block, "input": {}} if is_call else {**block, "text": ""}
        written = json.dumps(block["input"]) if is_call else text
        events.append({"type": "content_block_start", "index": place, "content_block": empty})
        for part in _halves(written):
            delta = {"type": "input_json_delta", "partial_json": part} if is_call else {"type": "text_delta", "text": part}
            events.append({"type": "content_block_delta", "index": place, "delta": delta})
        events.append({"type": "content_block_stop", "index": place})
    ended = {"type": "message_delta", "delta": {"stop_reason": end, "stop_sequence": None}, "usage": {"output_tokens": 1}}
    return [*events, ended, {"type": "message_stop"}]


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]
