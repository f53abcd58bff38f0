"""Threads for work beside a call's own."""

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
    """A few threads, started when the first are needed; a forked child starts its own."""

    def __init__(self, name: str, *, closed: str) -> None:
        """`closed` is what the error says when it is used after its end."""
        self._name = name
        self._closed = closed
        self._is_closed = False
        self._threads: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        renewed_in_children(self)

    def submit(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Has a thread make the call. `StorageError` after `close`."""
        with self._lock:
            if self._is_closed:
                raise StorageError(self._closed)
            if self._threads is None:
                self._threads = ThreadPoolExecutor(WORKERS, thread_name_prefix=self._name)
            return self._threads.submit(call, *args, **kwargs)

    def close(self, *, wait: bool = True) -> None:
        """Lets the threads end when they have done what was asked of them, and waits for that unless told otherwise."""
        with self._lock:
            self._is_closed = True
            threads = self._threads
        if threads is not None:
            threads.shutdown(wait=wait)

    def renew_in_child(self) -> None:
        """The parent's threads are not here."""
        self._threads, self._lock = None, threading.Lock()
