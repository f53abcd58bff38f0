"""Bounded threads for calls of the library, so that no call holds up the loop, and no queue grows without end."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from starlette.types import Receive

from alma_server.metrics import Metrics
from alma_server.problems import ProblemError

T = TypeVar("T")


class Lane:
    """Threads for one sort of call. A call that finds `waiting` others before it is refused at once with 503. Used from one event loop."""

    def __init__(self, name: str, *, threads: int, waiting: int, metrics: Metrics) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"alma-{name}")
        self._threads = threads
        self._waiting = waiting
        self._metrics = metrics
        self._taken = 0

    @property
    def queued(self) -> int:
        """Calls that wait for a thread."""
        return max(0, self._taken - self._threads)

    async def run(self, call: Callable[[], T], *, gone: Receive | None = None) -> T:
        """Returns what a call returns, from a thread of this lane. A call that began ends, also where its caller is cancelled.

        `gone` is where messages of the client arrive. With it, a call that still waits when the client goes away is dropped.
        """
        if self.queued >= self._waiting:
            self._metrics.count_shed()
            raise ProblemError(503, "overloaded", "too many calls wait already", headers={"Retry-After": "1"})
        is_queued = self._taken >= self._threads
        self._taken += 1
        future = asyncio.get_running_loop().run_in_executor(self._executor, copy_context().run, call)
        future.add_done_callback(self._free)
        if gone is not None and is_queued:
            await _wait_or_drop(future, gone)
        return await asyncio.shield(future)

    def _free(self, _: object) -> None:
        self._taken -= 1

    def close(self) -> None:
        """Waits for running calls, and ends the threads."""
        self._executor.shutdown(wait=True, cancel_futures=True)


async def _wait_or_drop(future: "asyncio.Future[T]", gone: Receive) -> None:
    """Waits for a call, or drops it when its client goes away."""
    leaving = asyncio.ensure_future(_leave(gone))
    try:
        await asyncio.wait((future, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
    if not future.done():
        future.cancel()
        raise ProblemError(499, "client-gone", "the client went away")


async def _leave(gone: Receive) -> None:
    while (await gone())["type"] != "http.disconnect":
        pass


class Work:
    """Lanes of a server: several reads and few writes at a time, and one thread that only says how the server is."""

    def __init__(self, *, readers: int, writers: int, waiting: int, metrics: Metrics) -> None:
        self.reads = Lane("read", threads=readers, waiting=waiting, metrics=metrics)
        self.writes = Lane("write", threads=writers, waiting=waiting, metrics=metrics)
        self.health = Lane("health", threads=1, waiting=16, metrics=metrics)

    def close(self) -> None:
        """Waits for running calls, and ends the threads."""
        self.reads.close()
        self.writes.close()
        self.health.close()
