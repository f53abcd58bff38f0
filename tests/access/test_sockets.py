"""The socket that a server listens on."""

import asyncio
import socket

import pytest

from alma.errors import ConfigurationError
from alma_access.serving.sockets import open_listener


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_parts_of_an_answer_do_not_wait_for_each_other(host: str) -> None:
    async def is_undelayed() -> bool:
        accepted: asyncio.Queue[bool] = asyncio.Queue()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            accepted.put_nowait(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
            writer.close()

        listener = open_listener(host, 0)
        async with await asyncio.start_server(accept, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname()[:2])
            writer.close()
            return await accepted.get()

    assert asyncio.run(is_undelayed())


def test_an_address_that_is_taken_is_named() -> None:
    with open_listener("127.0.0.1", 0) as taken, pytest.raises(ConfigurationError, match=r"cannot listen on 127\.0\.0\.1:"):
        open_listener("127.0.0.1", taken.getsockname()[1])
