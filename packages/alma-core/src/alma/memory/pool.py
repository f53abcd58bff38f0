"""Threads for work beside a call's own thread.

A signal handler may raise in the middle of any call, and in the middle of one that takes a lock of `threading.Condition` it leaves that locked: the
executor and the futures of the standard library then wait for ever. Only queues whose steps are whole are used here.
"""

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from alma.errors import StorageError
from alma.forking import renewed_in_children

WORKERS = 4

_LOG = logging.getLogger("alma")

R = TypeVar("R")
Calls = SimpleQueue[Callable[[], object] | None]


class Job(Generic[R]):
    """Call that is made once: by a thread of a pool, or by its caller if no thread has begun it. So a caller never waits for a busy pool."""

    def __init__(self, call: Callable[[], R]) -> None:
        self._call, self._process = [call], os.getpid()
        self._result: SimpleQueue[tuple[R | None, BaseException | None]] = SimpleQueue()

    def run(self) -> None:
        """Makes the call, in a thread beside, unless it was begun."""
        try:
            call = self._call.pop()
        except IndexError:
            return
        try:
            self._result.put((call(), None))
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            self._result.put((None, error))

    def result(self) -> R:
        """Returns what the call returns, or raises its error. `StorageError` in a child that was forked in the middle of it."""
        try:
            call = self._call.pop()
        except IndexError:
            return self._wait()
        return call()

    def _wait(self) -> R:
        while True:
            try:
                found, error = self._result.get(timeout=1.0)
            except Empty:
                if os.getpid() != self._process:
                    raise StorageError("this process was forked in the middle of the call") from None
                continue
            if error is not None:
                raise error
            return found  # type: ignore[return-value] # what the call returned


class Pool:
    """A few threads, started when they are needed; a forked child starts its own."""

    def __init__(self, name: str, *, closed: str) -> None:
        """Takes the message of the error for a call after `close`."""
        self._name, self._closed = name, closed
        self._is_closed = False
        self.renew_in_child()
        renewed_in_children(self)
        _POOLS.add(self)

    def submit(self, call: Callable[[], object]) -> None:
        """Has a thread make the call, whose errors are only logged. `StorageError` after `close`, and where the system gives no thread."""
        with self._lock:
            if self._is_closed:
                raise StorageError(self._closed)
            if len(self._threads) < WORKERS:
                self._start()
            self._calls.put(call)

    def _start(self) -> None:
        thread = threading.Thread(target=_serve, args=(self._calls,), name=f"{self._name}_{len(self._threads)}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no memory is left for one, or the interpreter ends
            if error.__context__ is not None:  # a signal handler raised that, and `start` stumbled over it
                raise error.__context__ from None
            if not self._threads:
                raise StorageError(f"no thread could be started: {error}") from error
        finally:
            if thread.ident is not None:  # it runs, though a signal handler may have ended `start`
                self._threads.append(thread)

    def close(self, *, wait: bool = True) -> None:
        """Lets the threads end after the calls already submitted, and waits for that unless `wait` is false."""
        with self._lock:
            self._is_closed = True
            self._calls.put(None)
            threads = [thread for thread in self._threads if thread is not threading.current_thread()]
        for thread in threads if wait else ():
            with suppress(RuntimeError):  # a signal handler ended its start
                thread.join()

    def renew_in_child(self) -> None:
        """Drops the parent's threads, which do not exist in the child."""
        self._lock = threading.RLock()
        self._calls: Calls = SimpleQueue()
        self._threads: list[threading.Thread] = []
        weakref.finalize(self, self._calls.put, None).atexit = False


def _serve(calls: Calls) -> None:
    while (call := calls.get()) is not None:
        try:
            call()
        except Exception:  # noqa: BLE001 - the store was closed under it, say; the thread goes on
            _LOG.debug("work beside a call failed", exc_info=True)
        del call
    calls.put(None)  # for the next thread


_POOLS: "weakref.WeakSet[Pool]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()
