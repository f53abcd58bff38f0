"""Reads the few attributes of an object that say how a call went, whatever its class."""

from collections.abc import Mapping
from inspect import getattr_static

_NAMES = {
    "iserror": ("isError", "is_error"),
    "exitcode": ("returncode", "exit_code", "exitcode"),
    "success": ("success", "succeeded"),
    "ok": ("ok",),
    "statuscode": ("status_code",),
    "status": ("status",),
    "exception": ("exception",),
    "error": ("error",),
    "stderr": ("stderr",),
    "stdout": ("stdout",),
    "message": ("message",),
    "rawoutput": ("raw_output",),
    "content": ("content",),
    "structuredcontent": ("structuredContent", "structured_content"),
    "text": ("text",),
    "type": ("type",),
    "id": ("id",),
    "result": ("result",),
    "data": ("data",),
    "value": ("value",),
}
_RESPONSE = {"statuscode": ("status_code", "status"), "ok": ("ok",)}
_PART = {"type": ("type",), "text": ("text",)}
_BODIES = ("_content", "text", "content", "body", "_body")
_MISSING = object()


def attributes_of(value: object) -> dict[str, object]:
    """Returns the attributes by their normalised names (`error_reports`). Methods are left out, and names that only `__getattr__` would
    answer.

    Of an HTTP response only a `body` that is loaded already is read: a property could read from the network.
    """
    is_response = _has(value, "status_code") or (_has(value, "status") and _has(value, "headers"))
    if not is_response:
        return _read(value, _NAMES)
    loaded = getattr(value, "__dict__", {})
    body = next((loaded[name] for name in _BODIES if isinstance(loaded.get(name), str | bytes)), "")
    return {**_read(value, _RESPONSE), "body": body.decode(errors="replace") if isinstance(body, bytes) else body}


def part_of(value: object) -> dict[str, object]:
    """Returns the `type` and `text` of a possible part of a message."""
    return _read(value, _PART)


def _read(value: object, names: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    found = dict[str, object]()
    for compared, spellings in names.items():
        for spelling in spellings:
            if compared not in found and (given := _attribute(value, spelling)) is not _MISSING:
                found[compared] = given
    return found


def _has(value: object, name: str) -> bool:
    return getattr_static(value, name, _MISSING) is not _MISSING


def _attribute(value: object, name: str) -> object:
    if not _has(value, name):
        return _MISSING
    try:
        given = getattr(value, name)
    except Exception:  # noqa: BLE001 - the property of a caller's class
        return _MISSING
    return _MISSING if callable(given) else given
