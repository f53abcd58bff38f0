"""One thread beside the agents, which does what it is asked in order."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar

from alma.forking import renewed_in_children

_MAKING: ContextVar["Worker | None"] = ContextVar("alma_llamaindex_making", default=None)
"""The worker that makes the call which this code is part of. Tasks and `asyncio.to_thread` inherit it, unlike the name of a thread."""


class Worker:
    """A queue with one thread at its end. What is in it when the interpreter ends is still done; a forked child begins with an empty one."""

    def __init__(self, *, limit: int, failed: Callable[[BaseException], None]) -> None:
        """`limit` is how much may wait; `failed` is told of the errors of what was done."""
        self._limit = limit
        self._failed = failed
        self._lock = threading.Lock()
        self._waiting = 0
        self._last: Future[None] | None = None
        self._thread = _thread()
        renewed_in_children(self)

    def ask(self, call: Callable[[], object], *, is_needed: bool = False) -> "Future[None] | None":
        """Has the thread make a call. What is not needed is refused with `None` when too much is waiting."""
        with self._lock:
            if self._waiting >= self._limit and not is_needed:
                return None
            self._waiting += 1
            self._last = self._thread.submit(self._make, call)
            return self._last

    @property
    def is_asking_itself(self) -> bool:
        """Whether the caller is part of what the thread is doing, and would wait for itself."""
        return _MAKING.get() is self

    def wait(self, timeout: float | None = None) -> bool:
        """Whether all that was asked until now was done in time. What the thread is doing does not wait for itself: it is not done."""
        if self.is_asking_itself:
            return False
        last = self._last
        if last is not None:
            try:
                last.result(timeout)
            except TimeoutError:
                return False
        return True

    def renew_in_child(self) -> None:
        """The parent's thread, and what waits for it, are not here."""
        self._lock, self._waiting, self._last, self._thread = threading.Lock(), 0, None, _thread()

    def _make(self, call: Callable[[], object]) -> None:
        making = _MAKING.set(self)
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - a recorder must not bring anything down, nor raise where it is waited for
            self._failed(error)
        finally:
            _MAKING.reset(making)
            with self._lock:
                self._waiting -= 1


def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="alma-llamaindex")
