"""Addresses: names in them that contain a slash, and routes of a project without the project's name."""

import re
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

_PREFIX = "/v1/"
_BARE = "/v1/projects/-/"
_SLASH = "\udc2f"
"""Stands for `%2F` until a route is found: no path that was decoded contains a lone surrogate."""
_ENCODED_SLASH = re.compile(b"%2f", re.IGNORECASE)


class Addresses:
    """Reads `/v1/retrieve` as `/v1/projects/NAME/retrieve`, with the one project that the token is bound to, and `%2F` as a part of a name.

    `apart` are the first parts of addresses that belong to no project, as `whoami`.
    """

    def __init__(self, app: ASGIApp, *, apart: frozenset[str]) -> None:
        self._app = app
        self._apart = apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path", "").startswith(_PREFIX):
            path = scope["path"] = scope["alma.marked"] = _mark_slashes(scope)
            rest = path.removeprefix(_PREFIX)
            if rest.partition("/")[0] not in self._apart:
                scope["path"], scope["alma.is_bare"] = _BARE + rest, True
        await self._app(scope, receive, send)


def read_slashes(request: Request) -> None:
    """Puts slashes into the names of a request's path, before a route reads them."""
    names = request.scope["path_params"]
    if _SLASH in request.scope["path"]:
        request.scope["path_params"] = {key: value.replace(_SLASH, "/") for key, value in names.items()}


def address_of(scope: Scope) -> str:
    """Returns the address of a request as its client knows it, encoded, without the query."""
    path = scope.get("alma.marked", scope["alma.path"])
    return "%2F".join(quote(part) for part in f"{scope.get('root_path', '')}{path}".split(_SLASH))


def path_below(root: str, path: str) -> str:
    """Returns a path below the one under which a proxy shows the server, which some proxies leave and others take away."""
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def _mark_slashes(scope: Scope) -> str:
    raw: bytes | None = scope.get("raw_path")
    if raw is None:
        return str(scope["path"])
    parts = _ENCODED_SLASH.split(raw)
    return path_below(scope.get("root_path", ""), _SLASH.join(unquote(part.decode("latin-1")) for part in parts))
