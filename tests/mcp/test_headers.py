"""A client that does not finish a header holds its connection for a short time, with a token or without."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import uvicorn
from anyio.abc import SocketStream
from starlette.responses import PlainTextResponse

from alma_access.serving import headers

pytestmark = pytest.mark.anyio

WHOLE = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[int]:
    """Serves an application as the server does, and yields its port."""
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, http=headers.HeaderDeadline, log_config=None, lifespan="off", timeout_keep_alive=60)
    )
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve)
        while not server.started:
            await anyio.sleep(0)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True


async def until_closed(connection: SocketStream) -> bytes:
    said = b""
    with anyio.fail_after(30):
        try:
            while True:
                said += await connection.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return said


async def dripped(connection: SocketStream, text: bytes) -> None:
    """Sends a text byte by byte, for as long as the server takes them."""
    try:
        for byte in text * 10_000:
            await connection.send(bytes([byte]))
            await anyio.sleep(0.005)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, BrokenPipeError):
        return


async def refused(scope: Any, receive: Any, send: Any) -> None:
    await PlainTextResponse("no token", 401)(scope, receive, send)


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers, "HEADER_SECONDS", 0.2)


@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize(
    "begun",
    [b"", b"G", b"POST /mcp HTTP/1.1", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n", WHOLE[:-2], WHOLE[:-1]],
    ids=["nothing", "a letter", "a line", "two lines", "all but the end", "all but a byte"],
)
async def test_a_header_that_is_never_whole_ends_the_connection(begun: bytes) -> None:
    async with served(refused) as port, await anyio.connect_tcp("127.0.0.1", port) as connection:
        if begun:
            await connection.send(begun)
        assert (await until_closed(connection)).startswith(b"HTTP/1.1 408 ")


@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize(
    ("first", "rest"),
    [(WHOLE[:-2], b"X: y\r\n"), (WHOLE, b"x"), (WHOLE + b"{}", b"POST /m"), (WHOLE + b"{}" + WHOLE[:30], b"a")],
    ids=["a header", "the body of a refused request", "a second header", "a second header begun with the first"],
)
async def test_a_client_that_sends_byte_by_byte_is_cut_off(first: bytes, rest: bytes) -> None:
    async with (
        served(refused) as port,
        await anyio.connect_tcp("127.0.0.1", port) as connection,
        anyio.create_task_group() as group,
    ):
        await connection.send(first)
        group.start_soon(dripped, connection, rest)
        await until_closed(connection)
        group.cancel_scope.cancel()


@pytest.mark.usefixtures("_soon")
async def test_a_body_and_an_answer_may_take_longer_than_a_header() -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await anyio.sleep(0.5)
        await PlainTextResponse("done")(scope, receive, send)

    async with served(slow) as port, await anyio.connect_tcp("127.0.0.1", port) as connection:
        for part in (WHOLE[:20], WHOLE[20:], b"{"):
            await connection.send(part)
        await anyio.sleep(0.5)
        await connection.send(b"}")
        assert (await connection.receive()).startswith(b"HTTP/1.1 200 ")
