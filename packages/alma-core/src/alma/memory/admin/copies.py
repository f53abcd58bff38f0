"""Copies of a whole store, all its projects with their journals: into a backup file, or to another database."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from alma.config import check_storage
from alma.errors import ConfigurationError, ValidationError
from alma.files import checked_copy, drafted
from alma.memory.arguments import Progress, with_progress
from alma.memory.room import OpenStore
from alma.protocols import Copyable, Movable, Store, StoreRequest
from alma.storage.factories import SQLITE, addressed, open_named
from alma.text import quoted
from alma.types.reports import BackupReport, MoveReport

DATABASE = "alma.db"


def backup(store: OpenStore, path: object, *, force: bool = False, progress: Progress | None = None) -> BackupReport:
    """Copies the whole store into a file that appears whole or not at all."""
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


def move(
    store: OpenStore, to: object, options: Mapping[str, object] | None = None, *, progress: Progress | None = None
) -> MoveReport:
    """Copies the whole store to a place where there is none: a URL such as `postgres://host/database`, or the path of a SQLite file."""
    source = store.storage
    if not isinstance(source, Movable):
        raise ConfigurationError("this storage cannot be moved; export it and import it into a new one")
    if store.is_encrypted:
        raise ConfigurationError("an encrypted store is not moved as it is; `alma decrypt` it, move it, and encrypt the new one")
    if not isinstance(to, str) or not to.strip():
        raise ValidationError(f"a store moves to a URL or to the path of a new file, not to {quoted(to)}")

    def copy(on_progress: Progress | None) -> MoveReport:
        target = _draft(store, to, options)
        if target.is_copy_of_another(source):
            target.discard()
            target = _draft(store, to, options)
        try:
            moved = target.copy_from(source, on_progress)
            target.take_place()
        finally:
            target.close()
        return MoveReport(
            rows=moved.rows,
            kept=moved.kept,
            heads={project.name: project.seq for project in moved.projects},
            content_hashes={project.name: project.content_hash for project in moved.projects},
        )

    return with_progress(progress, copy)


class _Draft(Movable, Store):
    """A store that is made beside its place."""


def _draft(store: OpenStore, to: str, options: Mapping[str, object] | None) -> _Draft:
    name, given = addressed(to, options or {}) if "://" in to else (SQLITE, {})
    target = store.folder / DATABASE
    if name == SQLITE:
        target = checked_copy(to, Path(getattr(store.storage, "file", target)), may_replace=False).absolute()
    fingerprint = store.storage.fingerprint
    request = StoreRequest(str(target.parent), target.name, store.clock(), None, given, lambda: fingerprint, is_draft=True)
    opened = open_named(check_storage(name), request)
    if not isinstance(opened, Movable):
        opened.close()
        raise ConfigurationError(f"a store cannot be moved to {name!r}; import an export of it there")
    return opened  # type: ignore[return-value] # both, which types cannot say
