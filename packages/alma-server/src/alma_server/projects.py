"""Open projects of a server."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from alma.memory.alma import release_project

if TYPE_CHECKING:
    from alma import ALMA


class Projects:
    """Memories of the projects used last, at most `most` of them; the caches of the others are freed. Threads may share it."""

    def __init__(self, open_project: "Callable[[str], ALMA]", *, most: int) -> None:
        self._open = open_project
        self._most = most
        self._lock = Lock()
        self._known: OrderedDict[str, ALMA] = OrderedDict()

    def find(self, name: str) -> "ALMA":
        """Returns the memory of a project, and opens it if necessary."""
        with self._lock:
            found = self._known.get(name)
            if found is not None:
                self._known.move_to_end(name)
                return found
        opened = self._open(name)  # it may wait, and others need not
        with self._lock:
            found = self._known.setdefault(name, opened)
            left = self._known.popitem(last=False)[1] if len(self._known) > self._most else None
        if left is not None:
            release_project(left)
        return found
