"""A thread with an event loop that runs the deliveries of all endpoints of a process."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress

from alma_events.webhooks.runner import STOP_SECONDS, TICK_SECONDS, Runner

_LOG = logging.getLogger("alma")

MOST_REQUESTS = 32
"""Requests of a process at once."""

THREADS = 6

Wanted = Callable[[], Mapping[str, int]]
"""Returns the names of endpoints to deliver to, each with a version. Called in a thread."""

Make = Callable[[str, asyncio.Semaphore, Executor], "Runner | None"]
"""Returns the runner of an endpoint, `None` for one that is disabled. Called in a thread."""


class Worker:
    """Keeps one runner for each endpoint that is wanted, and replaces it where the version has changed."""

    def __init__(self, wanted: Wanted, make: Make) -> None:
        self._wanted, self._make = wanted, make
        self._runners: dict[str, tuple[int, Runner | None, asyncio.Task[None] | None]] = {}
        self._loop = asyncio.new_event_loop()
        self._woken = asyncio.Event()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="alma-webhooks", daemon=True)

    def start(self) -> None:
        """Begins to deliver, in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Ends deliveries: attempts on their way have some seconds to end, the rest is repeated by the next worker."""
        if self._thread.is_alive() and self._call(self._stop):
            self._thread.join(STOP_SECONDS * 3)

    def wake(self, name: str | None = None) -> None:
        """Has a runner, or all, look for new events at once."""
        self._call(lambda: self._wake(name))

    def look(self) -> None:
        """Has the worker look at once which endpoints there are."""
        self._call(self._woken.set)

    def _call(self, call: Callable[[], object]) -> bool:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # it has ended
            return False
        return True

    def _stop(self) -> None:
        self._is_stopping = True
        self._woken.set()

    def _wake(self, name: str | None) -> None:
        for each, (_, runner, _task) in self._runners.items():
            if runner is not None and name in (None, each):
                runner.wake()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        lookups = ThreadPoolExecutor(MOST_REQUESTS, thread_name_prefix="alma-webhooks-names")
        self._loop.set_default_executor(
            lookups
        )  # one thread for each request, so that slow name servers hold up their own receivers alone
        try:
            self._loop.run_until_complete(self._supervise())
        except Exception:  # noqa: BLE001 - the end of the thread: there is nobody else to hear of it
            _LOG.exception("webhooks are not delivered any more")
        finally:
            lookups.shutdown(wait=False, cancel_futures=True)
            self._loop.close()

    async def _supervise(self) -> None:
        slots = asyncio.Semaphore(MOST_REQUESTS)
        with ThreadPoolExecutor(THREADS, thread_name_prefix="alma-webhooks") as executor:
            while not self._is_stopping:
                try:
                    await self._reconcile(slots, executor)
                except Exception as error:  # noqa: BLE001 - whatever it is, endpoints that are known go on
                    if isinstance(error, RuntimeError) and "shutdown" in str(error):
                        break  # the process ends, and threads begin nothing any more
                    _LOG.exception("the endpoints of webhooks cannot be read; another look follows")
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), TICK_SECONDS)
                self._woken.clear()
            for _, runner, _task in self._runners.values():
                if runner is not None:
                    runner.stop()
            tasks = [task for _, _, task in self._runners.values() if task is not None]
            if tasks:
                await asyncio.wait(tasks, timeout=STOP_SECONDS * 2)
            await self._cancel(tasks)

    async def _reconcile(self, slots: asyncio.Semaphore, executor: Executor) -> None:
        wanted = await self._loop.run_in_executor(executor, self._wanted)
        for name in [name for name, (version, *_) in self._runners.items() if wanted.get(name) != version]:
            _, runner, task = self._runners.pop(name)
            if runner is not None and task is not None:
                runner.stop()
                await asyncio.wait([task], timeout=STOP_SECONDS)
                await self._cancel([task])
        for name, version in wanted.items():
            if name not in self._runners and not self._is_stopping:
                runner = await self._loop.run_in_executor(executor, self._make, name, slots, executor)
                task = None if runner is None else self._loop.create_task(runner.run())
                self._runners[name] = version, runner, task

    async def _cancel(self, tasks: "list[asyncio.Task[None]]") -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
