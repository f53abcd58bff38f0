"""Versions of what an answer shows: `ETag`, `If-None-Match` and `If-Match`."""

import hashlib
import json
from typing import Any

from alma_server.asking import Asked
from alma_server.problems import ProblemError


def content_tag(answer: Any) -> str:
    """Returns the entity tag of an answer as JSON values: equal for equal content."""
    content = json.dumps(answer, sort_keys=True, separators=(",", ":"), default=str).encode("utf-8", "surrogatepass")
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def show_tag(asked: Asked, answer: Any) -> bool:
    """Adds the tag of an answer to its headers. Returns True if the client has that content already: answer 304 then, without a body."""
    tag = content_tag(answer)
    asked.respond("ETag", tag)
    return _names(asked.request.headers.get("if-none-match"), tag, weak=True)


def check_match(asked: Asked, current: Any) -> None:
    """Raises `ProblemError` 412 if the client states by `If-Match` that it knows another content than the current one."""
    stated = asked.request.headers.get("if-match")
    if stated is not None and not _names(stated, content_tag(current), weak=False):
        raise ProblemError(412, "changed-meanwhile", "what is stored has changed since; read it again")


def _names(stated: str | None, tag: str, *, weak: bool) -> bool:
    if stated is None:
        return False
    named = [each.strip() for each in stated.split(",")]
    return "*" in named or tag in (each.removeprefix("W/") if weak else each for each in named)
