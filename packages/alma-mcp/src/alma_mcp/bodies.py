"""Reads the bodies of HTTP requests before anything else does, so that a slow or vanished client holds up nothing."""

import json
from typing import Any, NoReturn

import anyio
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_SECONDS = 30.0
"""How long a client may take to send the body of a request."""


class WholeBody:
    """Passes a request on when its body is there. 408 for a body that takes longer than `seconds`, 413 for one of more than `largest` bytes,
    400 for JSON that two readers could take for two messages: with a key twice in an object, NaN, or a request with an `id` that is none.

    A client that goes away while it sends is forgotten.
    """

    def __init__(self, app: ASGIApp, *, largest: int, seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._largest = largest
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
            await PlainTextResponse("A request has one length: leave out Content-Length", 400, {"Connection": "close"})(
                scope, receive, send
            )
            return
        if _declared(scope) > self._largest:
            await PlainTextResponse("Request body too large", 413)(scope, receive, send)
            return
        body, is_whole = bytearray(), False
        with anyio.move_on_after(self._seconds) as limit:
            while not is_whole:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                body += message.get("body", b"")
                is_whole = not message.get("more_body", False)
                if len(body) > self._largest:
                    await PlainTextResponse("Request body too large", 413)(scope, receive, send)
                    return
        if limit.cancelled_caught:
            await PlainTextResponse("Request body too slow", 408, {"Connection": "close"})(scope, receive, send)
            return
        if reason := _ambiguity(bytes(body)):
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": f"Parse error: {reason}"}}
            await JSONResponse(error, 400)(scope, receive, send)
            return
        await self._app(scope, _replayed(bytes(body), receive), send)


def _declared(scope: Scope) -> float:
    """Returns the length that the header of a request states, 0 if it states none. A float, as it may have thousands of digits."""
    stated = dict(scope["headers"]).get(b"content-length", b"")
    return float(stated) if stated.isdigit() else 0


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Returns a `receive` that gives a body that was read, then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


class _Ambiguous(Exception):  # noqa: N818 - caught here
    """JSON that its readers take for different values."""


def _ambiguity(body: bytes) -> str | None:
    """Returns why a body is no clear message; `None` also for no JSON, which the server refuses."""
    try:
        message = json.loads(body, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except _Ambiguous as error:
        return str(error)
    except (ValueError, RecursionError):
        return None
    if isinstance(message, dict) and "method" in message and type(message.get("id", "")) not in (str, int):
        return "id must be a text or a whole number"
    return None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Ambiguous("an object has a key twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise _Ambiguous(f"{name} is no JSON")
