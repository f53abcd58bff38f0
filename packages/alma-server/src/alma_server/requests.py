"""Outermost part of the application: an id for each request, one line of log, figures, and an answer to what nobody caught."""

import json
import logging
import re
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from secrets import token_hex
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alma_server.addresses import path_below
from alma_server.metrics import Metrics
from alma_server.problems import Kind, problem

LOG = logging.getLogger("alma.server.requests")
"""Logger of one JSON line a request, at level INFO."""
_ERRORS = logging.getLogger("alma")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?", re.ASCII)
_ALWAYS = ((b"x-content-type-options", b"nosniff"),)
_UNLESS_SET = (b"cache-control", b"no-store")


class Requests:
    """Gives each request an id, or keeps a plain `X-Request-ID` of the client; logs and counts it when its answer ended.

    The line has neither bodies nor query strings, and of the token its name.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope["alma.request_id"] = _request_id(headers.get("x-request-id", ""))
        scope["path"] = scope["alma.path"] = path_below(scope.get("root_path", ""), scope["path"])
        answer = _Answer(scope, send)
        began = time.perf_counter()
        try:
            with self._metrics.in_flight(), _trace(headers):
                await self._run(scope, receive, answer)
        finally:
            self._record(scope, headers, answer.status, time.perf_counter() - began)

    async def _run(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        try:
            await self._app(scope, receive, answer.send)
        except Exception:
            _ERRORS.exception("request %s failed", scope["alma.request_id"])
            if answer.status:
                raise
            said = "the server failed; its log has the request's id"
            await problem(Request(scope), Kind("internal", 500), said)(scope, receive, answer.send)

    def _record(self, scope: Scope, headers: Headers, status: int, seconds: float) -> None:
        route = _template(scope)
        self._metrics.count_request(scope["method"], route, status, seconds)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info(json.dumps(_line(scope, headers, route, status, seconds)))


def _template(scope: Scope) -> str:
    """Returns the address of a request's route, "" if there is none. Newer versions of FastAPI keep the prefix of a router apart."""
    path: str = getattr(scope.get("route"), "path", "")
    return f"/v1{path}" if path and scope["path"].startswith("/v1/") and not path.startswith("/v1/") else path


def _line(scope: Scope, headers: Headers, route: str, status: int, seconds: float) -> dict[str, Any]:
    line: dict[str, Any] = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "id": scope["alma.request_id"],
        "token": scope.get("alma.token"),
        "method": scope["method"],
        "route": route or None,
        "status": status or 499,  # the client went away before the answer
        "ms": round(seconds * 1000, 2),
    }
    if "alma.seq" in scope:
        line["seq"] = scope["alma.seq"]
    if trace := _TRACEPARENT.fullmatch(headers.get("traceparent", "")):
        line["trace"] = trace[1]
    return line


class _Answer:
    """Status of an answer, and its headers with those that a request got on its way."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.status = 0
        self._scope = scope
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), *_ALWAYS, *self._scope.get("alma.headers", ())]
            headers += [(name, value.encode("latin-1")) for name, value in self._scope.get("alma.limits", ())]
            headers.append((b"x-request-id", self._scope["alma.request_id"].encode("ascii")))
            if all(name != b"cache-control" for name, _ in headers):
                headers.append(_UNLESS_SET)
            message = {**message, "headers": headers}
        await self._send(message)


def _request_id(stated: str) -> str:
    return stated if _REQUEST_ID.fullmatch(stated) else token_hex(8)


def _trace(headers: Headers) -> AbstractContextManager[object]:
    """Returns a context in which spans of OpenTelemetry belong to the client's, where the program uses it and the client has one."""
    if "opentelemetry.sdk" not in sys.modules or "traceparent" not in headers:
        return nullcontext()
    from alma_server.tracing import joined

    return joined(headers)
