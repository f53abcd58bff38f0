"""The OpenAPI document of a server that has no memory."""

from typing import Any

from alma.errors import ConfigurationError
from alma_access import GivenTokens
from alma_server.app import create_app


def api_document() -> dict[str, Any]:
    """Returns the document of the API with all its routes, without a store."""

    def open_nothing(project: str) -> Any:
        raise ConfigurationError(f"the document needs no memory of {project}")

    return create_app(open_nothing, GivenTokens(())).openapi()
