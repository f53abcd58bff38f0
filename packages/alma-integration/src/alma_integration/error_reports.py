"""Recognises JSON that reports the failure of a call. A record that merely has an error, or counts errors, is no such report.

Names of members are compared in lower case, without `_`, `-` and spaces: `isError`, `is_error` and `Error Message` are `iserror` and
`errormessage`.
"""

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from itertools import islice

from alma_integration.error_texts import TAIL_CHARS, conclusion

MEMBERS = 60
"""Limit on the members of a mapping that are examined."""

_NAME_CHARS, _CODE_CHARS = 40, 3
_BEYOND_HTTP = 600
_LOOKED_INTO = 10
_EXIT = ("exitcode", "returncode", "exitstatus")
_FLAGS = ("ok", "success", "succeeded")
_HTTP = ("statuscode", "httpstatus", "httpstatuscode", "httpcode")
_CODES = (*_HTTP, "status", "code", "cod", "errorcode")
_RAISED = ("exception", "fault")
_ERRORS = ("error", "err", "errormessage", "errormessages", "errormsg", "errmsg", "errordescription", "functionerror", *_RAISED)
_SAID = ("message", "msg", "detail", "details", "description", "reason", "title", "statustext", "faultstring", "evalue", "value")
_OUTPUT = ("stdout", "output", "body", "text", "content", "structuredcontent", "payload")
_MESSAGE_NAMES = ("stderr", *_ERRORS, "errors", *_SAID, *_OUTPUT)
_PAYLOAD = ("data", "result", "results", "rows", "items", "records", "value")
_ABOUT = """
    type object outputtype kind apiversion metadata name category errortype ename stack stacktrace traceback path url instance method timestamp
    time timing duration documentationurl moreinfo help hint links requestid correlationid traceid debugid jsonrpc id iserror codename servedby
    retryafter passed outcome summary
"""
_ENVELOPE = frozenset((*_MESSAGE_NAMES, *_PAYLOAD, *_CODES, *_EXIT, *_FLAGS, *_ABOUT.split()))
_RECORD = ("id", "count", "total", "occurrences", "level", "severity")
_FAILED = frozenset(("error", "errored", "fail", "failed", "failure"))
_NOTHING = frozenset(("", "none", "null", "nil", "no", "false", "0", "ok", "success", "n/a", "no error", "no errors"))
_PHRASES = frozenset(status.phrase.lower() for status in HTTPStatus if status >= 400)

_REFUSES = re.compile(
    r"(?:Not|Invalid|Missing|Incorrect|Unknown) |.{0,60}\b(?:not (?:found|provided|allowed|permitted|authorized)|denied|expired|is required)\b"
)
"""Matches what a service says that refuses a request."""

Members = Mapping[str, object]


def members_of(value: Mapping[object, object]) -> dict[str, object]:
    """Returns the first members by their normalised names."""
    named = ((key, member) for key, member in islice(value.items(), MEMBERS) if isinstance(key, str))
    return {compared(key): member for key, member in named}


def compared(name: str) -> str:
    """Returns a name without case and separators."""
    return name[:_NAME_CHARS].lower().replace("_", "").replace("-", "").replace(" ", "")


def stated(members: Members) -> bool | None:
    """Returns whether the call succeeded, if the members state it: by an error flag, an exit status, `ok` or `success`, or a failing HTTP
    status."""
    if members.get("iserror") is True or ("toolcallid" in members and members.get("status") == "error"):
        return False
    for name in _EXIT:
        if (code := _whole(members.get(name))) is not None:
            return code == 0
    for name in _FLAGS:
        if (flag := _flag(members.get(name))) is not None:
            return flag
    is_failing = any(_is_failing(members.get(name)) for name in _HTTP)
    is_checked_link = "url" in members and not any(members.get(name) for name in (*_MESSAGE_NAMES, *_PAYLOAD))
    return False if is_failing and not is_checked_link else None


def is_error_report(members: Members) -> bool:
    """Returns True when the members report an error, and nothing else of weight is beside it."""
    if "jsonrpc" not in members and any(members.get(name) is not None for name in _RECORD):
        return False  # a row or a log entry, which may have failed long ago
    foreign = sum(name not in _ENVELOPE and (value is False or not _is_empty(value)) for name, value in members.items())
    is_record = foreign > 0 and _word(members, "status") == "failed"  # the status of a job that the call asked about
    if any(_means_error(members.get(name)) for name in _ERRORS) and foreign <= 1 and not is_record:
        return not _has_payload(members)
    if foreign:
        return False
    return _has_errors(members) or _has_failed(members) or _has_code(members) or _is_bare_detail(members)


def said(members: Members) -> str:
    """Returns the message of a failure: what went to stderr, an error, a message, else what is there. Empty if there is none."""
    message = next((text for name in _MESSAGE_NAMES if (text := _text(members.get(name)))), "")
    codes = {"exit status": _EXIT, "HTTP status": _HTTP, "code": _CODES}
    coded = (f"{what} {code}" for what, names in codes.items() for name in names if (code := _whole(members.get(name))))
    return message or next(coded, "")


def _has_errors(members: Members) -> bool:
    errors = members.get("errors")
    if "warnings" in members:
        return False  # the findings of a validator
    listed = errors if isinstance(errors, list) else list(errors.values())[:MEMBERS] if isinstance(errors, Mapping) else [errors]
    return bool(listed) and all(_is_error(one) for one in listed[:MEMBERS]) and not _has_payload(members)


def _is_error(value: object) -> bool:
    """Returns True for one of several errors: words, or members that have a message and no count."""
    if isinstance(value, Mapping):
        return _means_error(value) and not any(name in members_of(value) for name in _RECORD)
    return _means_error(value) if isinstance(value, str) else isinstance(value, list) and bool(value)


def _has_failed(members: Members) -> bool:
    """Returns True for a status in a word, or a type, that names an error."""
    if any(_word(members, name) in _FAILED for name in ("status", "result", "outcome")):
        return True
    types = (members.get(name) for name in ("type", "object", "outputtype"))
    return any(
        isinstance(kind, str) and (kind == "error" or (kind.endswith(("Error", "Exception")) and "message" in members))
        for kind in types
    )


def _word(members: Members, name: str) -> str | None:
    given = members.get(name)
    return given[:_NAME_CHARS].lower() if isinstance(given, str) else None


def _has_code(members: Members) -> bool:
    """Returns True for a failing HTTP status, or the code of an error, with a message."""
    has_words = any(isinstance(members.get(name), str) and members.get(name) for name in _SAID)
    body = members.get("body")
    has_words = has_words or (isinstance(body, str) and body.strip().lower() in _PHRASES)
    code = members.get("errorcode")
    has_error_code = isinstance(code, str) and code.lower() not in _NOTHING
    return has_words and (has_error_code or any(_is_failing(members.get(name)) for name in _CODES))


def _is_bare_detail(members: Members) -> bool:
    """Recognises `{"detail": "Not Found"}`, or the places of an invalid request, as FastAPI and Django answer."""
    detail = members.get("detail")
    if len(members) != 1:
        return False
    if isinstance(detail, str):
        return detail.lower().rstrip(".") in _PHRASES or _REFUSES.match(detail) is not None
    places = detail[:MEMBERS] if isinstance(detail, list) else []
    return bool(places) and all(isinstance(one, Mapping) and "loc" in one and "msg" in one for one in places)


def _means_error(value: object) -> bool:
    """Returns True when the value of an error member means that there is an error. A number does not: it may be a count."""
    if isinstance(value, str):
        return value[:_NAME_CHARS].strip().lower() not in _NOTHING
    if isinstance(value, Mapping):
        inside = members_of(value)
        return _whole(inside.get("code")) != 0 and any(
            not _is_empty(inside.get(name)) for name in ("code", "type", "errors", "detail", "name", *_ERRORS, *_SAID)
        )
    if isinstance(value, list):
        return any(_means_error(one) for one in value[:MEMBERS] if isinstance(one, str | Mapping))
    return value is True or isinstance(value, BaseException)


def _has_payload(members: Members) -> bool:
    """Returns True when there is a result beside the error: then it is a partial success."""
    given = [members.get(name) for name in _PAYLOAD]
    return any(not _is_empty(one) and not (isinstance(one, str) and one.lower() in _FAILED) for one in given)


def _is_empty(value: object) -> bool:
    return value is None or value is False or (isinstance(value, str | list | tuple | dict) and not value)


def _is_failing(value: object) -> bool:
    code = _whole(value)
    return code is not None and HTTPStatus.BAD_REQUEST <= code < _BEYOND_HTTP


def _whole(value: object) -> int | None:
    if isinstance(value, str) and len(value) <= _CODE_CHARS and value.isascii() and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flag(value: object) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def _text(value: object, depth: int = 3) -> str:
    """Returns the first text of a value; of a mapping, the text of its message members."""
    if isinstance(value, bytes):
        return conclusion(value[-TAIL_CHARS:].decode(errors="replace"))
    if isinstance(value, str):
        return conclusion(value)
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    if not depth:
        return ""
    return next((text for one in _inside(value) if (text := _text(one, depth - 1))), "")


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        inside = members_of(value)
        yield from (inside.get(name) for name in ("stderr", *_ERRORS, "errors", *_SAID, "text", "name"))
        yield from islice(inside.values(), _LOOKED_INTO)
    elif isinstance(value, list | tuple):
        yield from value[:_LOOKED_INTO]
