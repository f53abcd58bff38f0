"""Maintenance in the background: one thread of an open store, for all of its projects that were opened."""

import logging
import threading
from collections.abc import Callable

from alma.memory.admin.maintaining import maintain
from alma.memory.room import OpenStore, Room

_LOG = logging.getLogger("alma")

FIRST_WAIT = 60.0
"""Seconds. A process that ends sooner, such as a command, does no maintenance."""

LONGEST_WAIT = 3600.0


class Schedule:
    """Checks periodically whether maintenance is due. Errors are logged; the next check tries again."""

    def __init__(self, store: OpenStore, *, wait: Callable[[float], bool] | None = None) -> None:
        """Takes a function that waits for a number of seconds and returns whether the store was closed meanwhile."""
        self._store = store
        self._closed = threading.Event()
        self._wait = wait or self._closed.wait

    def start(self) -> None:
        """Starts a daemon thread, which does not keep the process alive, and ends by itself when the store is closed."""
        self._store.before_close(self.stop)
        threading.Thread(target=self.run, name="alma-maintenance", daemon=True).start()

    def stop(self) -> None:
        """Stops it: at once if it is waiting, else after the part that it is writing."""
        self._closed.set()

    def run(self) -> None:
        """Checks until the store is closed."""
        every = self._store.maintenance.every
        assert every is not None
        pause = FIRST_WAIT
        while not self._wait(pause):
            for room in list(self._store.projects.values()):
                self._look(room)
            pause = min(every.total_seconds(), LONGEST_WAIT)

    def _look(self, room: Room) -> None:
        if self._closed.is_set():
            return
        try:
            report = maintain(room.latest, dry_run=False, due_only=True, is_wanted=lambda: not self._closed.is_set())
        except Exception as error:  # noqa: BLE001 - no caller would receive it, and the next attempt may succeed
            if not self._closed.is_set():
                _LOG.warning("maintenance of project %r failed: %s", room.name, error)
            return
        if report.ran:
            _LOG.info("maintenance of project %r archived %d memories", room.name, report.total)
