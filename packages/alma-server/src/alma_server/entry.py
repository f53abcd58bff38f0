"""Refuses what must not reach a route: foreign hosts and origins, WebSockets, bodies that are too large, too slow or ambiguous."""

import asyncio
import json
import logging
from typing import Any, NoReturn

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alma_access.serving.hosts import Names
from alma_server.problems import Kind, problem
from alma_server.settings import ServerSettings

_TYPES = ("application/json", "application/x-ndjson")
_LOG = logging.getLogger("alma")


class Entry:
    """Passes a request on when its host and origin are allowed and its body is there: 421, 403, 413, 408, 415, 400 else, as problems.

    400 is for what two readers could take for two values: JSON with NaN or with a key twice in an object, a body with two lengths. A client that
    goes away while it sends is forgotten.
    """

    def __init__(self, app: ASGIApp, *, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings
        self._names = Names.with_loopback(settings.allowed_hosts, settings.allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._enter(scope, receive, send)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            self._check_names(headers)
            if "content-length" in headers and "transfer-encoding" in headers:
                raise _RefusedError(
                    400, "ambiguous-length", "a request has one length: leave out Content-Length", Connection="close"
                )
            if "content-length" in headers or "transfer-encoding" in headers:
                body = await self._whole_body(headers, receive)
                _check_type(headers, body)
                receive = _replayed(body, receive)
        except _RefusedError as refused:
            await problem(Request(scope), refused.kind, str(refused), headers=refused.headers)(scope, receive, send)
        except _GoneError:
            pass
        else:
            await self._app(scope, receive, send)

    def _check_names(self, headers: Headers) -> None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._names.allows_host(hosts[0]):
            _LOG.warning("refused a request for the host %s", ", ".join(hosts) or "(none)")
            raise _RefusedError(421, "invalid-host", "this server is not known by this name")
        if not all(map(self._names.allows_origin, origins)):
            _LOG.warning("refused a request of the origin %s", ", ".join(origins))
            raise _RefusedError(403, "invalid-origin", "pages of this origin are not allowed")

    async def _whole_body(self, headers: Headers, receive: Receive) -> bytes:
        stated = headers.get("content-length", "")
        if stated.isdigit() and float(stated) > self._settings.max_body:  # a float, as it may have thousands of digits
            raise self._too_large()
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                body = await self._read(receive)
        except TimeoutError:
            raise _RefusedError(408, "body-too-slow", "the body took too long", Connection="close") from None
        if reason := _ambiguity(body):
            raise _RefusedError(400, "unparsable", reason)
        return body

    async def _read(self, receive: Receive) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            body += message.get("body", b"")
            if len(body) > self._settings.max_body:
                raise self._too_large()
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> "_RefusedError":
        return _RefusedError(413, "body-too-large", f"a body has {self._settings.max_body} bytes at most", Connection="close")


def _check_type(headers: Headers, body: bytes) -> None:
    """Refuses bodies of other types than JSON and lines of JSON: forms of pages, which browsers send to any origin, among them."""
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and media_type not in _TYPES and not (media_type.startswith("application/") and media_type.endswith("+json")):
        raise _RefusedError(415, "unsupported-media-type", f"a body has one of the types {', '.join(_TYPES)}")


class _RefusedError(Exception):
    def __init__(self, status: int, name: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.kind = Kind(name, status)
        self.headers = headers


class _GoneError(Exception):
    """The client went away."""


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Returns a `receive` that gives a body that was read, then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


class _AmbiguousError(Exception):
    """JSON that its readers take for different values."""


def _ambiguity(body: bytes) -> str | None:
    """Returns why JSON is not clear; `None` also for no JSON, which a route refuses."""
    try:
        json.loads(body, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except _AmbiguousError as error:
        return str(error)
    except (ValueError, RecursionError):
        return None
    return None


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _AmbiguousError("an object has a key twice")


def _refuse_constant(name: str) -> NoReturn:
    raise _AmbiguousError(f"{name} is no JSON")
