"""Cache of the vector index of a project, between calls and between processes."""

import logging
import threading
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from alma.errors import AlmaError
from alma.forking import renewed_in_children
from alma.protocols import Project, StoredVectors, VectorChanges
from alma.vectors import ProjectIndex, SnapshotIdentity, load, save
from alma.vectors.index import FAISS_ABOVE, Run, at_once

_LOG = logging.getLogger("alma")

SNAPSHOT_FROM = 200_000
"""A smaller index is read from the database in about a second; a snapshot would take as much disk again as its vectors."""

WHOLE_FROM = 50_000
"""From this number of passages on a snapshot is read, if there is one: all partitions at once. Fewer are read from the database, by partition."""


def deleted(path: Path) -> bool:
    """Deletes a file and returns True when it is gone. If it cannot be deleted, a warning is logged, since the work of the call itself is
    done."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _LOG.warning("%s could not be deleted: %s; delete it yourself", path, error.strerror or error)
        return False
    return True


class IndexCache:
    """Cache of the vector index of one project. It is updated before each use, and saved in a snapshot between processes when it is
    large.

    It holds the partitions that were asked for: what other agents stored costs a small reader nothing. Once all are asked for, or many passages are
    and there is a snapshot, it holds all.
    """

    def __init__(
        self,
        project: Project,
        *,
        identity: SnapshotIdentity,
        path: Path,
        snapshot_from: int = SNAPSHOT_FROM,
        faiss_above: int = FAISS_ABOVE,
        keeps_snapshot: bool = True,
        run: Run = at_once,
    ) -> None:
        """`run` calls a function beside the call that is running: see `ProjectIndex`."""
        self._project = project
        self._identity = identity
        self._path = path
        self._snapshot_from = snapshot_from
        self._faiss_above = faiss_above
        self._keeps_snapshot = keeps_snapshot
        self._run = run
        self._index: ProjectIndex | None = None
        self._held: frozenset[int] | None = frozenset()
        """The partitions that it holds; `None` for all."""
        self._saved_upto = 0
        self._lock = threading.Lock()
        renewed_in_children(self)

    def current(self, partitions: Collection[int] | None = None) -> ProjectIndex:
        """Returns the index with everything that any process has written so far: of these partitions, or of all."""
        head = self._project.head()
        is_held, index = self._holds(partitions), self._index  # in this order: another thread sets the index first
        if index is None or not is_held or index.upto < head:
            index = self._catch_up(head, partitions)
        return index

    def _holds(self, partitions: Collection[int] | None) -> bool:
        held = self._held
        return held is None or (partitions is not None and held.issuperset(partitions))

    def _catch_up(self, head: int, partitions: Collection[int] | None) -> ProjectIndex:
        with self._lock:
            index = self._index
            if index is None or not self._holds(partitions):
                head = self._project.head()  # of the moment that this thread reads in, where it is in the middle of one
                if index is not None and index.upto > head:
                    return self._past(head, partitions)
                index, held = self._with(head, partitions)
                self._index = index
                self._held = held
            if index.upto < head:
                for changes in self._project.changes(after=index.upto):
                    index.apply(self._of_held(changes))
            return index

    def _with(self, head: int, partitions: Collection[int] | None) -> tuple[ProjectIndex, frozenset[int] | None]:
        """Returns the index with these partitions as well, and the partitions that it holds. It may still lack what came after its `upto`."""
        project, everything = self._project, frozenset(self._project.partitions())
        held = self._held or frozenset[int]()
        wanted = everything if partitions is None else held.union(partitions)
        is_whole = wanted >= everything
        if not isinstance(project, StoredVectors) or (is_whole and self._index is None):
            return self._loaded(head) or self._empty(), None
        index = self._index if self._index is not None else self._at(head)
        read, most, gains_anew = 0, max(WHOLE_FROM, len(index)), len(index) > 0 or self._path.exists()
        for changes in project.vectors_in(sorted(wanted - held)):
            read += len(changes.passages)
            if read > most and gains_anew:  # older passages among newer ones take longer than all in order, or from the snapshot
                loaded = self._loaded(head)
                index, is_whole = (loaded, True) if loaded is not None else (self._of(head, wanted, project), is_whole)
                break
            index.hold(changes)
        return index, None if is_whole else wanted

    def _past(self, head: int, partitions: Collection[int] | None) -> ProjectIndex:
        """Returns an index as of a past moment, for the thread in it alone: in the common index these partitions would lack what came since."""
        project = self._project
        assert isinstance(project, StoredVectors)  # of others it holds all partitions
        return self._of(head, project.partitions() if partitions is None else partitions, project)

    def _of(self, head: int, partitions: Collection[int], project: StoredVectors) -> ProjectIndex:
        """Returns an index of some partitions, read in order."""
        index = self._at(head)
        for changes in project.vectors_in(sorted(partitions)):
            index.hold(changes)
        return index

    def _at(self, head: int) -> ProjectIndex:
        """Returns an index without any partition as of a journal record."""
        index = self._empty()
        none, flags = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
        vectors = np.empty((0, index.dimension), dtype=np.float16)
        index.apply(VectorChanges(head, none, none, none, flags, none, vectors, none))
        return index

    def _of_held(self, changes: VectorChanges) -> VectorChanges:
        """Returns the part of changes that concerns the held partitions. What moved to another partition leaves."""
        if self._held is None:
            return changes
        stays = np.isin(changes.partitions, np.fromiter(self._held, np.int64, len(self._held)))
        if stays.all():
            return changes
        return replace(
            changes,
            passages=changes.passages[stays],
            memories=changes.memories[stays],
            partitions=changes.partitions[stays],
            is_own=changes.is_own[stays],
            ties=changes.ties[stays],
            vectors=changes.vectors[stays],
            removed=np.concatenate([changes.removed, changes.passages[~stays]]),
        )

    def _empty(self, dimension: int | None = None) -> ProjectIndex:
        dimension = self._identity.fingerprint.dimension if dimension is None else dimension
        return ProjectIndex(dimension, faiss_above=self._faiss_above, run=self._run)

    def _loaded(self, head: int) -> ProjectIndex | None:
        if not self._keeps_snapshot:
            return None
        index = load(self._path, self._identity, newest=head, head_at=self._project.head_at, new_index=self._empty)
        self._saved_upto = index.upto if index else 0
        return index

    def save(self) -> None:
        """Writes the snapshot of the current content, without purged memories, if that saves the next process much time. Work beside
        calls ends."""
        index = self._index
        if index is not None:
            index.stop()
        if not self._keeps_snapshot or index is None or len(index) < self._snapshot_from or index.upto == self._saved_upto:
            return
        try:
            index = self.current()
            with self._lock:
                save(index, self._path, self._identity, head_at=self._project.head_at)
                self._saved_upto = index.upto
        except (OSError, AlmaError) as error:
            _LOG.warning(
                "the vector snapshot %s was not written: %s; the next process reads the database instead", self._path, error
            )

    def renew_in_child(self) -> None:
        """Keeps the index, unless another thread was changing it."""
        if self._lock.locked():
            self._index, self._held, self._saved_upto = None, frozenset(), 0
        if self._index is not None:
            self._index.renew_locks()
        self._lock = threading.Lock()

    def drop_snapshot(self) -> bool | None:
        """Deletes the snapshot; the index in memory stays. Returns whether there was one; `None` if it could not be deleted, which is
        logged."""
        with self._lock:
            self._saved_upto = 0
            found = self._path.exists()
            return found if deleted(self._path) else None
