"""Addresses of a project's routes for tokens that are bound to one project, without the project's name."""

from starlette.types import ASGIApp, Receive, Scope, Send

_PREFIX = "/v1/"
_BARE = "/v1/projects/-/"


class BareAddresses:
    """Reads `/v1/retrieve` as `/v1/projects/NAME/retrieve`, with the one project that the token is bound to.

    `apart` are the first parts of addresses that belong to no project, as `whoami`.
    """

    def __init__(self, app: ASGIApp, *, apart: frozenset[str]) -> None:
        self._app = app
        self._apart = apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if path.startswith(_PREFIX):
            rest = path.removeprefix(_PREFIX)
            if rest.partition("/")[0] not in self._apart:
                scope["path"], scope["alma.is_bare"] = _BARE + rest, True
        await self._app(scope, receive, send)
