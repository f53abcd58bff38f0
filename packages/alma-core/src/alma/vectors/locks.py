"""Many may read, or one may write."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class SharedLock:
    """A readers-writer lock; a waiting writer goes before new readers. Not reentrant."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._readers = 0
        self._waiting_writers = 0
        self._is_writing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Shares the lock with other readers."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_writing and not self._waiting_writers)
            self._readers += 1
        try:
            yield
        finally:
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
