"""A lock for many readers or one writer."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock
from types import TracebackType


class SharedLock:
    """Readers-writer lock; a waiting writer goes before new readers. Not reentrant."""

    def __init__(self) -> None:
        self._condition = Condition(Lock())
        self._readers = 0
        self._waiting_writers = 0
        self._is_writing = False
        self._reading = _Reading(self)

    def reading(self) -> "_Reading":
        """Returns a context manager that shares the lock with other readers."""
        return self._reading

    def enter(self) -> None:
        """Waits for writers and enters as a reader."""
        with self._condition:
            while self._is_writing or self._waiting_writers:
                self._condition.wait()
            self._readers += 1

    def leave(self) -> None:
        """Leaves as a reader and wakes waiting writers if it was the last."""
        with self._condition:
            self._readers -= 1
            if not self._readers:
                self._condition.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the lock exclusively."""
        with self._condition:
            self._waiting_writers += 1
            try:
                self._condition.wait_for(lambda: not self._is_writing and not self._readers)
                self._is_writing = True
            finally:
                self._waiting_writers -= 1
                self._condition.notify_all()
        try:
            yield
        finally:
            with self._condition:
                self._is_writing = False
                self._condition.notify_all()


class _Reading:
    """Context manager of a reader. It has no state, so one instance serves all. A search enters many times, and a generator would be
    slower."""

    __slots__ = ("_lock",)

    def __init__(self, lock: SharedLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.enter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._lock.leave()
