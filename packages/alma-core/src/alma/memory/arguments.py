"""Checks the arguments of callers, once, at the façade. Bad input is a clear error and nothing is stored."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from itertools import accumulate
from typing import Any, TypeVar

from alma.episode.arguments import checked_ids as checked_ids
from alma.episode.arguments import optional_duration as optional_duration
from alma.errors import ConfigurationError, ScopeViolationError, ValidationError
from alma.text import composed, fault_in, plain_value, quoted
from alma.types.identity import Fingerprint, as_utc
from alma.types.kinds import VerdictSource

Called = TypeVar("Called", bound=Callable[..., Any])
Made = TypeVar("Made")

LONGEST_TEXT = 200_000
LONGEST_NAME = 200
LARGEST_TOP_K = 1_000
LARGEST_METADATA = 100_000
LARGEST_DIMENSION = 65_536
DEEPEST_METADATA = 100

NAMES = ("agent", "user_id", "owner")
"""Fields with names, of a memory's row, and of the body of a memory or a record."""

_FIRST_TOO_LONG = 10 ** (LONGEST_NAME - 1)

_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_JSON_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_NESTING = {"{": 1, "[": 1, "}": -1, "]": -1}


def checked_text(value: object, name: str, *, limit: int = LONGEST_TEXT) -> str:
    """Returns `value` without surrounding space: a text that is not blank, can be stored, and is at most `limit` characters long."""
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
    return None if is_empty(value) else checked_text(value, name, limit=limit)


def checked_name(value: object, name: str) -> str:
    """Returns the name of an agent, user or project in its composed form (NFC): one line, at most 200 characters. `ScopeViolationError` if there
    is none."""
    if is_empty(value):
        raise ScopeViolationError(f"{name} is missing; there is no default, since each memory has an owner")
    return composed(checked_id(value, name))


def checked_id(value: object, name: str) -> str:
    """As `checked_label`, for the name that something has elsewhere: a whole number counts as its digits."""
    number = plain_value(value)
    is_number = isinstance(number, int) and not isinstance(number, bool) and abs(number) < _FIRST_TOO_LONG
    return checked_label(str(number) if is_number else value, name)


def optional_id(value: object, name: str) -> str | None:
    """As `checked_id`; `None` for `None` and for an empty text."""
    return None if is_empty(value) else checked_id(value, name)


def is_empty(value: object) -> bool:
    """Returns True for `None` and for a text of nothing but space."""
    return value is None or (isinstance(value, str) and not value.strip())


def optional_name(value: object, name: str) -> str | None:
    """As `checked_name`; `None` for `None` alone: an empty name is a mistake, not everybody."""
    return None if value is None else checked_name(value, name)


def optional_label(value: object, name: str) -> str | None:
    """As `checked_label`; `None` for `None` and for an empty text."""
    return None if is_empty(value) else checked_label(value, name)


def checked_label(value: object, name: str) -> str:
    """Returns a category, a source or the like: one printable line, at most 200 characters. A UUID, a member of an enum and a scalar of
    an array count as the text that they hold."""
    text = checked_text(plain_value(value), name, limit=LONGEST_NAME)
    if not text.isprintable():
        raise ValidationError(f"{name} {text!r} holds a character that cannot be printed")
    return text


def checked_count(value: object, name: str, *, least: int = 1, largest: int = LARGEST_TOP_K) -> int:
    """Returns a whole number from `least` to `largest`."""
    number = plain_value(value)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValidationError(f"{name} must be a whole number, not {quoted(value)}")
    if not least <= number <= largest:
        raise ValidationError(f"{name} is {quoted(value)}; it must be from {least} to {largest}")
    return number


def checked_source(value: object) -> VerdictSource:
    """Returns the source of a verdict; the caller by default. `ValidationError` for another word."""
    return VerdictSource.CALLER if value is None else VerdictSource.checked(value)


def checked_time(value: object, name: str) -> datetime | None:
    """Returns an aware UTC time; a naive one is taken as UTC."""
    if value is None:
        return None
    moment = plain_value(value)
    if not isinstance(moment, datetime):
        raise ValidationError(f"{name} must be a datetime, not {quoted(value)}")
    try:
        return as_utc(moment)
    except ValueError as error:
        raise ValidationError(f"{name}: {error}") from error


def checked_metadata(value: object) -> dict[str, Any]:
    """Returns a JSON-compatible mapping as plain values, at most 100,000 characters as JSON and 100 levels deep."""
    return {} if value is None else checked_json(value, "metadata", largest=LARGEST_METADATA)


def checked_json(value: object, name: str, *, largest: int) -> dict[str, Any]:
    """Returns a JSON-compatible mapping as plain values, at most `largest` characters as JSON and 100 levels deep."""
    if not isinstance(value, Mapping):
        raise ValidationError(f"{name} must be a mapping, not {quoted(value)}")
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False, default=_json_value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"{name} must hold what JSON can carry: {error}") from error
    if len(text) > largest:
        raise ValidationError(f"{name} has {len(text):,} characters as JSON; at most {largest:,} are kept")
    if fault := fault_in(text) or ("it holds a NUL character" if _JSON_NUL.search(text) else None):
        raise ValidationError(f"{name} cannot be stored: {fault}")
    if (depth := _depth(text)) > DEEPEST_METADATA:
        raise ValidationError(f"{name} is nested {depth} levels deep; at most {DEEPEST_METADATA} are kept")
    plain: dict[str, Any] = json.loads(text)
    return plain


def _json_value(value: object) -> object:
    if (plain := plain_value(value)) is value:
        raise TypeError(f"{quoted(value)} is no value of JSON")
    return plain


def _depth(text: str) -> int:
    return max(accumulate(_NESTING.get(character, 0) for character in _JSON_TEXT.sub("", text)))


def checked_items(value: object, name: str) -> Iterable[Any]:
    """Returns a list or another iterable. A bare text or mapping is an error, not many items."""
    if isinstance(value, str | bytes | Mapping):
        raise ValidationError(f"{name} must be a list, not {quoted(value)}")
    return _iterable(value, f"{name} must be a list")


def _iterable(value: Any, wanted: str) -> Iterable[Any]:
    """Returns the value if it can be iterated over. Its class does not show that: an array without dimensions cannot."""
    try:
        iter(value)
    except TypeError as error:
        raise ValidationError(f"{wanted}, not {quoted(value)}") from error
    found: Iterable[Any] = value
    return found


def checked_call(value: Called, name: str) -> Called:
    """Returns a callable."""
    if not callable(value):
        raise ValidationError(f"{name} must be a function, not {quoted(value)}")
    return value


def checked_choice(value: object, name: str, choices: Collection[str]) -> str:
    """Returns one of the choices."""
    choice = plain_value(value)
    if not isinstance(choice, str) or choice not in choices:
        raise ValidationError(f"{name} is {quoted(value)}; it is {' or '.join(map(repr, choices))}")
    return choice


def check_embedder(embedder: object, dimension: object) -> None:
    """Raises `ConfigurationError` for what is neither a name nor an embedder, or has another dimension."""
    if dimension is not None and not _is_dimension(dimension):
        raise ConfigurationError(f"embedding_dim must be a whole number from 1 to {LARGEST_DIMENSION:,}, not {quoted(dimension)}")
    if isinstance(embedder, str):
        return
    fingerprint = getattr(embedder, "fingerprint", None)
    if not isinstance(fingerprint, Fingerprint) or not callable(getattr(embedder, "embed", None)):
        raise ConfigurationError(
            "embedding_provider must be a name or an embedder, an object with an alma.types.Fingerprint as `fingerprint` and a "
            f"method `embed`, not {quoted(embedder)}"
        )
    if dimension not in (None, fingerprint.dimension):
        raise ConfigurationError(f"the embedder gives {fingerprint.dimension} dimensions, but embedding_dim is {dimension}")


def _is_dimension(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_DIMENSION


Progress = Callable[[int, int], None]
"""Callback that receives the amount of work done, and the total."""


class _Stopped(BaseException):
    """Carries the error of a callback past handlers that would treat it as one of the work."""


def with_progress(progress: Progress | None, work: Callable[[Progress | None], Made]) -> Made:
    """Returns the result of `work`, called with the callback. An error of the callback ends the work, and is raised as it is."""
    if progress is None:
        return work(None)
    checked_call(progress, "progress")
    raised: list[BaseException] = []

    def on_progress(done: int, total: int) -> None:
        try:
            progress(done, total)
        except BaseException as error:
            raised.append(error)
            raise _Stopped from error

    try:
        return work(on_progress)
    except _Stopped:
        pass
    raise raised[0]


def with_composed_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a row or a body with its names in composed form."""
    return {**fields, **{name: composed(fields[name]) for name in NAMES if isinstance(fields.get(name), str)}}
