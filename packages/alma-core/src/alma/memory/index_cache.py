"""Cache of the vector index of a project, between calls and between processes."""

import logging
import threading
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from alma.errors import AlmaError
from alma.forking import is_held_elsewhere, renewed_in_children
from alma.memory.snapshot_files import SnapshotFiles
from alma.protocols import Project, Snapshotable, StoredVectors, VectorChanges
from alma.vectors import ProjectIndex, SnapshotIdentity
from alma.vectors.changes import chosen
from alma.vectors.halves import Halves, Integers
from alma.vectors.index import CODES_ABOVE, WIDE_UP_TO, Run, at_once

_LOG = logging.getLogger("alma")

Held = frozenset[int] | None
"""The partitions that an index holds; `None` for all."""


class IndexCache:
    """Cache of the vector index of one project. It is updated before each use, and large kinds are saved in snapshots between processes.

    It holds the partitions that were asked for: what other agents stored costs a small reader nothing. Once all are asked for, it holds all.
    """

    def __init__(
        self,
        project: Project,
        *,
        identity: SnapshotIdentity,
        path: Path,
        codes_above: int = CODES_ABOVE,
        wide_up_to: int = WIDE_UP_TO,
        keeps_snapshots: bool = True,
        run: Run = at_once,
    ) -> None:
        """Names of snapshots begin as `path`: see `SnapshotFiles`. `run` calls a function beside the call that is running: see `ProjectIndex`."""
        self._project = project
        self._dimension = identity.fingerprint.dimension
        self._codes_above, self._wide_up_to = codes_above, wide_up_to
        self._files = SnapshotFiles(project, identity, path)
        self._keeps_snapshots = keeps_snapshots and isinstance(project, Snapshotable)
        self._run = run
        self._kinds: dict[int, str] = {}
        self._index: ProjectIndex | None = None
        self._held: Held = frozenset()
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
                if index is not None and index.upto > head:  # this thread alone gets an index of its past moment
                    return self._with(self._at(head), frozenset(), head, partitions)[0]
                try:
                    index, held = self._with(index, self._held or frozenset(), head, partitions)
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

    def _with(
        self, index: ProjectIndex | None, held: frozenset[int], head: int, partitions: Collection[int] | None
    ) -> tuple[ProjectIndex, Held]:
        """Returns the index with these partitions as well, and the partitions that it holds. It may still lack what came after its `upto`."""
        project = self._project
        self._kinds = {number: partition.kind for number, partition in project.partitions().items()}
        wanted = held.union(self._kinds if partitions is None else partitions)
        snapshots = self._files.kinds(wanted - held, self._kinds, head) if self._keeps_snapshots else {}
        is_whole = wanted.issuperset(self._kinds)
        if not isinstance(project, StoredVectors) or (is_whole and index is None and not snapshots):
            return self._empty(), None
        index = self._at(head) if index is None else index
        left, behind = wanted - held, index.upto
        for kind, (upto, saved) in snapshots.items():
            if not index.restore(kind, saved, self._fetched):
                self._files.reject(kind)
                continue
            there = frozenset(saved.held.tolist())
            left = left.union(number for number in held if self._kinds.get(number) == kind) - there
            wanted, behind = wanted | there, min(behind, upto)
        for changes in project.vectors_in(sorted(left)) if left else ():
            index.hold(changes)
        for changes in project.changes(after=behind) if behind < index.upto else ():
            index.hold(_of(changes, wanted))
            self._files.note(len(changes.passages) + len(changes.removed))
        return index, None if wanted.issuperset(self._kinds) else wanted

    def _at(self, head: int) -> ProjectIndex:
        """Returns an index without any partition as of a journal record."""
        index = self._empty()
        none, flags = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
        vectors = np.empty((0, index.dimension), dtype=np.float16)
        index.apply(VectorChanges(head, none, none, none, flags, none, vectors, none))
        return index

    def _empty(self) -> ProjectIndex:
        return ProjectIndex(
            self._dimension,
            kind_of=self._kind_of,
            codes_above=self._codes_above,
            wide_up_to=self._wide_up_to,
            run=self._run,
        )

    def _kind_of(self, number: int) -> str:
        if number not in self._kinds:
            self._kinds = {row: partition.kind for row, partition in self._project.partitions().items()}
        return self._kinds[number]

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
                if self._held is not None and (others := self._files.others(index, self._held)):
                    index = self.current(self._held | others)  # what another process saved stays saved
                self._files.save(index, self._kinds, self._held)
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
