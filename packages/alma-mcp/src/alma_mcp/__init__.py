"""ALMA for the Model Context Protocol: a memory as tools, resources and prompts of an MCP server."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from alma_access import ANY, NONE, Access
from alma_mcp.command import main

if TYPE_CHECKING:
    from alma_mcp.http import http_app
    from alma_mcp.server import create_server

__all__ = ["ANY", "NONE", "Access", "__version__", "create_server", "http_app", "main"]

__version__ = "0.1.0"

_HOMES = {"create_server": "alma_mcp.server", "http_app": "alma_mcp.http"}


def __getattr__(name: str) -> Any:
    """Loads the protocol's library when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'alma_mcp' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value
