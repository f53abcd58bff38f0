"""Cache of the vector index of a project, between calls and between processes."""

import logging
import threading
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from alma.errors import AlmaError
from alma.forking import is_held_elsewhere, renewed_in_children
from alma.memory.snapshot_files import SavedPartitions, SnapshotFiles
from alma.protocols import Project, Snapshotable, StoredVectors, VectorChanges
from alma.vectors import ProjectIndex, SnapshotIdentity
from alma.vectors.blocks import Halves, Integers
from alma.vectors.changes import chosen
from alma.vectors.index import CODES_ABOVE, FAISS_ABOVE, Run, at_once

_LOG = logging.getLogger("alma")

IN_ORDER_FROM = 50_000
"""If more passages than this are read beside an index, and more than it holds, all are read anew in order: that takes less time."""


class IndexCache:
    """Cache of the vector index of one project. It is updated before each use, and large partitions are saved in snapshots between processes.

    It holds the partitions that were asked for: what other agents stored costs a small reader nothing. Once all are asked for, it holds all.
    """

    def __init__(
        self,
        project: Project,
        *,
        identity: SnapshotIdentity,
        path: Path,
        faiss_above: int = FAISS_ABOVE,
        codes_above: int = CODES_ABOVE,
        keeps_snapshots: bool = True,
        run: Run = at_once,
    ) -> None:
        """Names of snapshots begin as `path`: see `SnapshotFiles`. `run` calls a function beside the call that is running: see `ProjectIndex`."""
        self._project = project
        self._dimension = identity.fingerprint.dimension
        self._faiss_above, self._codes_above = faiss_above, codes_above
        self._files = SnapshotFiles(project, identity, path)
        self._keeps_snapshots = keeps_snapshots and isinstance(project, Snapshotable)
        self._run = run
        self._index: ProjectIndex | None = None
        self._held: frozenset[int] | None = frozenset()
        """The partitions that it holds; `None` for all."""
        self._lock = threading.RLock()
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
                try:
                    index, held = self._with(head, partitions)
                except BaseException:
                    self._index, self._held = None, frozenset()  # it may hold half of what was read
                    raise
                self._index = index
                self._held = held
            if index.upto < head:
                for changes in self._project.changes(after=index.upto):
                    index.apply(changes if self._held is None else _of(changes, self._held))
                    self._files.note(len(changes.passages) + len(changes.removed))
            return index

    def _with(self, head: int, partitions: Collection[int] | None) -> tuple[ProjectIndex, frozenset[int] | None]:
        """Returns the index with these partitions as well, and the partitions that it holds. It may still lack what came after its `upto`."""
        project, everything = self._project, frozenset(self._project.partitions())
        held = self._held or frozenset[int]()
        wanted = everything if partitions is None else held.union(partitions)
        now_held = None if wanted >= everything else wanted
        snapshots = self._snapshots(wanted - held, head)
        if not isinstance(project, StoredVectors) or (now_held is None and self._index is None and not snapshots):
            return self._empty(), None
        index = self._index if self._index is not None else self._at(head)
        read, most, gains_anew = 0, max(IN_ORDER_FROM, len(index)), len(index) > 0
        left = sorted(wanted - held - snapshots.keys())
        for changes in project.vectors_in(left) if left else ():
            read += len(changes.passages)
            if read > most and gains_anew:
                return self._made(head, wanted, project), now_held
            index.hold(changes)
        return self._restored(index, wanted, snapshots, project), now_held

    def _past(self, head: int, partitions: Collection[int] | None) -> ProjectIndex:
        """Returns an index as of a past moment, for the thread in it alone: in the common index these partitions would lack what came since."""
        project = self._project
        assert isinstance(project, StoredVectors)  # of others it holds all partitions
        return self._made(head, project.partitions() if partitions is None else partitions, project)

    def _made(self, head: int, partitions: Collection[int], project: StoredVectors) -> ProjectIndex:
        """Returns a new index of some partitions."""
        index, snapshots = self._at(head), self._snapshots(partitions, head)
        left = sorted(set(partitions) - snapshots.keys())
        for changes in project.vectors_in(left) if left else ():
            index.hold(changes)
        return self._restored(index, partitions, snapshots, project)

    def _restored(
        self, index: ProjectIndex, partitions: Collection[int], snapshots: SavedPartitions, project: StoredVectors
    ) -> ProjectIndex:
        """Takes partitions from snapshots, and what changed since in all that it holds then."""
        for number, (_, saved) in snapshots.items():
            if not index.restore(number, saved, self._fetched):
                self._files.reject(number)
                for changes in project.vectors_in([number]):
                    index.hold(changes)
        behind = min((upto for upto, _ in snapshots.values()), default=index.upto)
        if behind < index.upto:
            for changes in self._project.changes(after=behind):
                index.hold(_of(changes, partitions))
                self._files.note(len(changes.passages) + len(changes.removed))
        return index

    def _at(self, head: int) -> ProjectIndex:
        """Returns an index without any partition as of a journal record."""
        index = self._empty()
        none, flags = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
        vectors = np.empty((0, index.dimension), dtype=np.float16)
        index.apply(VectorChanges(head, none, none, none, flags, none, vectors, none))
        return index

    def _empty(self) -> ProjectIndex:
        return ProjectIndex(self._dimension, faiss_above=self._faiss_above, codes_above=self._codes_above, run=self._run)

    def _snapshots(self, wanted: Collection[int], head: int) -> SavedPartitions:
        return self._files.partitions(wanted, head) if self._keeps_snapshots else {}

    def _fetched(self, passages: Integers) -> tuple[Integers, Halves]:
        assert isinstance(self._project, Snapshotable)
        return self._project.vectors_at(passages.tolist())

    def save(self) -> None:
        """Writes snapshots of what is held, without purged memories, where they save the next process much time. Work beside calls ends."""
        if self._index is None:
            return
        self._index.stop()
        if not self._keeps_snapshots or not self._index.large():
            return
        try:
            index = self.current(self._held)
            with self._lock:
                self._files.save(index)
        except (OSError, AlmaError) as error:
            _LOG.warning("a vector snapshot was not written: %s; the next process reads the database instead", error)

    def renew_in_child(self) -> None:
        """Keeps the index, unless another thread was changing it."""
        if is_held_elsewhere(self._lock):
            self._index, self._held = None, frozenset()
            self._files.forget()
        if self._index is not None:
            self._index.renew_locks()
        self._lock = threading.RLock()

    def drop_snapshot(self) -> bool | None:
        """Deletes the snapshots; the index in memory stays. Returns whether there were any; `None` if one could not be deleted, which is
        logged."""
        with self._lock:
            return self._files.drop()


def _of(changes: VectorChanges, partitions: Collection[int]) -> VectorChanges:
    """Returns the part of changes that concerns these partitions. What moved to another one leaves."""
    stays = np.isin(changes.partitions, np.fromiter(partitions, np.int64, len(partitions)))
    left = chosen(changes, stays)
    return left if left is changes else replace(left, removed=np.concatenate([changes.removed, changes.passages[~stays]]))
