"""Bounded threads for calls of the library, so that no call holds up the loop, and no queue grows without end."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from alma_server.problems import ProblemError

T = TypeVar("T")


class Lane:
    """Threads for one sort of call. A call that finds `waiting` others before it is refused at once with 503."""

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"alma-{name}")
        self._most = threads + waiting
        self._taken = 0

    async def run(self, call: Callable[[], T]) -> T:
        """Returns what a call returns, from a thread of this lane."""
        if self._taken >= self._most:
            raise ProblemError(503, "overloaded", "too many calls wait already", headers={"Retry-After": "1"})
        self._taken += 1
        future = asyncio.get_running_loop().run_in_executor(self._executor, call)
        future.add_done_callback(self._free)
        return await asyncio.shield(future)

    def _free(self, _: object) -> None:
        self._taken -= 1

    def close(self) -> None:
        """Waits for running calls, and ends the threads."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class Work:
    """Lanes of a server: several reads and few writes at a time."""

    def __init__(self, *, readers: int, writers: int, waiting: int) -> None:
        self.reads = Lane("read", threads=readers, waiting=waiting)
        self.writes = Lane("write", threads=writers, waiting=waiting)

    def close(self) -> None:
        """Waits for running calls, and ends the threads."""
        self.reads.close()
        self.writes.close()
