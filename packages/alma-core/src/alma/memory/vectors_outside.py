"""The index of a project whose vectors are searched outside of this process."""

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from alma.errors import AlmaError, StorageError
from alma.folders import lock
from alma.forking import renewed_in_children
from alma.protocols import CandidateFactory, Project, StoredVectors, VectorsRequest
from alma.vectors import ComposedIndex, StoredScorer

WAIT_SECONDS = 2.0
"""For this long another process that catches up is waited for: usually it takes in a record or two."""
LOOK_SECONDS = 0.02


class IndexOutside:
    """Has the uses of an `IndexCache`: gives the index when it has caught up with the journal. Nothing of it is kept in a file."""

    def __init__(self, project: Project, request: VectorsRequest, make: CandidateFactory, *, locks_itself: bool = False) -> None:
        """A search that `locks_itself` orders those that catch up at once, also on several machines.

        `ConfigurationError` if a setting of the search is missing or wrong.
        """
        self._project, self._request, self._make, self._locks_itself = project, request, make, locks_itself
        self._lock = threading.RLock()
        self._index: ComposedIndex | None = self._made()
        renewed_in_children(self)

    def renew_in_child(self) -> None:
        """Begins anew after a fork: connections belong to the parent."""
        self._lock = threading.RLock()
        self._index = None

    def current(self, partitions: Collection[int] | None = None) -> ComposedIndex:
        """Returns the index with everything that any process has written so far. It holds all partitions."""
        head = self._project.head()
        with self._lock:
            if self._index is None:
                self._index = self._made()
            self._index.follow(head)
            return self._index

    def save(self) -> None:
        """Catches up and closes the connection."""
        if self._index is not None:
            with suppress(AlmaError):
                self.current()
            self._index.close()

    def drop_snapshot(self) -> bool | None:
        """Has what was deleted leave the search at once, where it can be reached. There is no snapshot."""
        with suppress(AlmaError):
            self.current()
        return False

    def _made(self) -> ComposedIndex:
        assert isinstance(self._project, StoredVectors)
        request = self._request
        scorer = StoredScorer(self._project, request.fingerprint.dimension)
        name = f"the search of vectors of project {request.project}"
        return ComposedIndex(
            self._project, scorer, self._make(request), name=name, catching_up=nullcontext if self._locks_itself else self._alone
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Locks the search against other processes that catch up. `StorageError` if one does for longer than `WAIT_SECONDS`."""
        path = Path(self._request.folder) / f"{self._request.name}.catching-up"
        with path.open("ab") as file:
            until = time.monotonic() + WAIT_SECONDS
            while not lock(file.fileno()):
                if time.monotonic() > until:
                    raise StorageError("another process is filling it")
                time.sleep(LOOK_SECONDS)
            yield
