"""`Watch`: waits for a new journal record of a project, of this process or of another."""

import threading
from time import monotonic
from typing import Any
from weakref import WeakSet

from alma import ALMA
from alma.forking import renewed_in_children
from alma.storage.relational import commits

LOOK_EVERY = 0.1
"""Seconds between two looks at the journal for what other processes wrote. One look is a query of some 20 µs on SQLite."""


class Watch:
    """Waits for new journal records of one project: those of this process at once, those of others within 0.1 s."""

    def __init__(self, alma: ALMA) -> None:
        self._alma = alma
        self._woken = threading.Event()
        self._storage, self._project = alma.storage, alma.storage.project(alma.project_id)
        self._head = self._look()
        _WATCHES.add(self)

    def wait(self, timeout: float) -> bool:
        """Returns True as soon as there is a record that the last call did not know, False after `timeout` seconds without one.

        `StorageError` once the store is closed.
        """
        end = monotonic() + timeout
        while True:
            self._woken.clear()
            head = self._look()
            if head != self._head:
                self._head = head
                return True
            left = end - monotonic()
            if left <= 0:
                return False
            self._woken.wait(min(left, LOOK_EVERY))

    def wake(self) -> None:
        """Has `wait` look at once."""
        self._woken.set()

    def _look(self) -> int:
        if self._alma.storage is not self._storage:  # the store was embedded anew
            self._storage, self._project = self._alma.storage, self._alma.storage.project(self._alma.project_id)
        return self._project.head()


class _Watches:
    """All watches of this process. Its `ring` is called after each commit once there was one."""

    def __init__(self) -> None:
        self._known: WeakSet[Watch] = WeakSet()
        self._lock = threading.Lock()

    def add(self, watch: Watch) -> None:
        with self._lock:
            self._known.add(watch)
            if self.ring not in commits.followers:
                commits.followers = (*commits.followers, self.ring)

    def ring(self, project: Any, seq: int) -> None:
        with self._lock:
            known = list(self._known)
        for watch in known:
            watch.wake()

    def renew_in_child(self) -> None:
        self._lock = threading.Lock()


_WATCHES = renewed_in_children(_Watches())
