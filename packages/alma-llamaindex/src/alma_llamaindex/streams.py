"""Streamed answers: their runs end with the last token."""

from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any
from weakref import WeakSet

from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.chat_engine.types import StreamingAgentChatResponse

from alma_llamaindex.following import Followed
from alma_llamaindex.spans import Streamed

CHATS: dict[int, tuple[StreamingAgentChatResponse, Followed]] = {}
"""The chats that are still streamed, by the id of their response. LlamaIndex reads these itself."""
_DROPPED: deque[tuple[Followed, str]] = deque()
"""Streams that were garbage-collected unread. A finaliser may run inside any call, so it takes no lock; `end_unread` does the rest."""


class Stream:
    """Passes the tokens of a query engine's answer through."""

    def __init__(self, tokens: Any, followed: Followed) -> None:
        self._tokens = tokens
        self._followed: Followed | None = followed
        self.texts: list[str] = []
        _OPEN.add(self)

    def end(self, left_by: BaseException | None = None) -> None:
        """Ends the run; unverified if the stream was not read to the end."""
        followed, self._followed = self._followed, None
        error = None if isinstance(left_by, StopIteration | StopAsyncIteration) else left_by
        if followed is not None:
            followed.ended("".join(self.texts), error, is_judged=left_by is not None)

    def __del__(self) -> None:
        if self._followed is not None:
            _DROPPED.append((self._followed, "".join(self.texts)))


class SyncStream(Stream, Iterator[str]):
    """Stream of a `StreamingResponse`. Servers inspect a stream to know how to read it, so it must not be async, too."""

    def __next__(self) -> str:
        try:
            self.texts.append(next(self._tokens))
        except BaseException as error:
            self.end(error)
            raise
        return self.texts[-1]

    def close(self) -> None:
        """Stops reading, as a generator does."""
        self.end()
        self._tokens.close()


class AsyncStream(Stream, AsyncIterator[str]):
    """Stream of an `AsyncStreamingResponse`."""

    async def __anext__(self) -> str:
        try:
            self.texts.append(await anext(self._tokens))
        except BaseException as error:
            self.end(error)
            raise
        return self.texts[-1]

    async def aclose(self) -> None:
        """Stops reading, as a generator does."""
        self.end()
        await self._tokens.aclose()


_OPEN: WeakSet[Stream] = WeakSet()


def watch(response: Streamed, followed: Followed) -> None:
    """Ends the run with the stream of this response."""
    if isinstance(response, StreamingResponse):
        response.response_gen = SyncStream(iter(response.response_gen), followed)  # type: ignore[assignment]  # it is only iterated over
    elif isinstance(response, AsyncStreamingResponse):
        response.response_gen = AsyncStream(response.response_gen, followed)  # type: ignore[assignment]
    else:
        CHATS[id(response)] = response, followed
        if response.is_done or response.exception is not None:
            end_chat(response, response.exception)


def end_chat(response: object, error: BaseException | None) -> None:
    """Ends the run of a chat whose stream was read."""
    _, followed = CHATS.pop(id(response), (None, None))
    if followed is not None:
        followed.ended(response, error)


def end_unread(*, with_open: bool = False) -> None:
    """Ends the runs of streams that were garbage-collected unread, and `with_open` those of streams that were never read."""
    while _DROPPED:
        followed, text = _DROPPED.popleft()
        followed.ended(text, is_judged=False)
    for stream in list(_OPEN) if with_open else ():
        if not stream.texts:
            stream.end()
