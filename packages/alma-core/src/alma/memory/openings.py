"""Episodes of whose beginning nothing is written yet."""

import logging
import threading
import time
from typing import Protocol

from alma.errors import AlmaError
from alma.forking import renewed_in_children
from alma.types.episodes import EpisodeRecord

_LOG = logging.getLogger("alma")

PATIENCE = 0.1
"""Seconds that a beginning waits for the first step or the ending, which it is then written with."""

QUIET_ROUNDS = 50
"""So many times nothing waits before the thread ends."""


class Opening(Protocol):
    """The beginning of one episode, which nobody else knows of."""

    @property
    def opened(self) -> EpisodeRecord:
        """The episode as it began."""

    def open(self) -> None:
        """Writes it, unless it is written."""


class Openings:
    """Beginnings that wait to be written with what comes next. A thread writes those for which nothing comes, say while a model is thinking, so
    that of an episode that a crash ends there is a trace. Thread-safe."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[float, Opening]] = {}
        self._lock = threading.Lock()
        self._is_closed = threading.Event()
        self._thread: threading.Thread | None = None
        renewed_in_children(self)

    def add(self, opening: Opening) -> None:
        """Has a beginning written in a while, unless it is taken out before."""
        with self._lock:
            self._waiting[opening.opened.id] = time.monotonic() + PATIENCE, opening
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="alma-openings", daemon=True)
                self._thread.start()

    def drop(self, key: str) -> None:
        """Takes a beginning out: it is written."""
        with self._lock:
            self._waiting.pop(key, None)

    def of(self, project: str) -> dict[str, EpisodeRecord]:
        """The episodes of a project whose beginning waits, by id, in the order in which they began."""
        with self._lock:
            opened = [opening.opened for _, opening in self._waiting.values()]
        return {episode.id: episode for episode in opened if episode.project_id == project}

    def close(self) -> None:
        """Has all that wait written, and the thread end. What cannot be written is logged."""
        self._write(before=None)
        self._is_closed.set()
        thread = self._thread
        if thread is not None:
            thread.join()

    def renew_in_child(self) -> None:
        """What waits is the parent's to write, and so is the thread."""
        self._waiting, self._lock, self._is_closed, self._thread = {}, threading.Lock(), threading.Event(), None

    def _watch(self) -> None:
        quiet = 0
        while not self._is_closed.wait(PATIENCE):
            self._write(before=time.monotonic())
            with self._lock:
                quiet = 0 if self._waiting else quiet + 1
                if quiet > QUIET_ROUNDS:
                    self._thread = None
                    return

    def _write(self, *, before: float | None) -> None:
        with self._lock:
            waiting = [opening for due, opening in self._waiting.values() if before is None or due <= before]
        for opening in waiting:
            key = opening.opened.id
            try:
                opening.open()
            except AlmaError as problem:  # tried again with whatever the episode writes next
                _LOG.warning("the beginning of episode %s was not written yet: %s", key, problem)
                self.drop(key)
