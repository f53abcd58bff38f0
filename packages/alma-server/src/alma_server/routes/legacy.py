"""`POST /` and `GET /health` for the published client of alma-memory, which sends JSON-RPC. New programs use `/v1`.

That client sends a call of `learn` again when no answer came in time, without a key. An outcome that is sent again by the same token counts
once if the client of the first call was gone before it was answered; equal outcomes that were answered are different attempts.
"""

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse

from alma.errors import AlmaError, ScopeViolationError, ValidationError
from alma_server.asking import Asked, AskedDep
from alma_server.problems import ProblemError
from alma_server.routes.legacy_tools import TOOLS, check_types

router = APIRouter(include_in_schema=False)

KEPT_SECONDS = 180.0
"""How long the client goes on to send a call again: four tries of 30 s, and the pauses between them."""

METHOD_UNKNOWN, PARAMETERS_WRONG = -32601, -32602
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@router.get("/health")
async def health() -> JSONResponse:
    """Answers while the server does."""
    return JSONResponse({"success": True, "status": "healthy"})


@router.post("/")
async def call_tool(request: Request, asked: AskedDep) -> JSONResponse:
    """Answers a JSON-RPC request: `tools/call`, `tools/list` or `ping`."""
    message = await _message(request)
    asking_id = message.get("id")
    if message.get("method") == "ping":
        return _result(asking_id, {})
    if message.get("method") == "tools/list":
        return _result(asking_id, {"tools": [_described(name) for name in TOOLS]})
    if message.get("method") != "tools/call":
        return _error(asking_id, METHOD_UNKNOWN, "Method not found")
    given = message.get("params")
    name, arguments = (given.get("name"), given.get("arguments", {})) if isinstance(given, dict) else (None, None)
    if not isinstance(name, str) or name not in TOOLS or not isinstance(arguments, dict):
        return _error(asking_id, PARAMETERS_WRONG, "Unknown tool")
    said = await _call(asked, name, {_HUMP.sub("_", key).lower(): value for key, value in arguments.items()})
    return _result(asking_id, {"content": [{"type": "text", "text": json.dumps(said, default=str)}]})


async def _call(asked: Asked, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns what a tool says: with `success`, and what it is about, or an `error`. A violation of the scope is raised."""
    tool = TOOLS[name]
    asked.require(tool.right)
    try:
        check_types(arguments)
        named = arguments.pop("project_id", None)
        asked = replace(asked, project=asked.access.as_project(named, default=asked.service.settings.project))
        if missing := [each for each in tool.needs if arguments.get(each) in (None, "")]:
            raise ValidationError(f"{missing[0]} cannot be empty")
        if name == "alma_learn":
            return {"success": True, **await _learn(asked, arguments)}
        way = asked.write if tool.is_write else asked.read
        return {"success": True, **await way(lambda alma: tool.call(alma, asked, arguments))}
    except ScopeViolationError:
        raise
    except AlmaError as error:
        return {"success": False, "error": str(error)}


async def _learn(asked: Asked, arguments: dict[str, Any]) -> dict[str, Any]:
    """Learns, under the key of an equal call whose client went away before it was answered, or under a new one."""
    request, retries = asked.request, _Retries.of(asked.request.app)
    sent = await retries.take(asked, arguments)
    learned = await asked.write(lambda alma: TOOLS["alma_learn"].call(alma, asked, {**arguments, "idempotency_key": sent.key}))
    sent.is_unanswered = await request.is_disconnected()
    sent.request = None
    return learned


@dataclass(slots=True)
class _Sent:
    """A call of `learn`, with its request while it runs."""

    key: str
    at: float
    request: Request | None
    is_unanswered: bool = False

    async def is_gone(self) -> bool:
        """Returns whether the client went away without an answer."""
        return self.is_unanswered or (self.request is not None and await self.request.is_disconnected())


class _Retries:
    """The calls of `learn` of the last minutes, of one process."""

    def __init__(self) -> None:
        self._known: dict[str, _Sent] = {}

    @classmethod
    def of(cls, app: FastAPI) -> "_Retries":
        """Returns those of an application."""
        if not hasattr(app.state, "retries"):
            app.state.retries = cls()
        retries: _Retries = app.state.retries
        return retries

    async def take(self, asked: Asked, arguments: Mapping[str, Any]) -> _Sent:
        """Returns a call with the key under which it is learned."""
        now = time.monotonic()
        self._known = {digest: sent for digest, sent in self._known.items() if now - sent.at < KEPT_SECONDS}
        told = json.dumps([asked.token.id, asked.project, arguments], sort_keys=True, default=str)
        digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
        before = self._known.get(digest)
        key = before.key if before is not None and await before.is_gone() else uuid4().hex
        sent = self._known[digest] = _Sent(key, now, asked.request)
        return sent


async def _message(request: Request) -> dict[str, Any]:
    try:
        message = await request.json()
        json.dumps(message.get("id"), ensure_ascii=False, allow_nan=False).encode()  # it goes back as it is
    except (AttributeError, ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise ProblemError(400, "unparsable", "the body is no JSON-RPC request")
    return message


def _described(name: str) -> dict[str, Any]:
    needs = TOOLS[name].needs
    return {"name": name, "inputSchema": {"type": "object", "properties": {each: {} for each in needs}, "required": list(needs)}}


def _result(asking_id: Any, result: dict[str, Any]) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": asking_id, "result": result})


def _error(asking_id: Any, code: int, message: str) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": asking_id, "error": {"code": code, "message": message}})
