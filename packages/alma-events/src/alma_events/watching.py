"""`Watch`: waits for a new journal record of a project, of this process or of another."""

import threading
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any
from weakref import ref

from alma import ALMA
from alma.forking import renewed_in_children
from alma.storage.relational.session import COMMITS

LOOK_EVERY = 0.1
"""Seconds between two looks at the journal for what other processes wrote. One look is a query of some 50 µs on SQLite."""


class Watch:
    """Waits for new journal records of one project: those of this process at once, those of others within 0.1 s."""

    def __init__(self, alma: ALMA) -> None:
        self._alma = alma
        self._storage, self._project = alma.storage, alma.storage.project(alma.project_id)
        self._wakes: SimpleQueue[None] = SimpleQueue()  # its `put` may interrupt itself, as in a signal handler
        self._head = self._look()
        _WATCHES.add(self)

    def wait(self, timeout: float) -> bool:
        """Returns True as soon as there is a record that the last call did not know, False after `timeout` seconds without one, or when
        `wake` was called. `StorageError` once the store is closed.
        """
        end = monotonic() + timeout
        while True:
            head = self._look()
            if head != self._head:
                self._head = head
                return True
            left = end - monotonic()
            if left <= 0:
                return False
            try:
                self._wakes.get(timeout=min(left, LOOK_EVERY))
            except Empty:
                continue
            if self._look() == self._head:
                return False

    def wake(self) -> None:
        """Ends a wait."""
        if self._wakes.empty():
            self._wakes.put(None)

    def _look(self) -> int:
        if self._alma.storage is not self._storage:  # the store was embedded anew
            self._storage, self._project = self._alma.storage, self._alma.storage.project(self._alma.project_id)
        return self._project.head()

    @property
    def project_id(self) -> str:
        """Id of the project."""
        return self._alma.project_id


class _Watches:
    """All watches of this process. `ring` is called after each commit once there was one."""

    def __init__(self) -> None:
        self._known: tuple[ref[Watch], ...] = ()
        self._lock = threading.RLock()

    def add(self, watch: Watch) -> None:
        with self._lock:
            self._known = (*(each for each in self._known if each() is not None), ref(watch))
            if self.ring not in COMMITS.followers:
                COMMITS.followers = (*COMMITS.followers, self.ring)

    def ring(self, project: Any, seq: int) -> None:
        """Wakes the watches of a project."""
        for each in self._known:
            watch = each()
            if watch is not None and watch.project_id == project.name:
                watch.wake()

    def renew_in_child(self) -> None:
        """Frees the lock that a thread of the parent may hold."""
        self._lock = threading.RLock()


_WATCHES = renewed_in_children(_Watches())
