"""Ends connections whose clients do not finish the header of a request, which holds them before any token is asked for.

For servers that run on uvicorn, which alma-access does not require.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEADER_SECONDS = 10.0
"""How long a client may take to send the header of a request."""

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class HeaderDeadline(H11Protocol):
    """HTTP protocol of uvicorn that answers 408 and closes where a header is not whole after `HEADER_SECONDS`.

    The time begins with the connection, and in a connection that is kept with the first byte after an answer. The rest of a body that came
    too late for its answer, as that of a request without a token, has the same time.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begins the time of the first header."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Reads a part of a request; the time ends when the header is whole."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the time."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle  # `None` before the first request
        if cycle is not None and not cycle.response_complete:
            self._forget()
        elif self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEADER_SECONDS, self._refuse)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        self.transport.write(_TOO_SLOW)
        if self.transport.get_write_buffer_size():  # the client reads nothing: a close would wait for it
            self.transport.abort()
        self.transport.close()
