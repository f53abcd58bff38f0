"""The OpenAPI document: what FastAPI says of the routes, with the one shape of errors for all of them."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance", "request_id"],
    "properties": {
        "type": {"type": "string", "examples": ["/problems/scope-violation"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}
"""Schema of a problem (RFC 9457)."""

_ANSWER = {
    "description": "Why nothing was done",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_ERRORS = {"4XX": {"$ref": "#/components/responses/Problem"}, "5XX": {"$ref": "#/components/responses/Problem"}}
_DESCRIPTION = "Memory that learns from outcomes. Before a task retrieve, after it learn."


def describe(app: FastAPI) -> dict[str, Any]:
    """Returns the OpenAPI document of an application."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=_DESCRIPTION,
        license_info={"name": "MIT", "identifier": "MIT"},
        routes=app.routes,
        separate_input_output_schemas=app.separate_input_output_schemas,
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["Problem"] = PROBLEM
    components["responses"] = {"Problem": _ANSWER}
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"].update(_ERRORS)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return document


def describe_once(app: FastAPI) -> None:
    """Gives an application its document when it is first asked for."""

    def document() -> dict[str, Any]:
        app.openapi_schema = app.openapi_schema or describe(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign] # as FastAPI documents it
