"""Worker threads that run calls for asyncio, and objects that are opened by a call."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from alma.memory.pool import Pool

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound="Closing")


class Workers:
    """A few threads that run the calls of one open store. A call that has begun runs to its end, also when its caller was cancelled."""

    def __init__(self) -> None:
        self._threads = Pool("alma-aio", closed="this AsyncALMA was closed; open it again")

    async def run(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Returns what the call returns. Cancelled before it began, the call never runs; cancelled later, it runs to its end."""
        return await asyncio.wrap_future(self._submitted(call, *args, **kwargs))

    async def run_surely(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """As `run`, but the call runs even if it was cancelled before it began."""
        return await asyncio.shield(asyncio.wrap_future(self._submitted(call, *args, **kwargs)))

    async def open(self, call: Callable[[], R], release: Callable[[R], object]) -> R:
        """Returns what the call opened. Releases it if the caller was cancelled meanwhile."""
        future = self._submitted(call)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.add_done_callback(lambda done: _release(done, release))
            raise

    async def finish(self, close: Callable[[], None]) -> None:
        """Waits for all running calls, then closes, also when the caller is cancelled."""
        await asyncio.to_thread(self._finish, close)

    def dismiss(self) -> None:
        """Lets the threads end after the calls already submitted."""
        self._threads.close(wait=False)

    def _finish(self, close: Callable[[], None]) -> None:
        self._threads.close()
        close()

    def _submitted(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        future: Future[R] = Future()
        self._threads.submit(partial(_fulfil, future, partial(contextvars.copy_context().run, call, *args, **kwargs)))
        return future


def _fulfil(future: Future[R], call: Callable[[], R]) -> None:
    """Makes the call, unless it was cancelled, and reports to its future."""
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            future.set_exception(error)


def _release(done: Future[R], release: Callable[[R], object]) -> None:
    if not done.cancelled() and done.exception() is None:
        release(done.result())


class Closing(Protocol):
    """An object that `async with` enters and leaves."""

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leaves the block."""


class Opening(Generic[T]):
    """An object that is being opened: `await` it, or enter it with `async with`."""

    def __init__(self, start: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._start = start
        self._opened: T | None = None

    def __await__(self) -> Generator[Any, None, T]:
        return self._start().__await__()

    async def __aenter__(self) -> T:
        self._opened = await self._start()
        return self._opened

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._opened is not None
        await self._opened.__aexit__(kind, error, trace)
