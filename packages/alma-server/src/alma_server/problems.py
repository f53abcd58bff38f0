"""Errors as `application/problem+json` (RFC 9457): which error has which status, and one shape for all."""

import errno
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from alma import errors

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of problem: its name in `/problems/NAME`, and the status of its answers."""

    name: str
    status: int


KINDS: dict[type[errors.AlmaError], Kind] = {
    errors.ValidationError: Kind("validation", 422),
    errors.ConfigurationError: Kind("configuration", 500),
    errors.MissingDependencyError: Kind("missing-dependency", 501),
    errors.ScopeViolationError: Kind("scope-violation", 403),
    errors.MemoryNotFoundError: Kind("not-found", 404),
    errors.ConflictError: Kind("conflict", 409),
    errors.EmbeddingError: Kind("embedding", 502),
    errors.EmbedderMismatchError: Kind("embedder-mismatch", 409),
    errors.StorageError: Kind("storage", 503),
    errors.CorruptStoreError: Kind("corrupt-store", 503),
}
"""Kinds of the errors that ALMA raises. An error of a class without an entry has the kind of its nearest base."""


class ProblemError(Exception):
    """Problem of the server itself, with the status of its answer and headers."""

    def __init__(self, status: int, name: str, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.kind = Kind(name, status)
        self.headers = headers


def problem(
    request: Request, kind: Kind, detail: str, *, headers: Mapping[str, str] | None = None, errors: list[Any] | None = None
) -> JSONResponse:
    """Returns the answer that states a problem."""
    body: dict[str, Any] = {
        "type": f"/problems/{kind.name}",
        "title": _phrase(kind.status),
        "status": kind.status,
        "detail": detail,
        "instance": request.scope.get("root_path", "") + request.scope.get("alma.path", request.scope["path"]),
        "request_id": request.scope.get("alma.request_id", ""),
    }
    if errors:
        body["errors"] = errors
    return JSONResponse(body, kind.status, headers=headers, media_type=MEDIA_TYPE)


def kind_of(error: errors.AlmaError) -> Kind:
    """Returns the kind of an error: that of its class, or of the nearest base with an entry; 507 if a full disk is behind it."""
    if isinstance(error, errors.StorageError) and _is_for_full_disk(error):
        return Kind("disk-full", 507)
    return next((KINDS[each] for each in type(error).__mro__ if each in KINDS), Kind("internal", 500))


def handle_problems(app: FastAPI) -> None:
    """Gives every error of an application the one shape."""

    @app.exception_handler(errors.AlmaError)
    async def of_alma(request: Request, error: errors.AlmaError) -> JSONResponse:
        kind = kind_of(error)
        return problem(request, kind, str(error), headers={"Retry-After": "1"} if kind.status == 503 else None)

    @app.exception_handler(ProblemError)
    async def of_server(request: Request, error: ProblemError) -> JSONResponse:
        return problem(request, error.kind, str(error), headers=error.headers)

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> JSONResponse:
        name = _phrase(error.status_code).lower().replace(" ", "-")
        return problem(request, Kind(name, error.status_code), str(error.detail), headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def of_body(request: Request, error: RequestValidationError) -> JSONResponse:
        found = [{"pointer": _pointer(each["loc"]), "detail": each["msg"]} for each in error.errors()]
        if any(each["type"] == "json_invalid" for each in error.errors()):
            return problem(request, Kind("unparsable", 400), "the body is no JSON")
        return problem(request, Kind("validation", 422), "the request is not acceptable", errors=found)


def _is_for_full_disk(error: BaseException | None) -> bool:
    while error is not None:
        is_full_database = isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        if is_full_database or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)):
            return True
        error = error.__cause__
    return False


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Client Closed Request"


def _pointer(location: tuple[Any, ...]) -> str:
    """Returns the JSON pointer of a place in a body, or the name of a parameter after its sort, as `query/limit`."""
    sort, *path = location
    steps = "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return f"/{steps}" if sort == "body" else f"{sort}/{steps}"
