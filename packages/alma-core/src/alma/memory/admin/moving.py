"""Moves a store to another database, journal included."""

from collections.abc import Mapping
from pathlib import Path

from alma.config import check_storage
from alma.errors import ConfigurationError, ValidationError
from alma.files import checked_copy
from alma.memory.progress import Progress, with_progress
from alma.memory.room import OpenStore
from alma.protocols import Movable, Store, StoreRequest
from alma.storage.factories import SQLITE, addressed, open_named
from alma.text import quoted
from alma.types.reports import MoveReport

DATABASE = "alma.db"


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
