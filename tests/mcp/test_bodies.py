"""The body of a request is whole before the server sees it, or the client is refused."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import anyio
import pytest

from alma_mcp.bodies import WholeBody

pytestmark = pytest.mark.anyio

Message = dict[str, Any]


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


GONE: Message = {"type": "http.disconnect"}


class Echo:
    """An application that answers with the body, and notes what it was given after it."""

    def __init__(self) -> None:
        self.given: list[Message] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.given = [await receive(), await receive()]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": self.given[0]["body"]})


def sent(messages: Iterable[Message]) -> Callable[[], Awaitable[Message]]:
    """What a client sends; afterwards it is silent for ever."""
    waiting = list(messages)

    async def receive() -> Message:
        if not waiting:
            await anyio.sleep_forever()
        return waiting.pop(0)

    return receive


async def asked(
    app: Any, *messages: Message, seconds: float = 60.0, length: str | None = None, largest: int = 10
) -> list[Message]:
    answered: list[Message] = []

    async def send(message: Message) -> None:
        answered.append(message)

    headers = [] if length is None else [(b"content-length", length.encode())]
    scope = {"type": "http", "method": "POST", "headers": headers}
    await WholeBody(app, largest=largest, seconds=seconds)(scope, sent(messages), send)
    return answered


async def test_a_body_in_parts_is_passed_on_whole_and_then_what_follows() -> None:
    app = Echo()
    answered = await asked(app, part(b"one ", more=True), part(b"two"), GONE)
    assert answered[1]["body"] == b"one two"
    assert app.given == [part(b"one two"), GONE]


@pytest.mark.parametrize("sends", [[], [part(b"one", more=True)]], ids=["nothing", "a part"])
async def test_a_client_that_is_too_slow_is_refused(sends: list[Message]) -> None:
    app = Echo()
    answered = await asked(app, *sends, seconds=0.01)
    assert answered[0]["status"] == 408
    assert (b"connection", b"close") in answered[0]["headers"]
    assert app.given == []


@pytest.mark.parametrize(
    ("sends", "length"),
    [([part(b"x" * 11)], None), ([part(b"x" * 6, more=True), part(b"x" * 6, more=True)], None), ([], "11"), ([], "9" * 5000)],
    ids=["at once", "in parts", "announced", "announced as a number of 5,000 digits"],
)
async def test_a_body_that_is_too_large_is_refused_before_all_of_it_is_read(sends: list[Message], length: str | None) -> None:
    app = Echo()
    assert (await asked(app, *sends, length=length))[0]["status"] == 413
    assert app.given == []


async def test_a_client_that_goes_while_it_sends_reaches_nothing() -> None:
    app = Echo()
    assert await asked(app, part(b"one", more=True), GONE) == []
    assert app.given == []


@pytest.mark.parametrize("length", ["x", "-5", "\u0663", ""], ids=ascii)
async def test_a_length_that_is_none_is_not_believed(length: str) -> None:
    assert (await asked(Echo(), part(b"one"), GONE, length=length))[0]["status"] == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"id": NaN, "method": "tools/list"}',
        b'{"id": 1, "method": "tools/call", "params": {"score": -Infinity}}',
        b'{"id": 1, "method": "tools/list", "id": 2}',
        b'{"id": 1, "method": "ping", "params": {"a": [{"b": 1, "b": 1}]}}',
        b'{"id": 1, "method": "ping", "m\\u0065thod": "tools/list"}',
        *(b'{"method": "tools/list", "id": %s}' % each for each in (b"null", b"true", b"1.5", b"1e999", b"[]", b"{}", b'["a"]')),
    ],
    ids=repr,
)
async def test_a_body_that_two_readers_could_take_for_two_messages_is_refused(body: bytes) -> None:
    app = Echo()
    answered = await asked(app, part(body), largest=200)
    assert answered[0]["status"] == 400
    assert b"Parse error" in answered[1]["body"]
    assert app.given == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"id": "NaN", "method": "ping"}',
        b'{"id": -7, "method": "ping", "params": {"id": null, "a": {"id": 1.5}}}',
        b'{"method": "notifications/initialized"}',
        b'{"id": null, "error": {"code": 1, "message": "x"}}',
    ],
    ids=repr,
)
async def test_a_clear_message_is_passed_on(body: bytes) -> None:
    assert (await asked(Echo(), part(body), GONE, largest=200))[1]["body"] == body
