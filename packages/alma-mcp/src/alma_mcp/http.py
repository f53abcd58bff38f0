"""The server over streamable HTTP: bearer tokens, allowed hosts and origins, a limit on the size of requests."""

import logging
from collections.abc import Sequence
from typing import Any

from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from alma_access import ANY, Tokens
from alma_access.serving.hosts import Names
from alma_mcp.bodies import WholeBody
from alma_mcp.limits import MAX_BODY

_LOG = logging.getLogger("alma")

PATH = "/mcp"


def http_app(
    server: "MCPServer[Any]",
    tokens: Tokens,
    *,
    project: str = ANY,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    max_body: int = MAX_BODY,
    keeps_sessions: bool = True,
) -> ASGIApp:
    """Returns the ASGI application that serves a server at `/mcp` to clients with one of the tokens, which are asked for at each request.

    A request from another origin is refused with 403, one for another host with 421, one without a valid token with 401, one that is too
    large with 413, one that takes too long to arrive with 408. Loopback names are always allowed as hosts, and as origins. Each token acts
    as the agent and the user that it is bound to, with its rights. A token that is bound to projects is accepted only where `project` names
    one of them.

    Clients of the protocol before 2026 have sessions, which one process keeps. Without `keeps_sessions` they have none, and several processes may
    serve them.
    """
    names = Names.with_loopback(allowed_hosts, allowed_origins)
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the guard checks names by their parts
    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=max_body,
        transport_security=unchecked,
        stateless_http=not keeps_sessions,
        session_idle_timeout=3600.0 if keeps_sessions else None,
    )
    authenticated = AuthenticationMiddleware(
        AuthContextMiddleware(RequireAuthMiddleware(WholeBody(inner, largest=max_body), [])),
        backend=BearerAuthBackend(_Verifier(tokens, project)),
    )
    return _Guard(inner, authenticated, names)


class _Verifier:
    """Finds the token that a client sent among the valid ones that reach the project of the server."""

    def __init__(self, tokens: Tokens, project: str) -> None:
        self._tokens = tokens
        self._project = project

    async def verify_token(self, token: str) -> AccessToken | None:
        found = self._tokens.find(token)
        if found is None:
            _LOG.warning("refused a request: %s", self._tokens.refusal(token))
            return None
        if not found.access.reaches(self._project):
            _LOG.warning("refused a request: the token %r is for another project", found.name)
            return None
        return AccessToken(token=found.sha256, client_id=found.name, scopes=[], claims={"access": found.access})


class _Guard:
    """Refuses foreign hosts and origins before anything else is looked at, and WebSockets. The start and the end of the process pass."""

    def __init__(self, inner: Starlette, authenticated: ASGIApp, names: Names) -> None:
        self._inner = inner
        self._authenticated = authenticated
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await (self._refusal(Headers(scope=scope)) or self._authenticated)(scope, receive, send)

    def _refusal(self, headers: Headers) -> ASGIApp | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._names.allows_host(hosts[0]):
            _LOG.warning("refused a request for the host %s", ", ".join(hosts) or "(none)")
            return PlainTextResponse("Invalid Host header", 421)
        if not all(map(self._names.allows_origin, origins)):
            _LOG.warning("refused a request of the origin %s", ", ".join(origins))
            return PlainTextResponse("Invalid Origin header", 403)
        return None
