"""ALMA as a service: the HTTP API of a memory, with events, webhooks and health."""

from typing import TYPE_CHECKING

from alma.extensions import late_names

if TYPE_CHECKING:
    from alma_server.app import create_app
    from alma_server.settings import ServerSettings

__all__ = ["ServerSettings", "__version__", "create_app"]

__version__ = "0.1.0"

__getattr__ = late_names("alma_server", {"create_app": "alma_server.app", "ServerSettings": "alma_server.settings"})
