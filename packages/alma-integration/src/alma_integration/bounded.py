"""A mapping of bounded size."""

import threading
from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Bounded(OrderedDict[K, V]):
    """Mapping of the `most` entries that were set last; the oldest is evicted for a new one. Threads may share it.

    For the state of runs whose end may never be reported.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._lock = threading.RLock()

    def __setitem__(self, key: K, value: V) -> None:
        with self._lock:
            self.pop(key, None)
            super().__setitem__(key, value)
            while len(self) > self._most:
                self.popitem(last=False)

    def kept(self, key: K, value: V) -> V:
        """Returns the entry of this key. If there is none, sets and returns the value."""
        with self._lock:
            if key not in self:
                self[key] = value
            return self[key]
