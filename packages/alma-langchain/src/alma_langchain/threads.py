"""What a handler remembers of threads: the last task of each, and the runs in it that wait for a person."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

from alma_langchain.attempt import Attempt

K = TypeVar("K")
V = TypeVar("V")

MOST_THREADS = 10_000


@dataclass(frozen=True, slots=True)
class Place:
    """A thread, told apart from those that bear the same id for others: of another tenant or user, or of another graph."""

    project: str
    user: str | None
    thread: str
    namespace: str
    graph: str


class Threads:
    """Keeps to the last places that were asked or interrupted. Python threads may share it."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[Place, str] = OrderedDict()
        self._waiting: OrderedDict[tuple[Place, str | None], Attempt] = OrderedDict()
        self._lock = threading.Lock()

    def asked(self, place: Place, task: str) -> None:
        """A run on this task began here."""
        with self._lock:
            _put(self._tasks, place, task)

    def last_task(self, place: Place) -> str | None:
        """What was asked here last."""
        with self._lock:
            return self._tasks.get(place)

    def interrupted(self, place: Place, checkpoint: str | None, attempt: Attempt) -> None:
        """A run waits here, at this checkpoint."""
        with self._lock:
            _put(self._waiting, (place, checkpoint), attempt)

    def resumed(self, place: Place, checkpoint: str | None) -> Attempt | None:
        """The run that goes on from this checkpoint. From one that nothing waits at, as after `update_state`, the only one that waits here."""
        with self._lock:
            found = self._waiting.pop((place, checkpoint), None)
            if found is None:
                here = [key for key in self._waiting if key[0] == place]
                found = self._waiting.pop(here[0]) if len(here) == 1 else None
            return found


def _put(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MOST_THREADS:
        kept.popitem(last=False)
