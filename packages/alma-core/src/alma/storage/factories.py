"""Stores by name: SQLite, and those of other packages."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from alma.errors import ConfigurationError
from alma.protocols import CandidateFactory, Store, StoreRequest

ENTRY_POINTS = "alma.storage"
"""Group of the entry points of other packages: name -> a `StorageFactory`."""

VECTORS = "alma.vectors"
"""Group of the entry points of searches for vectors outside of the process, beside records in SQLite: name -> a `CandidateFactory`."""

SQLITE = "sqlite"

_OTHER_SCHEMES = {"postgresql": "postgres"}


def addressed(storage: str, options: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Name and options of a store that is given by its name, or by a URL whose scheme is the name: `postgres://host/database`."""
    scheme, mark, _ = storage.partition("://")
    return (_OTHER_SCHEMES.get(scheme, scheme), {**options, "url": storage}) if mark else (storage, options)


def open_named(name: str, request: StoreRequest) -> Store:
    """The store that is asked for, of the kind of that name, made if it is not there yet.

    `ConfigurationError` for an unknown name, and for one whose package cannot be loaded; other errors as of the store itself.
    """
    if name == SQLITE:
        from alma.storage.sqlite.store import open_file

        return open_file(request)
    plugin = _points(ENTRY_POINTS).get(name)
    if plugin is None:
        raise ConfigurationError(f"storage: unknown {name[:100]!r}; there is {', '.join(storage_names())}")
    store: Store = _load(plugin)(request)
    return store


def storage_names() -> list[str]:
    """All names that a configuration may have here, SQLite first."""
    return [SQLITE, *sorted({*_points(ENTRY_POINTS), *_points(VECTORS)})]


def candidates_named(name: str) -> CandidateFactory | None:
    """The search for vectors that a storage of this name has beside SQLite; `None` for a store of another sort."""
    plugin = None if name == SQLITE or name in _points(ENTRY_POINTS) else _points(VECTORS).get(name)
    factory: CandidateFactory | None = None if plugin is None else _load(plugin)
    return factory


def _load(plugin: EntryPoint) -> Any:
    try:
        return plugin.load()
    except ImportError as error:
        raise ConfigurationError(f"storage: {plugin.name!r} ({plugin.value}) could not be loaded: {error}") from error


def _points(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group) if point.name != SQLITE}
