"""Streams of a chat API, passed on while they are read. They close, and enter a `with` block, as the API's own do."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, Self

from alma_harness.chat_forms import Streamed, Turn
from alma_harness.following import afail, failing
from alma_integration import Run


class Chunks:
    """A stream. `heard` is called with the answer at its end; a reader who leaves early gives no verdict."""

    def __init__(self, chunks: Any, run: Run, turn: Streamed, heard: Callable[[Turn], None]) -> None:
        self._chunks = chunks
        self._reading = _read(chunks, run, turn, heard)

    def __iter__(self) -> Iterator[Any]:
        return self._reading

    def __next__(self) -> Any:
        return next(self._reading)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the stream."""
        self._reading.close()
        if hasattr(self._chunks, "close"):
            self._chunks.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chunks, name)


class AsyncChunks:
    """As `Chunks`, of an asynchronous client. `heard` returns an awaitable."""

    def __init__(self, chunks: Any, run: Run, turn: Streamed, heard: Callable[[Turn], Awaitable[None]]) -> None:
        self._chunks = chunks
        self._reading = _aread(chunks, run, turn, heard)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._reading

    async def __anext__(self) -> Any:
        return await anext(self._reading)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the stream."""
        await self._reading.aclose()
        for name in ("aclose", "close"):
            if hasattr(self._chunks, name):
                await getattr(self._chunks, name)()
                return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chunks, name)


def _read(chunks: Any, run: Run, turn: Streamed, heard: Callable[[Turn], None]) -> Generator[Any, None, None]:
    with failing(run):
        for chunk in chunks:
            turn.add(chunk)
            yield chunk
    heard(turn.whole())


async def _aread(chunks: Any, run: Run, turn: Streamed, heard: Callable[[Turn], Awaitable[None]]) -> AsyncGenerator[Any, None]:
    try:
        async for chunk in chunks:
            turn.add(chunk)
            yield chunk
    except GeneratorExit as error:  # a closing generator must not wait
        run.end_soon("", error=error)
        raise
    except BaseException as error:
        await afail(run, error)
        raise
    await heard(turn.whole())
