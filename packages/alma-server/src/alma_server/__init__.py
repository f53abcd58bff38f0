"""ALMA as a service: the HTTP API of a memory, with events, webhooks and health."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma_server.app import create_app
    from alma_server.settings import ServerSettings

__all__ = ["ServerSettings", "__version__", "create_app"]

__version__ = "0.1.0"

_HOMES = {"create_app": "alma_server.app", "ServerSettings": "alma_server.settings"}


def __getattr__(name: str) -> Any:
    """Loads the web framework when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'alma_server' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value
