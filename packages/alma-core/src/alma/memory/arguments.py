"""What callers give, checked once at the door. Bad input is a clear error and nothing is stored."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any, TypeVar

from alma.errors import ScopeViolationError, ValidationError
from alma.text import fault_in, quoted
from alma.types.identity import as_utc
from alma.types.kinds import Verdict, VerdictSource

Called = TypeVar("Called", bound=Callable[..., Any])

LONGEST_TEXT = 200_000
LONGEST_NAME = 200
LARGEST_TOP_K = 1_000
LARGEST_METADATA = 100_000
DEEPEST_METADATA = 100

_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_JSON_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_NESTING = {"{": 1, "[": 1, "}": -1, "]": -1}


def checked_text(value: object, name: str, *, limit: int = LONGEST_TEXT) -> str:
    """`value` without space around it: a text that says something, can be stored, and is at most `limit` characters long."""
    if not isinstance(value, str):
        raise ValidationError(f"{name} must be a text, not {quoted(value)}")
    text = value.strip()
    if not text:
        raise ValidationError(f"{name} is empty")
    if len(text) > limit:
        raise ValidationError(f"{name} has {len(text):,} characters; at most {limit:,} are kept, so shorten or split it")
    if fault := fault_in(text):
        raise ValidationError(f"{name} cannot be stored: {fault}")
    return text


def optional_text(value: object, name: str, *, limit: int = LONGEST_TEXT) -> str | None:
    """As `checked_text`; `None` for `None` and for an empty text."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return checked_text(value, name, limit=limit)


def checked_name(value: object, name: str) -> str:
    """The name of an agent, user or project: one line, at most 200 characters. `ScopeViolationError` if there is none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ScopeViolationError(f"{name} is missing; there is no default, since memories belong to somebody")
    return checked_label(value, name)


def optional_label(value: object, name: str) -> str | None:
    """As `checked_label`; `None` for `None` and for an empty text."""
    return None if optional_text(value, name, limit=LONGEST_NAME) is None else checked_label(value, name)


def checked_label(value: object, name: str) -> str:
    """A category, a source or the like: one line that can be printed, at most 200 characters."""
    text = checked_text(value, name, limit=LONGEST_NAME)
    if not text.isprintable():
        raise ValidationError(f"{name} {text!r} holds a character that cannot be printed")
    return text


def checked_count(value: object, name: str, *, largest: int = LARGEST_TOP_K) -> int:
    """A whole number from 1 to `largest`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValidationError(f"{name} must be a whole number, not {quoted(value)}")
    if not 1 <= value <= largest:
        raise ValidationError(f"{name} is {quoted(value)}; it must be from 1 to {largest}")
    return value


def checked_source(value: object) -> VerdictSource:
    """Who judged; the caller by default. `ValidationError` for another word."""
    if value is None:
        return VerdictSource.CALLER
    try:
        return VerdictSource(value.strip().lower() if isinstance(value, str) else "")
    except ValueError:
        raise ValidationError(f"verdict_source must be one of {', '.join(VerdictSource)}, not {quoted(value)}") from None


def checked_verdict(value: object) -> Verdict:
    """A verdict in any case, or `True` or `False`. Anything else is an error, never a silent failure."""
    if isinstance(value, bool):
        return Verdict.SUCCESS if value else Verdict.FAILURE
    try:
        return Verdict(str(value).strip().lower()) if isinstance(value, str) else _no_verdict(value)
    except ValueError:
        return _no_verdict(value)


def _no_verdict(value: object) -> Verdict:
    words = ", ".join(repr(verdict.value) for verdict in Verdict)
    raise ValidationError(f"outcome {quoted(value)} is none of {words}, True and False")


def checked_duration(value: object) -> int | None:
    """Milliseconds, 0 or more, rounded to whole ones."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        raise ValidationError(f"duration_ms must be a number of milliseconds, 0 or more, not {quoted(value)}")
    return round(value)


def checked_time(value: object, name: str) -> datetime | None:
    """An aware UTC time; a naive one is taken as UTC."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise ValidationError(f"{name} must be a datetime, not {quoted(value)}")
    try:
        return as_utc(value)
    except ValueError as error:
        raise ValidationError(f"{name}: {error}") from error


def checked_metadata(value: object) -> dict[str, Any]:
    """A mapping that JSON can carry, as plain values, at most 100,000 characters as JSON and 100 levels deep."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValidationError(f"metadata must be a mapping, not {quoted(value)}")
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"metadata must hold what JSON can carry: {error}") from error
    if len(text) > LARGEST_METADATA:
        raise ValidationError(f"metadata has {len(text):,} characters as JSON; at most {LARGEST_METADATA:,} are kept")
    if fault := fault_in(text) or ("it holds a NUL character" if _JSON_NUL.search(text) else None):
        raise ValidationError(f"metadata cannot be stored: {fault}")
    if (depth := _depth(text)) > DEEPEST_METADATA:
        raise ValidationError(f"metadata is nested {depth} levels deep; at most {DEEPEST_METADATA} are kept")
    plain: dict[str, Any] = json.loads(text)
    return plain


def _depth(text: str) -> int:
    return max(accumulate(_NESTING.get(character, 0) for character in _JSON_TEXT.sub("", text)))


def checked_items(value: object, name: str) -> Iterable[Any]:
    """A list, or anything else that gives one item after another. One bare text or mapping is an error, not many items."""
    if isinstance(value, str | bytes | Mapping):
        raise ValidationError(f"{name} must be a list, not {quoted(value)}")
    return _iterable(value, f"{name} must be a list")


def _iterable(value: Any, wanted: str) -> Iterable[Any]:
    """The value, if it can be iterated over. Its class alone does not say so of an array of no dimension."""
    try:
        iter(value)
    except TypeError as error:
        raise ValidationError(f"{wanted}, not {quoted(value)}") from error
    found: Iterable[Any] = value
    return found


def checked_call(value: Called, name: str) -> Called:
    """A function, or anything else that can be called."""
    if not callable(value):
        raise ValidationError(f"{name} must be a function, not {quoted(value)}")
    return value


def checked_choice(value: object, name: str, choices: Collection[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ValidationError(f"{name} is {quoted(value)}; it is {' or '.join(map(repr, choices))}")
    return value


def checked_ids(value: object, name: str) -> list[str]:
    """Distinct ids in the order given. One bare text is an error, not a list of letters."""
    if isinstance(value, str):
        raise ValidationError(f"{name} must be a list of ids, not {quoted(value)}")
    ids: Sequence[object] = list(_iterable(value, f"{name} must be a list of ids"))
    for item in ids:
        if not isinstance(item, str):
            raise ValidationError(f"{name} holds {quoted(item)}, which is no id")
        if fault := fault_in(item):
            raise ValidationError(f"{name} holds {quoted(item)}, which is no id: {fault}")
    return list(dict.fromkeys(str(item) for item in ids))
