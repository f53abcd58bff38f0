"""Background threads for writing and judging."""

import asyncio
import atexit
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from queue import Empty, Queue
from typing import Any

from alma.forking import renewed_in_children

JUDGES = 8
"""Number of evaluators that run at once in a process; the others are queued."""
IDLE_SECONDS = 5.0
"""An idle thread ends after this time."""
EXIT_SECONDS = 10.0
"""At its exit, the process waits this long for pending writes, and not at all for evaluators."""

_WORKING: ContextVar[bool] = ContextVar("alma_integration_working", default=False)


class Pool:
    """A bounded pool of daemon threads: a thread that never returns does not keep the process alive. Empty in a forked child."""

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._most = threads
        self.renew_in_child()
        renewed_in_children(self)

    def submit(self, call: Callable[[], Any], *, is_marked: bool = True) -> "Future[Any]":
        """Runs the call in one of the threads, in the order of submission. `is_marked` marks it as ALMA's own work, see `is_working`."""
        future: Future[Any] = Future()
        with self._lock:
            self._jobs.put((future, partial(_marked, call) if is_marked else call))
            self._waiting += 1
            if self._waiting > self._idle and self._threads < self._most:
                self._threads += 1
                threading.Thread(target=self._work, args=(self._jobs,), name=self._name, daemon=True).start()
        return future

    def wait(self, timeout: float) -> None:
        """Waits until the threads are idle, at most `timeout` seconds."""
        end = time.monotonic() + timeout
        while (self._waiting or self._threads > self._idle) and time.monotonic() < end:
            time.sleep(0.005)

    def renew_in_child(self) -> None:
        """Drops the parent's threads and their queue."""
        self._lock = threading.RLock()
        self._jobs: Queue[_Job] = Queue()
        self._waiting = self._idle = self._threads = 0

    def _work(self, jobs: "Queue[_Job]") -> None:
        while (job := self._next(jobs)) is not None:
            future, call = job
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # noqa: BLE001 - the future carries the error to its caller
                    future.set_exception(error)
            del job, future, call  # a waiting thread must keep no object alive

    def _next(self, jobs: "Queue[_Job]") -> "_Job | None":
        with self._lock:
            self._idle += 1
        job = None
        with suppress(Empty):
            job = jobs.get(timeout=IDLE_SECONDS)
        with self._lock:
            self._idle -= 1
            if job is None and not jobs.empty():  # it arrived just now
                job = jobs.get_nowait()
            if job is None:
                self._threads -= 1
            else:
                self._waiting -= 1
        return job


_Job = tuple["Future[Any]", Callable[[], Any]]


@contextmanager
def working() -> Iterator[None]:
    """Marks the code inside the block as ALMA's own work."""
    token = _WORKING.set(True)
    try:
        yield
    finally:
        _WORKING.reset(token)


def _marked(call: Callable[[], Any]) -> Any:
    with working():
        return call()


JUDGING = Pool("alma-judge", JUDGES)
"""Runs evaluators. Separate from the writers, so that a slow evaluator delays nothing else."""

_WRITERS: dict[str, Pool] = {}
_WRITERS_LOCK = threading.RLock()


def writer_of(place: str) -> Pool:
    """Returns the one thread that writes in the background to the store in a folder. A locked store delays no other."""
    with _WRITERS_LOCK:
        if place not in _WRITERS:
            _WRITERS[place] = Pool("alma-writer", 1)
        return _WRITERS[place]


@atexit.register
def _finish() -> None:
    for pool in list(_WRITERS.values()):
        pool.wait(EXIT_SECONDS)


def is_working() -> bool:
    """Returns True when the caller is itself such work, an evaluator for example, and so must not wait for it."""
    return _WORKING.get()


def in_event_loop() -> bool:
    """Returns True when an event loop runs in this thread, which then must not wait for a store."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Backlog:
    """Counts pending work, and waits for it. Threads may share it."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()
        renewed_in_children(self)

    def __len__(self) -> int:
        return self._count

    def started(self) -> None:
        """Adds one."""
        with self._changed:
            self._count += 1

    def done(self) -> None:
        """Takes one away."""
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def wait(self, timeout: float | None) -> bool:
        """Waits until all is done, at most `timeout` seconds. Returns True if it is; the work itself never waits."""
        if is_working():
            return not self._count
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._count > 0:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def renew_in_child(self) -> None:
        """Drops the parent's pending work."""
        self._count, self._changed = 0, threading.Condition()
