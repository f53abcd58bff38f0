"""Snapshots of one project beside its database: one for each large kind of memory, and one of the lengths of its texts.

They are caches. What is unusable is ignored and written anew; what was purged leaves with all of them.
"""

import glob
import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from alma import folders
from alma.errors import AlmaError
from alma.protocols import Project, Snapshotable, StoredVectors
from alma.types.found import TextLengths
from alma.vectors import ProjectIndex, SavedKind, SnapshotIdentity, codes_layout, load, save
from alma.vectors.snapshot import Arrays

_LOG = logging.getLogger("alma")

STALE = 64
"""A snapshot is written again once more than one in this many of its passages changed. Until then each process reads the changes."""

TEXTS = "texts"

SavedKinds = dict[str, tuple[int, SavedKind]]
"""Kinds of memory, each with the journal `seq` that it is as of."""


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
    """The snapshots of a project. Their names are that of `path` with what they hold before the suffix. Not thread-safe."""

    def __init__(self, project: Project, identity: SnapshotIdentity, path: Path) -> None:
        self._project, self._identity, self._path = project, identity, path
        self._changed = 0
        self._known: dict[str, int] = {}
        """How many passages had changed when a snapshot was read or written, by what it holds."""

    def note(self, changed: int) -> None:
        """Notes that this many more passages changed since the snapshots that were read."""
        self._changed += changed

    def kinds(self, wanted: Collection[int], kind_of: Mapping[int, str], head: int) -> SavedKinds:
        """Returns those kinds of partitions that there is a usable snapshot of. With the first, the project gets the lengths of its texts."""
        found: SavedKinds = {}
        for kind in sorted({kind_of[number] for number in wanted if number in kind_of}):
            own = tuple(sorted(number for number in wanted if kind_of.get(number) == kind))
            if (loaded := self._loaded(_name(kind), head, own)) is not None:
                try:
                    found[kind] = loaded[0], SavedKind.of(loaded[1])
                except AlmaError as error:
                    self.reject(kind)
                    _LOG.info("snapshot %s is not used: %s", self._file(_name(kind)), error)
                else:
                    if not {*own} <= {*found[kind][1].held.tolist()}:
                        self.reject(kind)
        if found and TEXTS not in self._known:
            self._load_texts(head)
        return found

    def reject(self, kind: str) -> None:
        """Has the snapshot of a kind written anew: it is of no use, or lacks partitions."""
        self._known.pop(_name(kind), None)

    def others(self, index: ProjectIndex, held: Collection[int]) -> frozenset[int]:
        """Returns the partitions that are in a snapshot which will be written anew, and are not held."""
        found: set[int] = set()
        for kind in map(str, index.large()):
            path = self._file(_name(kind))
            if _name(kind) not in self._known and path.exists():
                loaded = load(path, self._identified(_name(kind)), newest=index.upto, head_at=self._project.head_at)
                found.update(() if loaded is None else loaded[1]["held"].tolist())
        return frozenset(found.difference(held))

    def save(self, index: ProjectIndex, kind_of: Mapping[int, str], held: Collection[int] | None) -> None:
        """Writes the snapshots of the large kinds of an index, where they are missing or stale. What is purged meanwhile is in none. `held` are the
        partitions that it holds; `None` for all."""
        kinds = [str(kind) for kind in index.large()]
        if kinds:
            deleted(self._path)  # the snapshot of a former version, which held all vectors
        for kind in kinds:
            own = sorted(number for number, of in kind_of.items() if of == kind and (held is None or number in held))
            if self._is_stale(_name(kind), len(index)) and (made := index.saved(kind, np.array(own, dtype=np.int64))) is not None:
                upto, saved = made
                self._save(_name(kind), saved.arrays(), upto, tuple(own))
        if kinds and isinstance(self._project, Snapshotable):
            lengths = self._project.text_lengths()
            if lengths.upto and self._is_stale(TEXTS, len(lengths.memories)):
                arrays: Arrays = {"memories": lengths.memories, "partitions": lengths.partitions, "lengths": lengths.lengths}
                self._save(TEXTS, arrays, lengths.upto)

    def drop(self) -> bool | None:
        """Deletes all. Returns whether there were any; `None` if one could not be deleted, which is logged."""
        self._known.clear()
        try:
            listed = [self._path, *self._path.parent.glob(f"{glob.escape(self._path.stem)}.*{self._path.suffix}")]
        except OSError as error:  # no descriptor is left, say: the work of the call itself is done
            _LOG.warning(
                "%s could not be read, so snapshots in it stay: %s; delete them yourself",
                self._path.parent,
                error.strerror or error,
            )
            return None
        found = [path for path in listed if path.exists()]
        are_gone = [deleted(path) for path in found]
        folders.sweep(self._path.parent, f".{glob.escape(self._path.stem)}.*.tmp")  # drafts of killed writers
        return bool(found) if all(are_gone) else None

    def forget(self) -> None:
        """Forgets what was read: in a child process whose parent was reading."""
        self._known.clear()

    def _load_texts(self, head: int) -> None:
        loaded = self._loaded(TEXTS, head)
        if loaded is not None and isinstance(self._project, Snapshotable):
            upto, arrays = loaded
            lengths = TextLengths(upto, *(arrays[name] for name in ("memories", "partitions", "lengths")))
            self._project.hold_text_lengths(lengths)

    def _loaded(self, content: str, head: int, partitions: tuple[int, ...] = ()) -> tuple[int, Arrays] | None:
        path = self._file(content)
        if not path.exists():
            return None
        loaded = load(path, self._identified(content, partitions), newest=head, head_at=self._project.head_at)
        if loaded is not None:
            self._known[content] = self._changed
        return loaded

    def _save(self, content: str, arrays: Arrays, upto: int, partitions: tuple[int, ...] = ()) -> None:
        head = self._project.head_at(upto)
        if not head or self._was_purged_since(upto):
            return
        save(arrays, self._file(content), self._identified(content, partitions), upto=upto, head=head)
        self._known[content] = self._changed
        # another process may have purged meanwhile, and deleted the former snapshot before this one was there
        if self._was_purged_since(upto):
            self.drop()

    def _was_purged_since(self, upto: int) -> bool:
        return isinstance(self._project, StoredVectors) and self._project.touched(after=upto) is None

    def _is_stale(self, content: str, size: int) -> bool:
        known = self._known.get(content)
        return known is None or STALE * (self._changed - known) > size or not self._file(content).exists()

    def _identified(self, content: str, partitions: tuple[int, ...] = ()) -> SnapshotIdentity:
        layout = content if content == TEXTS else f"{content}, {codes_layout()}"
        return replace(self._identity, content=layout, partitions=partitions)

    def _file(self, content: str) -> Path:
        return self._path.with_name(f"{self._path.stem}.{content}{self._path.suffix}")


def _name(kind: str) -> str:
    """Returns what names of snapshots of a kind have, whatever characters its own name has."""
    return f"kind-{blake2b(kind.encode(), digest_size=8).hexdigest()}"
