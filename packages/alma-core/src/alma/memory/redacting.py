"""The seam by which every text that is stored or asked about goes: what a store redacts, and how."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from alma.errors import ConfigurationError, ValidationError
from alma.text import quoted, shortened
from alma_guard import Redactor

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
    """How a store redacts. Digests are keyed by the random id of the store, so that placeholders of two stores have nothing in common."""

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
