"""Routes of the page at `/ui/`: its files, and the session for which it exchanges a one-time code."""

import gzip
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import Field

from alma.types.identity import UtcDatetime, from_micros
from alma_access.serving.hosts import is_same_origin
from alma_server.problems import ProblemError
from alma_server.routes.answers import Answer
from alma_server.routes.bodies import Body
from alma_server.service import Service

STATIC = Path(__file__).parent / "static"
"""Folder of the page's files, which its sources in `packages/alma-server/ui` are built into."""

INDEX = "index.html"

router = APIRouter(prefix="/ui")
root_router = APIRouter()

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@dataclass(frozen=True, slots=True)
class Asset:
    """File of the page, also as gzip."""

    content: bytes
    packed: bytes
    media_type: str


class Code(Body):
    """One-time code of `alma ui`."""

    code: Annotated[str, Field(max_length=200)]


class Session(Answer):
    """Token of a session of the page. Its secret is shown only now."""

    token: str
    name: str
    expires: UtcDatetime


@router.post("/session", operation_id="begin_session", tags=["service"])
async def begin_session(body: Code, request: Request) -> Session:
    """Exchanges a one-time code of `alma ui`, within a minute and once, for a token of 12 hours that judges as a person. Only the page itself
    and programs may ask, no page of another origin."""
    _check_origin(request)
    service: Service = request.app.state.service
    sessions = service.sessions
    if sessions is None:
        raise ProblemError(501, "no-token-file", "the tokens of this server are given by its environment")
    code = sessions.find(body.code)
    begun = None if code is None else await service.work.writes.run(lambda: sessions.begin(code))
    if begun is None:
        raise ProblemError(401, "code-refused", "this code was used, or is too old; run `alma ui` again")
    secret, token = begun
    return Session(token=secret, name=token.name, expires=from_micros(token.expires or 0))


@root_router.get("/", include_in_schema=False)
async def enter(request: Request) -> Response:
    """Leads a browser to the page. A program gets the addresses of the page and of the document of the API."""
    root = request.scope.get("root_path", "")
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse(f"{root}/ui/", status_code=303)
    return JSONResponse({"page": f"{root}/ui/", "openapi": f"{root}/openapi.json"})


@router.get("", include_in_schema=False)
async def to_page(request: Request) -> RedirectResponse:
    """Leads to the page, whose addresses are relative to its folder."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}/ui/", status_code=308)


@router.get("/", include_in_schema=False)
async def index(request: Request) -> Response:
    """Returns the page."""
    return _answer(request, INDEX)


@router.get("/{name}", include_in_schema=False)
async def asset(name: str, request: Request) -> Response:
    """Returns a file of the page, whose name changes with its content."""
    return _answer(request, name, **({} if name == INDEX else _FOR_EVER))


@cache
def assets() -> dict[str, Asset]:
    """Returns the files of the page by name."""
    files = (file for file in STATIC.iterdir() if file.suffix in _TYPES)
    return {file.name: _read(file) for file in files}


def _read(file: Path) -> Asset:
    content = file.read_bytes()
    return Asset(content, gzip.compress(content, mtime=0), _TYPES[file.suffix])


def _answer(request: Request, name: str, **headers: Any) -> Response:
    found = assets().get(name)
    if found is None:
        raise ProblemError(404, "not-found", "the page has no such file")
    headers["Vary"] = "Accept-Encoding"
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(found.content, media_type=found.media_type, headers=headers)
    return Response(found.packed, media_type=found.media_type, headers={**headers, "Content-Encoding": "gzip"})


def _check_origin(request: Request) -> None:
    """Refuses the pages of other origins, of other ports of this machine, too."""
    site, origin, host = (request.headers.get(name) for name in ("sec-fetch-site", "origin", "host"))
    if site is None:  # nothing but the address tells, with its port
        is_own = origin is None or origin.partition("://")[2].lower() == (host or "").lower()
    else:
        is_own = site == "same-origin" and (origin is None or is_same_origin(origin, host or ""))
    if not is_own:
        raise ProblemError(403, "invalid-origin", "only the page of this server begins a session")
