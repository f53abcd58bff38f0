"""Snapshots of one project beside its database: one for each large kind of memory, and one of the lengths of its texts.

They are caches. What is unusable is ignored and written anew; what was purged leaves with all of them.
"""

import glob
import logging
from collections.abc import Collection
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from alma import folders
from alma.protocols import Project, Snapshotable, StoredVectors
from alma.types.stored import TextLengths
from alma.vectors import SnapshotIdentity, codes_layout, load, save
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
        return load(path, self._identified(content), newest=head, head_at=self._project.head_at, wanted=wanted)

    def _save(self, content: str, arrays: Arrays, upto: int) -> None:
        head = self._project.head_at(upto)
        if not head or self._was_purged_since(upto):
            return
        save(arrays, self._file(content), self._identified(content), upto=upto, head=head)
        # another process may have purged meanwhile, and deleted the former snapshot before this one was there
        if self._was_purged_since(upto):
            self.drop()

    def _was_purged_since(self, upto: int) -> bool:
        return isinstance(self._project, StoredVectors) and self._project.touched(after=upto) is None

    def _identified(self, content: str) -> SnapshotIdentity:
        return replace(self._identity, content=content if content == TEXTS else f"{content}, {codes_layout()}")

    def _file(self, content: str) -> Path:
        return self._path.with_name(f"{self._path.stem}.{content}{self._path.suffix}")


def _name(kind: str) -> str:
    """Returns what names of snapshots of a kind have, whatever characters its own name has."""
    return f"kind-{blake2b(kind.encode(), digest_size=8).hexdigest()}"
