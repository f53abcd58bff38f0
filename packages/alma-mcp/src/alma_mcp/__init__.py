"""ALMA for the Model Context Protocol: a memory as tools, resources and prompts of an MCP server."""

from typing import TYPE_CHECKING

from alma.extensions import late_names
from alma_access import ANY, NONE, Access
from alma_mcp.command import main

if TYPE_CHECKING:
    from alma_mcp.http import http_app
    from alma_mcp.server import create_server

__all__ = ["ANY", "NONE", "Access", "__version__", "create_server", "http_app", "main"]

__version__ = "0.1.0"

__getattr__ = late_names("alma_mcp", {"create_server": "alma_mcp.server", "http_app": "alma_mcp.http"})
