"""Caches of the vector index of a project: in this process, in snapshots between processes, or a search outside of it.

Snapshots stand beside the database: one for each large kind of memory, and one of the lengths of the texts. An unusable one is ignored and
written again; purged memories leave with all of them.
"""

import glob
import logging
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path

import numpy as np

from alma import folders
from alma.errors import AlmaError, StorageError
from alma.folders import lock
from alma.forking import is_held_elsewhere, renewed_in_children
from alma.protocols import CandidateFactory, Project, Snapshotable, StoredVectors, VectorChanges, VectorsRequest
from alma.types.stored import TextLengths
from alma.vectors import ComposedIndex, ProjectIndex, SnapshotIdentity, StoredScorer, codes_layout, load, save, select_added
from alma.vectors.arrays import Halves, Integers
from alma.vectors.index import CODES_ABOVE, WIDE_UP_TO, Run, at_once
from alma.vectors.snapshot import Arrays

_LOG = logging.getLogger("alma")


TEXTS = "texts"


def deleted(path: Path) -> bool:
    """Deletes a file and returns True when it is gone. If it cannot be deleted, a warning is logged, since the work of the call itself is
    done."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _LOG.warning("%s could not be deleted: %s; delete it yourself", path, error.strerror or error)
        return False
    return True


class SnapshotFiles:
    """The snapshots of a project. Their names are that of `path` with their content before the suffix. Not thread-safe."""

    def __init__(self, project: Project, identity: SnapshotIdentity, path: Path) -> None:
        self._project, self._identity, self._path = project, identity, path
        self._has_texts = False

    def load_kind(self, kind: str, head: int, wanted: Collection[int] = ()) -> tuple[int, Arrays] | None:
        """Returns a kind of memory as `ProjectIndex.save` gave it, if any of the wanted partitions is in its snapshot. With the first kind, the
        project gets the lengths of its texts."""
        found = self._load(_name(kind), head, wanted)
        if found is not None and not self._has_texts and isinstance(self._project, Snapshotable):
            texts = self._load(TEXTS, head)
            if texts is not None:
                self._project.hold_text_lengths(TextLengths(texts[0], **texts[1]))
                self._has_texts = True
        return found

    def lack(self, kind: str) -> bool:
        """Returns True if there is no file of a kind."""
        return not self._file(_name(kind)).exists()

    def save_kind(self, kind: str, upto: int, arrays: Arrays) -> None:
        """Writes the snapshot of a kind."""
        self._save(_name(kind), arrays, upto)

    def save_texts(self, *, is_changed: bool) -> None:
        """Writes the lengths of the texts, if they changed since they were read, or there is no usable snapshot of them."""
        deleted(self._path)  # the snapshot of a former version, which held all vectors
        if isinstance(self._project, Snapshotable) and (is_changed or not self._has_texts or not self._file(TEXTS).exists()):
            lengths = self._project.text_lengths()
            if lengths.upto:
                arrays: Arrays = {"memories": lengths.memories, "partitions": lengths.partitions, "lengths": lengths.lengths}
                self._save(TEXTS, arrays, lengths.upto)

    def drop(self) -> bool | None:
        """Deletes all. Returns whether there were any; `None` if one could not be deleted, which is logged."""
        try:
            listed = [self._path, *self._path.parent.glob(f"{glob.escape(self._path.stem)}.*{self._path.suffix}")]
        except OSError as error:  # no descriptor is left, say: the work of the call itself is done
            reason = error.strerror or error
            _LOG.warning("%s could not be read, so snapshots in it stay: %s; delete them yourself", self._path.parent, reason)
            return None
        found = [path for path in listed if path.exists()]
        are_gone = [deleted(path) for path in found]
        folders.sweep(self._path.parent, f".{glob.escape(self._path.stem)}.*.tmp")  # drafts of killed writers
        return bool(found) if all(are_gone) else None

    def _load(self, content: str, head: int, wanted: Collection[int] = ()) -> tuple[int, Arrays] | None:
        path = self._file(content)
        if not path.exists():
            return None
        return load(path, self._identity_of(content), newest=head, head_at=self._project.head_at, wanted=wanted)

    def _save(self, content: str, arrays: Arrays, upto: int) -> None:
        head = self._project.head_at(upto)
        if not head or self._was_purged_since(upto):
            return
        save(arrays, self._file(content), self._identity_of(content), upto=upto, head=head)
        # another process may have purged meanwhile, and deleted the former snapshot before this one was there
        if self._was_purged_since(upto):
            self.drop()

    def _was_purged_since(self, upto: int) -> bool:
        return isinstance(self._project, StoredVectors) and self._project.touched(after=upto) is None

    def _identity_of(self, content: str) -> SnapshotIdentity:
        return replace(self._identity, content=content if content == TEXTS else f"{content}, {codes_layout()}")

    def _file(self, content: str) -> Path:
        return self._path.with_name(f"{self._path.stem}.{content}{self._path.suffix}")


def _name(kind: str) -> str:
    """Returns what names of snapshots of a kind have, whatever characters its own name has."""
    return f"kind-{blake2b(kind.encode(), digest_size=8).hexdigest()}"


WAIT_SECONDS = 2.0
"""For this long another process that catches up is waited for: usually it takes in a record or two."""
LOOK_SECONDS = 0.02

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
        sizes = {"codes_above": codes_above, "wide_up_to": wide_up_to}
        self._make = partial(ProjectIndex, identity.fingerprint.dimension, kind_of=self._kind_of, run=run, **sizes)
        self._files = SnapshotFiles(project, identity, path)
        self._keeps_snapshots = keeps_snapshots and isinstance(project, Snapshotable)
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
                    return self._with(self._make(upto=head), frozenset(), head, partitions)[0]
                try:
                    index, held = self._with(index, self._held or frozenset(), head, partitions)
                except BaseException:
                    self._index, self._held = None, frozenset()  # it may hold half of what was read
                    raise
                self._index = index
                self._held = held
            if index.upto < head:
                for changes in self._project.changes(after=index.upto):
                    index.apply(changes if self._held is None else _select(changes, self._held))
            return index

    def _with(
        self, index: ProjectIndex | None, held: frozenset[int], head: int, partitions: Collection[int] | None
    ) -> tuple[ProjectIndex, Held]:
        """Returns the index with these partitions as well, and the partitions that it holds. It may still lack what came after its `upto`."""
        project = self._project
        self._kinds = {number: partition.kind for number, partition in project.partitions().items()}
        wanted = held.union(self._kinds if partitions is None else partitions)
        kinds = {self._kinds[number] for number in wanted - held if number in self._kinds} if self._keeps_snapshots else ()
        loaded = ((kind, self._files.load_kind(kind, head, self._of_kind(kind, wanted))) for kind in sorted(kinds))
        snapshots = [(kind, *found) for kind, found in loaded if found is not None]
        is_whole = wanted.issuperset(self._kinds)
        if not isinstance(project, StoredVectors) or (is_whole and index is None and not snapshots):
            return self._make(), None
        index = self._make(upto=head) if index is None else index
        left, behind = wanted - held, index.upto
        for kind, upto, arrays in snapshots:
            index.restore(kind, arrays, self._fetch)
            there = frozenset(arrays["held"].tolist())
            left = left.union(self._of_kind(kind, held)) - there
            wanted, behind = wanted | there, min(behind, upto)
        for changes in project.vectors_in(sorted(left)) if left else ():
            index.hold(changes)
        for changes in project.changes(after=behind) if behind < index.upto else ():
            index.hold(_select(changes, wanted))
        return index, None if wanted.issuperset(self._kinds) else wanted

    def _of_kind(self, kind: str, partitions: Collection[int]) -> list[int]:
        return sorted(number for number in partitions if self._kinds.get(number) == kind)

    def _kind_of(self, number: int) -> str:
        if number not in self._kinds:
            self._kinds = {row: partition.kind for row, partition in self._project.partitions().items()}
        return self._kinds[number]

    def _fetch(self, passages: Integers) -> tuple[Integers, Halves]:
        assert isinstance(self._project, Snapshotable)
        return self._project.vectors_at(passages.tolist())

    def save(self) -> None:
        """Writes snapshots of large kinds, without purged memories, where they are missing or stale. Work beside calls ends."""
        if self._index is None:
            return
        self._index.stop()
        if not self._keeps_snapshots:
            return
        try:
            with self._lock:
                self._save()
        except (OSError, AlmaError) as error:
            _LOG.warning("a vector snapshot was not written: %s; the next process reads the database instead", error)

    def _save(self) -> None:
        index = self.current(self._held)
        large = [str(kind) for kind in index.large()]
        stale = [kind for kind in large if index.is_stale(kind) or self._files.lack(kind)]
        if stale and self._held is not None:  # what another process saved stays saved
            found = [self._files.load_kind(kind, index.upto) for kind in stale]
            index = self.current(self._held.union(*(each[1]["held"].tolist() for each in found if each is not None)))
        for kind in stale:
            held = self._of_kind(kind, self._kinds if self._held is None else self._held)
            if (saved := index.save(kind, np.array(held, dtype=np.int64))) is not None:
                self._files.save_kind(kind, *saved)
        if large:
            self._files.save_texts(is_changed=bool(stale))

    def renew_in_child(self) -> None:
        """Keeps the index, unless another thread was changing it."""
        if is_held_elsewhere(self._lock):
            self._index, self._held = None, frozenset()
        if self._index is not None:
            self._index.renew_locks()
        self._lock = threading.RLock()

    def drop_snapshot(self) -> bool | None:
        """Deletes the snapshots; the index in memory stays. Returns whether there were any; `None` if one could not be deleted, which is
        logged."""
        with self._lock:
            return self._files.drop()


def _select(changes: VectorChanges, partitions: Collection[int]) -> VectorChanges:
    """Returns the part of changes that concerns these partitions. What moved to another one leaves."""
    stays = np.isin(changes.partitions, np.fromiter(partitions, np.int64, len(partitions)))
    left = select_added(changes, stays)
    return left if left is changes else replace(left, removed=np.concatenate([changes.removed, changes.passages[~stays]]))


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
        """Drops the index after a fork, to be opened again: its connections belong to the parent."""
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
