"""Reads from a tool's result whether the call succeeded. Precision goes before recall: in doubt it succeeded.

Explicit signs decide: a returned exception, an error flag, an exit status, an HTTP status, `ok` and `success`. Otherwise JSON failed if
it only reports an error (`error_reports`), and a text if it is itself one (`error_texts`). A record that *has* an error (a failed
payment, a ticket), rows, hits and partial results succeeded. A test run, a compiler or a linter whose last line counts failures in its
own form failed, because its exit status is not 0; a mere count ("3 failed") is an answer.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from alma.text import storable
from alma_integration.attributes import attributes_of, part_of
from alma_integration.error_reports import MEMBERS, is_error_report, members_of, said, stated
from alma_integration.error_texts import HEAD_CHARS, TAIL_CHARS, error_in

ERROR_CHARS = 2_000
"""Longest error of a verdict, in characters."""

TEXT_CHARS = 4_000
"""Longest text of an answer, in characters."""

JSON_CHARS = 50_000
"""A longer text is not parsed as JSON."""

DEPTH = 4
"""Depth to which a structure is examined."""

_WIDTHS = (0, 5, 10, 40, MEMBERS)
"""Number of members written per level, the deepest level first."""

_UNSAID = "failed without a message"
_CONTENTS = ("rawoutput", "content", "structuredcontent", "text")
_READ = ("content", "text", "body", "stdout", "stderr", "rawoutput")
_WRAPPERS = frozenset(("result", "output", "response", "content", "structuredcontent", "text"))
_BESIDE = frozenset(("iserror", "meta", "type", "role", "name", "toolcallid"))
_PYTHON_REPORT = re.compile(r"\{'(?:error|err)': (?:\"[^\"]|'[^']|\{['\"](?:message|code|type))|\{'(?:ok|success)': False\b")


@dataclass(frozen=True, slots=True)
class ToolVerdict:
    """Verdict on a call. If it failed, `error` is the message, at most `ERROR_CHARS` characters."""

    ok: bool
    error: str | None = None


def tool_verdict(result: object) -> ToolVerdict:
    """Returns the verdict on a tool's result of any type. Never raises, and does bounded work.

    Methods of the value's class may be called for the members that are read; members that cannot be read show no failure.
    """
    try:
        error = _error(result, DEPTH)
        return ToolVerdict(True) if error is None else ToolVerdict(False, _bounded(error, ERROR_CHARS) or _UNSAID)
    except Exception:  # noqa: BLE001 - the methods of a caller's class
        return ToolVerdict(True)


def answer_text(result: object) -> str:
    """Returns the text of a tool's result as a person would read it, at most `TEXT_CHARS` characters. Never raises."""
    try:
        return _bounded(_read(result), TEXT_CHARS)
    except Exception:  # noqa: BLE001 - the methods of a caller's class
        return f"a value of type {type(result).__name__}"[:TEXT_CHARS]


def _error(value: object, depth: int) -> str | None:
    """Returns the message of a failure, empty if there is none, or `None` for an answer that succeeded or is nested too deeply."""
    if value is None or isinstance(value, int | float | complex) or depth == 0:
        return None
    if isinstance(value, bytes | bytearray | memoryview):
        value = _decoded(value)
    if isinstance(value, str):
        return _error_of_text(value, depth)
    if isinstance(value, Mapping):
        return _error_of_mapping(value, depth)
    if isinstance(value, list | tuple):
        return _error_of_list(value, depth)
    return _raised(value) if isinstance(value, BaseException) else _error_of_object(value, depth)


def _error_of_text(text: str, depth: int) -> str | None:
    parsed = _parsed(text)
    if parsed is not None:
        return _error(parsed, depth)
    return text if _PYTHON_REPORT.match(text) else error_in(text)


def _error_of_mapping(mapping: Mapping[Any, object], depth: int) -> str | None:
    members = members_of(mapping)
    is_well = stated(members)
    if is_well is False or (is_well is None and is_error_report(members)):
        return said(members)
    wrapped = [] if is_well or members.keys() - _WRAPPERS - _BESIDE else [members[name] for name in members if name in _WRAPPERS]
    return _first_error(wrapped, depth - 1)


def _error_of_list(values: Sequence[object], depth: int) -> str | None:
    """Judges parts of a message by their text. Rows and hits show no failure; a single item that is flagged or has a code does."""
    if texts := _texts_of_parts(values):
        return _error_of_text("\n".join(texts), depth)
    if len(values) != 1 or not isinstance(values[0], Mapping):
        return None
    members = members_of(values[0])
    has_code = "errorcode" in members or isinstance(members.get("error"), Mapping)
    is_report = members.get("iserror") is True or (has_code and is_error_report(members))
    return said(members) if is_report else None


def _error_of_object(value: object, depth: int) -> str | None:
    members = attributes_of(value)
    is_well = stated(members)
    is_failed_message = members.get("status") == "error" and "content" in members
    if is_well is False or is_failed_message or isinstance(members.get("exception"), BaseException):
        return _said_by(members)
    if is_well is None and members.get("error") and is_error_report(members):
        return _said_by(members)
    if isinstance(body := members.get("body"), str):
        return _error(_parsed(body), depth - 1)  # a page that was delivered is no error, whatever its text
    return None if is_well else _first_error([members[name] for name in _CONTENTS if name in members], depth - 1)


def _first_error(values: Sequence[object], depth: int) -> str | None:
    return next((error for value in values if (error := _error(value, depth)) is not None), None)


def _said_by(members: Mapping[str, object]) -> str:
    """Returns the message in an object's attributes, including the parts of its content as text; of a response the status with its
    body."""
    if isinstance(body := members.get("body"), str):
        parsed = _parsed(body)
        message = said(members_of(parsed)) if isinstance(parsed, dict) else error_in(body) or body
        return f"HTTP {members['statuscode']}: {message}".rstrip(": ")
    content = members.get("content")
    parts = _texts_of_parts(content) if isinstance(content, list | tuple) else []
    return said({**members, "content": "\n".join(parts)} if parts else members)


def _raised(error: BaseException) -> str:
    """Returns the exception as a traceback ends, with what a process wrote to stderr, if it was one."""
    stderr = getattr(error, "stderr", None)
    message = stderr if isinstance(stderr, str) and stderr.strip() else str(error)
    return f"{type(error).__name__}: {message}".rstrip(": ")


def _parsed(text: str) -> dict[object, object] | list[object] | None:
    """Returns the object or array of a JSON text."""
    if len(text) > JSON_CHARS or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _decoded(data: bytes | bytearray | memoryview) -> str:
    """Decodes the beginning and the end, as much as is examined."""
    if len(data) <= JSON_CHARS:
        return bytes(data).decode(errors="replace")
    return f"{bytes(data[: 2 * HEAD_CHARS]).decode(errors='replace')}\n{bytes(data[-TAIL_CHARS:]).decode(errors='replace')}"


def _texts_of_parts(values: Sequence[object]) -> list[str]:
    """Returns the texts of the parts of a message; none if a value is no part."""
    texts = list[str]()
    for value in values[:MEMBERS]:
        part = value if isinstance(value, Mapping) else part_of(value)
        kind, text = part.get("type"), part.get("text")
        if not isinstance(kind, str):
            return []
        if kind == "text" and isinstance(text, str):
            texts.append(text[:JSON_CHARS])
    return texts


def _read(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value[: 2 * TEXT_CHARS]
    if isinstance(value, bytes | bytearray | memoryview):
        return _decoded(value)
    if isinstance(value, BaseException):
        return _raised(value)
    if isinstance(value, list | tuple) and (texts := _texts_of_parts(value)):
        return "\n".join(texts)
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(_pruned(value, DEPTH), ensure_ascii=False)
    members = attributes_of(value)
    given = [members[name] for name in _READ if name in members]
    return next((text for one in given if (text := _read(one))), "") if given else str(value)


def _pruned(value: object, depth: int) -> object:
    """Returns a small JSON value with the beginning of a large one."""
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return value[:TEXT_CHARS]
    if isinstance(value, Mapping) and depth:
        return {str(key)[:TEXT_CHARS]: _pruned(one, depth - 1) for key, one in islice(value.items(), _WIDTHS[depth])}
    if isinstance(value, list | tuple) and depth:
        return [_pruned(one, depth - 1) for one in value[: _WIDTHS[depth]]]
    return "…" if isinstance(value, Mapping | list | tuple) else str(value)[:TEXT_CHARS]


def _bounded(text: str, limit: int) -> str:
    return storable(text[: limit + 1], limit)
