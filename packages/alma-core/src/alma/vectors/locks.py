"""Many may read, or one may write."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock
from types import TracebackType


class SharedLock:
    """A readers-writer lock; a waiting writer goes before new readers. Not reentrant."""

    def __init__(self) -> None:
        self._condition = Condition(Lock())
        self._readers = 0
        self._waiting_writers = 0
        self._is_writing = False
        self._reading = _Reading(self)

    def reading(self) -> "_Reading":
        """Shares the lock with other readers."""
        return self._reading

    def enter(self) -> None:
        """One more reads."""
        with self._condition:
            while self._is_writing or self._waiting_writers:
                self._condition.wait()
            self._readers += 1

    def leave(self) -> None:
        """One who read is done."""
        with self._condition:
            self._readers -= 1
            if not self._readers:
                self._condition.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the lock alone."""
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
    """A `with` block of a reader. One serves all, for it holds nothing of its own: a search has many, and a generator takes longer each time."""

    __slots__ = ("_lock",)

    def __init__(self, lock: SharedLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.enter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._lock.leave()
