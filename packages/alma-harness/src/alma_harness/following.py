"""Follows one call of an agent, whatever it is: a function, a coroutine function, or a generator of either kind."""

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from alma.errors import ValidationError
from alma_integration import Run, answer_text, in_event_loop, noted_on

MOST_CHUNKS = 100_000
"""Of a longer stream, the last chunks are read."""

End = Callable[[Any], Any]
"""Ends the run by what the agent returned."""


@contextmanager
def failing(run: Run) -> Iterator[None]:
    """Ends the run by an exception of the block, which leaves it unchanged."""
    try:
        yield
    except BaseException as error:
        run.fail(error)
        raise


def called(run: Run, call: Callable[[], Any]) -> Any:
    """Makes the call and returns its result. A coroutine is awaited, a stream is read to its end and joined."""
    with failing(run):
        result = call()
        if inspect.isgenerator(result):
            return joined(list(result))
        if inspect.isawaitable(result) or inspect.isasyncgen(result):
            return _awaited(result)
        return result


async def acalled(run: Run, call: Callable[[], Any], *, is_async: bool) -> Any:
    """As `called`, in an event loop. A function that is not asynchronous runs in another thread."""
    try:
        result = call() if is_async else await asyncio.to_thread(call)
        if inspect.isgenerator(result):
            return joined(await asyncio.to_thread(list, result))
        return await _whole(result)
    except BaseException as error:
        await afail(run, error)
        raise


async def afail(run: Run, error: BaseException) -> None:
    """Ends the run by an exception, without blocking the loop."""
    with noted_on(error):
        await run.aend("", error=error)


def streamed(run: Run, stream: Callable[[], Any], end: End) -> Generator[Any, Any, Any]:
    """Passes a generator's chunks on, and what is sent to it. Ends the run at the stream's end; a reader who leaves early gives no verdict."""
    seen: deque[Any] = deque(maxlen=MOST_CHUNKS)
    with failing(run):
        chunks = stream()
        try:
            sent = None
            while True:
                try:
                    chunk = next(chunks) if sent is None else chunks.send(sent)
                except StopIteration as over:
                    returned = over.value
                    break
                seen.append(chunk)
                sent = yield chunk
        finally:
            chunks.close()
    end(joined(seen) if returned is None else returned)
    return returned


async def astreamed(run: Run, stream: Callable[[], Any], end: End) -> AsyncGenerator[Any, Any]:
    """As `streamed`, for an asynchronous generator. `end` returns an awaitable."""
    seen: deque[Any] = deque(maxlen=MOST_CHUNKS)
    try:
        chunks = stream()
        try:
            async for chunk in chunks:
                seen.append(chunk)
                yield chunk
        finally:
            await chunks.aclose()
    except GeneratorExit as error:  # a closing generator must not wait
        run.end_soon("", error=error)
        raise
    except BaseException as error:
        await afail(run, error)
        raise
    await end(joined(seen))


def joined(chunks: "deque[Any] | list[Any]") -> Any:
    """Returns the text of a stream of texts, and a list of any other chunks."""
    return "".join(chunks) if all(isinstance(chunk, str) for chunk in chunks) else list(chunks)


def text_of(output: Any) -> str:
    """Returns what an agent returned as text, "" for nothing."""
    return "" if output is None else output if isinstance(output, str) else answer_text(output)


def _awaited(result: Any) -> Any:
    if in_event_loop():
        if inspect.iscoroutine(result):
            result.close()
        raise ValidationError("the agent is asynchronous and an event loop is running: await the asynchronous form, `arun`")
    return asyncio.run(_whole(result))


async def _whole(result: Any) -> Any:
    if inspect.isasyncgen(result):
        return joined([chunk async for chunk in result])
    return await result if inspect.isawaitable(result) else result
