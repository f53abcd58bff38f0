"""Checks the arguments of callers, once, at the façade, and replaces secrets in every text that is stored or asked about.

Bad input is a clear error, and nothing is stored.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from itertools import accumulate
from types import NoneType
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from alma.episode.arguments import checked_ids as checked_ids
from alma.errors import ConfigurationError, ScopeViolationError, ValidationError
from alma.text import composed, fault_in, plain_value, quoted, shortened
from alma.types.identity import Fingerprint, as_utc
from alma.types.identity import optional_duration as optional_duration
from alma.types.kinds import VerdictSource
from alma_guard import Redactor

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


Redact = str | bool | Callable[[str], str]
"""`on`, `off` or `personal` (secrets, and personal data too), or a function of one's own that is used instead."""

Value = TypeVar("Value")

CHOICES = ("on", "off", "personal")
IDS = frozenset(
    """
    id kind agent project_id user_id memory_id episode_id run_id thread_id session_id outcome_id used definition verdict_source outcome status
    type key evidence task_class strategy_hash vector heuristic anti_pattern
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""Fields that name something: they are stored as they are, and are refused if a secret is in them; see `check_name`."""

WITHOUT_TEXT = (int, float, datetime, NoneType)
"""Most values that are no texts are of these types."""

KEY_OF_REPETITION = "idempotency_key"
"""Metadata that is looked up: drawn by chance mostly, and no secret for that."""


def checked_redact(value: object) -> Redact:
    """Returns a setting of `redact`. `ConfigurationError` unless it is one of the words, a flag or a function."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if (isinstance(value, str) and value in CHOICES) or callable(value):
        return cast(Redact, value)
    raise ConfigurationError(f"redact is {quoted(value)}; it must be {', '.join(map(repr, CHOICES))} or a function")


@dataclass(frozen=True, slots=True)
class Redaction:
    """Redaction by the rules of a store. Digests are keyed by the store's random id, so that placeholders of two stores have nothing in common."""

    given: Redact
    redactor: Redactor

    @classmethod
    def of(cls, given: Redact, store_id: str) -> "Redaction":
        """Returns the redaction of the store with this id."""
        key = hashlib.blake2b(store_id.encode(), digest_size=32, person=b"alma.redact").digest()
        return cls(given, Redactor(key, with_personal=given == "personal"))

    def text(self, text: str) -> str:
        """Returns a text as it may be stored. `ValidationError` if a function of the user's fails or returns no text."""
        if self.given == "off":
            return text
        return self._by_function(self.given, text) if callable(self.given) else self.redactor(text)

    def value(self, value: Value) -> Value:
        """Returns a value with all texts in it as they may be stored: a mapping, a list, a memory, a step. What names something stays."""
        return value if self.given == "off" else cast(Value, self._any(value))

    def check_name(self, value: str, name: str) -> str:
        """Returns what names something. `ValidationError` if a secret is in it: names are looked up, so none of them is replaced."""
        kinds = self.redactor.secrets_in(value) if value and self.given in ("on", "personal") else ()
        if kinds:
            raise ValidationError(f"{name} contains a secret ({', '.join(kinds)}); names are not replaced, so use another one")
        return value

    def _any(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, WITHOUT_TEXT):
            return value
        if isinstance(value, Mapping):
            return {self._key(key): self._redact_named(key, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            make = getattr(type(value), "_make", type(value))  # of a named tuple
            return make(self._any(item) for item in value)
        if isinstance(value, BaseModel):
            changes = self._changes(value, _fields(type(value)))
            return value.model_copy(update=changes) if changes else value
        if is_dataclass(value) and not isinstance(value, type):
            changes = self._changes(value, [field.name for field in fields(value) if field.name not in IDS])
            return replace(value, **changes) if changes else value
        return value

    def _changes(self, value: object, names: Iterable[str]) -> dict[str, Any]:
        """Returns the fields that redaction changes. Texts in which nothing is found together, each on lines of its own, are not read again."""
        given = {name: item for name in names if not isinstance(item := getattr(value, name), WITHOUT_TEXT)}
        joined = "\n\n".join(text for text in given.values() if isinstance(text, str))
        if not callable(self.given) and self.redactor(joined) == joined:
            given = {name: item for name, item in given.items() if not isinstance(item, str)}
        made = {name: self._any(item) for name, item in given.items()}
        return {name: item for name, item in made.items() if item is not given[name] and item != given[name]}

    def _key(self, key: object) -> object:
        return self.text(key) if isinstance(key, str) else key

    def _redact_named(self, key: object, value: object) -> object:
        if key == KEY_OF_REPETITION and isinstance(value, str) and not self.redactor.secrets_in(value):
            return value
        if isinstance(value, list | tuple):
            return [self._redact_named(key, item) for item in value]
        if isinstance(key, str) and isinstance(value, str) and not callable(self.given):
            return self.redactor.named(key, value)
        return self._any(value)

    def _by_function(self, function: Callable[[str], str], text: str) -> str:
        try:
            redacted = function(text)
        except Exception as error:
            raise ValidationError(
                f"redact failed: {type(error).__name__}: {shortened(str(error), 200)}; nothing was stored"
            ) from error
        if not isinstance(redacted, str):
            raise ValidationError(f"redact must return a text, not {quoted(redacted)}; nothing was stored")
        return redacted


@cache
def _fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Returns the fields of a model that are no names."""
    return tuple(name for name in model.model_fields if name not in IDS)
