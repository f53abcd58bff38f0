"""Backs up the store into a file."""

import os
import time
from pathlib import Path

from alma.errors import ConfigurationError, ValidationError
from alma.files import checked_copy, drafted
from alma.memory.progress import Progress, with_progress
from alma.memory.room import OpenStore
from alma.protocols import Copyable
from alma.text import quoted
from alma.types.reports import BackupReport


def backup(store: OpenStore, path: object, *, force: bool = False, progress: Progress | None = None) -> BackupReport:
    """Copies the whole store, all its projects, into a file that appears whole or not at all."""
    storage = store.storage
    if not isinstance(storage, Copyable):
        raise ConfigurationError("this storage cannot copy itself; use its own way to back up, or export")
    if not isinstance(path, str | os.PathLike):
        raise ValidationError(f"backup needs a path, not {quoted(path)}")
    target = checked_copy(path, Path(storage.file), may_replace=force)
    began = time.perf_counter()

    def copy(on_progress: Progress | None) -> BackupReport:
        with drafted(target, may_replace=force) as draft:
            copied = storage.backup(str(draft), on_progress)
            size = draft.stat().st_size
        return BackupReport(
            path=str(target),
            bytes=size,
            pages=copied.pages,
            seconds=time.perf_counter() - began,
            heads={project.name: project.seq for project in copied.projects},
            content_hashes={project.name: project.content_hash for project in copied.projects},
        )

    return with_progress(progress, copy)
