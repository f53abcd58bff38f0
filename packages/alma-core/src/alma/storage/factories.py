"""Stores by name: SQLite, files, and those of other packages."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from alma.errors import ConfigurationError
from alma.protocols import StorageFactory, Store, StoreRequest

ENTRY_POINTS = "alma.storage"
"""Group of the entry points of other packages: name -> a `StorageFactory`."""

SQLITE = "sqlite"
FILE = "file"
BUILT_IN = (SQLITE, FILE)

_OTHER_SCHEMES = {"postgresql": "postgres"}


def addressed(storage: str, options: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Name and options of a store that is given by its name, or by a URL whose scheme is the name: `postgres://host/database`."""
    scheme, mark, _ = storage.partition("://")
    return (_OTHER_SCHEMES.get(scheme, scheme), {**options, "url": storage}) if mark else (storage, options)


def open_named(name: str, request: StoreRequest) -> Store:
    """The store that is asked for, of the kind of that name, made if it is not there yet.

    `ConfigurationError` for an unknown name, and for one whose package cannot be loaded; other errors as of the store itself.
    """
    return _factory(name)(request)


def storage_names() -> list[str]:
    """All names that `open_named` takes here: the built-in ones first."""
    return [*BUILT_IN, *sorted(_plugins())]


def _factory(name: str) -> StorageFactory:
    if name == SQLITE:
        from alma.storage.sqlite.store import open_file

        return open_file
    if name == FILE:
        from alma.storage.file.store import open_files

        return open_files
    plugin = _plugins().get(name)
    if plugin is None:
        raise ConfigurationError(f"storage: unknown {name[:100]!r}; there is {', '.join(storage_names())}")
    try:
        factory: StorageFactory = plugin.load()
    except ImportError as error:
        raise ConfigurationError(f"storage: {name!r} ({plugin.value}) could not be loaded: {error}") from error
    return factory


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS) if point.name not in BUILT_IN}
