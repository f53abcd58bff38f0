"""Threads for work beside a call's own thread."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from alma.errors import StorageError
from alma.forking import renewed_in_children

WORKERS = 4

P = ParamSpec("P")
R = TypeVar("R")


class Pool:
    """A few threads, started on first use; a forked child starts its own."""

    def __init__(self, name: str, *, closed: str) -> None:
        """Takes the message of the error for a call after `close`."""
        self._name = name
        self._closed = closed
        self._is_closed = False
        self._threads: ThreadPoolExecutor | None = None
        self._lock = threading.RLock()
        renewed_in_children(self)

    def submit(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Runs the call in a thread. `StorageError` after `close`, and where the system gives no thread."""
        with self._lock:
            if self._is_closed:
                raise StorageError(self._closed)
            if self._threads is None:
                self._threads = ThreadPoolExecutor(WORKERS, thread_name_prefix=self._name)
            try:
                return self._threads.submit(call, *args, **kwargs)
            except RuntimeError as error:  # no memory is left for one, or the interpreter ends
                raise StorageError(f"no thread could be started: {error}") from error

    def close(self, *, wait: bool = True) -> None:
        """Lets the threads end after the calls already submitted, and waits for that unless `wait` is false."""
        with self._lock:
            self._is_closed = True
            threads = self._threads
        if threads is not None:
            threads.shutdown(wait=wait)

    def renew_in_child(self) -> None:
        """Drops the parent's threads, which do not exist in the child."""
        self._threads, self._lock = None, threading.RLock()
