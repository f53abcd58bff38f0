"""Kinds of memory that users define: their names, fields, searched fields and weights."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model, field_validator, model_validator
from pydantic import ValidationError as PydanticError

from alma.errors import ConflictError, ValidationError
from alma.text import fault_in, quoted, shortened
from alma.types import shapes
from alma.types.kinds import MemoryType
from alma.types.value import Value

DEFINITIONS = "memory_type"
"""Kind of the small records that store definitions; the key is the name."""

MOST_FIELDS = 64
LONGEST_VALUE = 200_000
LARGEST_FIELDS = 1_000_000

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_FACTORS = ("similarity", "recency", "success", "confidence")
_BUILT_IN = frozenset(kind.value for kind in MemoryType)
_TAKEN = frozenset(
    """
    kind id agent user_id project_id metadata confidence created_at updated_at text keywords seen_at successes trials fields definition described
    self construct copy dict from_orm json parse_file parse_obj parse_raw schema schema_json update_forward_refs validate
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""Names that a memory already uses as attributes, so that a field of such a name could not be read."""


class CustomMemoryType(Value):
    """Definition of a kind.

    `fields` maps names to types (`str`, `int`, `float`, `bool`, `datetime`, `date`, `Any`, `list` and `dict` of them); an optional field
    is `… | None`. Types are kept as text, such as "list[str]". `embedding_fields` are embedded and searched; texts in other fields are
    found by their words. `scoring_weights` weigh the factors similarity (also called relevance), recency, success and confidence for this
    kind. `alma.ValidationError` states what is wrong with a definition.
    """

    name: str
    fields: dict[str, str] = Field(min_length=1, max_length=MOST_FIELDS)
    embedding_fields: tuple[str, ...] = Field(min_length=1)
    scoring_weights: dict[str, float] | None = None

    def __init__(
        self,
        name: str,
        fields: Mapping[str, Any],
        embedding_fields: Any,
        scoring_weights: Mapping[str, float] | None = None,
        **unknown: Any,
    ) -> None:
        given = {"name": name, "fields": fields, "embedding_fields": embedding_fields, "scoring_weights": scoring_weights}
        try:
            super().__init__(**given, **unknown)
        except PydanticError as error:
            raise ValidationError(f"memory type {quoted(name)}: {_first(error)}") from error

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{quoted(name)} is no name: a letter, then letters, digits and _, at most 64")
        if name.lower() in _BUILT_IN:
            raise ValueError(f"{name!r} is a built-in kind; take another name")
        return name

    @field_validator("fields", mode="before")
    @classmethod
    def _have_shapes(cls, fields: Any) -> dict[str, str]:
        if not isinstance(fields, Mapping):
            raise ValueError("a mapping from names to types is needed")
        return {_field_name(name): _shape(name, given) for name, given in fields.items()}

    @field_validator("embedding_fields", mode="before")
    @classmethod
    def _are_many(cls, names: Any) -> Any:
        if isinstance(names, str):
            raise ValueError(f"a list of field names is needed, not the text {quoted(names)}")
        return names

    @field_validator("scoring_weights", mode="before")
    @classmethod
    def _weigh(cls, weights: Any) -> dict[str, float] | None:
        return None if weights is None else _weights(weights)

    @model_validator(mode="after")
    def _embed_what_there_is(self) -> Self:
        if len(set(self.embedding_fields)) != len(self.embedding_fields):
            raise ValueError("embedding_fields names a field twice")
        for name in self.embedding_fields:
            if name not in self.fields:
                raise ValueError(f"embedding_fields names {quoted(name)}, which is no field")
            if not shapes.holds_text(self.fields[name]):
                raise ValueError(f"embedding_fields names {name!r}, a {self.fields[name]}, in which there is no text to embed")
        return self

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns values for the fields, of the right types, times in UTC. An optional field that was left out is `None`.

        `ValidationError` names the field that is wrong, missing or unknown.
        """
        for name in given:
            if name not in self.fields:
                known = ", ".join(self.fields)
                raise ValidationError(f"{self.name} has no field {quoted(name)}; it has {known}")
        try:
            made = _model(tuple(self.fields.items()))(**given)
        except PydanticError as error:
            raise ValidationError(f"{self.name}.{_first(error)}") from error
        values = {name: self._storable(name, getattr(made, name)) for name in self.fields}
        self._check_whole(values)
        return values

    def _storable(self, name: str, value: Any) -> Any:
        """Returns the value as it will be read again."""
        place = f"{self.name}.{name}"
        try:
            _check_texts(value, place)
            return json.loads(json.dumps(value, allow_nan=False)) if "Any" in self.fields[name] else value
        except ValidationError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise ValidationError(f"{place} must hold what JSON can carry: {error}") from error

    def _check_whole(self, values: Mapping[str, Any]) -> None:
        try:
            size = len(json.dumps(self.plain(values), ensure_ascii=False, allow_nan=False))
        except (ValueError, RecursionError) as error:  # a number too long to write out
            raise ValidationError(f"{self.name} must hold what JSON can carry: {error}") from error
        if size > LARGEST_FIELDS:
            raise ValidationError(f"{self.name} has {size:,} characters as JSON; at most {LARGEST_FIELDS:,} are kept")
        if not self.text(values).strip():
            raise ValidationError(f"{self.name} says nothing in {', '.join(self.embedding_fields)}, so nothing could find it")

    def plain(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the values as JSON represents them, without those that are `None`."""
        return {name: _plain(value) for name, value in values.items() if value is not None}

    def revived(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the values that `plain` was made of. Values stored under an older or newer definition stay as they are."""
        values: dict[str, Any] = {name: plain.get(name) for name in self.fields}
        for name, value in plain.items():
            shape = self.fields.get(name, "Any")
            values[name] = _adapter(shape).validate_python(value) if shapes.holds_times(shape) else value
        return values

    def text(self, values: Mapping[str, Any]) -> str:
        """Returns the text to embed: the texts of the embedding fields, a line each."""
        return "\n".join(part for name in self.embedding_fields for part in texts_in(values.get(name)))

    def keywords(self, values: Mapping[str, Any]) -> str:
        """Returns the text that is searched by word only: the texts of the other fields."""
        return "\n".join(part for name in values if name not in self.embedding_fields for part in texts_in(values[name]))

    def merged(self, newer: "CustomMemoryType") -> "CustomMemoryType":
        """Returns one definition that fits memories stored under either. `ConflictError` states where they differ too much.

        Fields that only one of them has must be optional. Weights are those of the newer, unless it has fewer fields.
        """
        if self.embedding_fields != newer.embedding_fields:
            raise ConflictError(
                f"memory type {self.name!r} is registered with embedding_fields {', '.join(self.embedding_fields)}, "
                f"not {', '.join(newer.embedding_fields)}; register the changed one under another name"
            )
        fields = dict(self.fields)
        for name, shape in newer.fields.items():
            fields[name] = self._common(name, fields.get(name), shape)
        for name in self.fields.keys() - newer.fields.keys():
            self._common(name, self.fields[name], None)
        weights = newer.scoring_weights if self.fields.keys() <= newer.fields.keys() else self.scoring_weights
        return CustomMemoryType(self.name, fields, self.embedding_fields, weights)

    def _common(self, name: str, old: str | None, new: str | None) -> str:
        if old is None or new is None:
            only = old or new or ""
            if not shapes.is_optional(only):
                where = "in the registered definition" if new is None else "in the new definition"
                raise ConflictError(
                    f"memory type {self.name!r} has the field {name!r} ({only}) only {where}, and it may not be left out; "
                    f"make it `{only} | None`, or register under another name"
                )
            return only
        if shapes.required(old) != shapes.required(new):
            raise ConflictError(
                f"memory type {self.name!r} is registered with the field {name!r} as {old}, not {new}; "
                "give the changed field, or the kind, another name"
            )
        return old if shapes.is_optional(old) else new


def stored_type(body: Mapping[str, Any]) -> CustomMemoryType:
    """Reads the definition in a small record. Raises `alma.ValidationError` if it holds none."""
    return _stored_type(json.dumps(body))


@lru_cache(maxsize=256)
def _stored_type(body: str) -> CustomMemoryType:
    return CustomMemoryType(**json.loads(body))


def unknown_type(name: str, plain: Mapping[str, Any]) -> CustomMemoryType:
    """Returns a definition for reading memories whose own definition was undone."""
    return CustomMemoryType(name, dict.fromkeys(plain, "Any | None"), tuple(plain))


def texts_in(value: object) -> Iterator[str]:
    """Yields the texts of a value, also those in lists and mappings, in order."""
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


def _first(error: PydanticError) -> str:
    """Describes the first error, beginning with the field."""
    found = error.errors(include_url=False, include_input=True, include_context=False)[0]
    place = ".".join(str(part) for part in found["loc"])
    message = found["msg"].removeprefix("Value error, ")
    value = (
        "" if found["type"] in ("missing", "value_error", "unexpected_keyword_argument") else f", not {quoted(found['input'])}"
    )
    return shortened(f"{place}: {message[:1].lower()}{message[1:]}{value}" if place else message, 400)


def _field_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{quoted(name)} is no name: a letter, then letters, digits and _, at most 64")
    if name in _TAKEN or name.startswith("model_"):
        raise ValueError(f"a field cannot be called {name!r}: every memory answers to that already; take another name")
    return name


def _shape(name: object, given: object) -> str:
    try:
        return shapes.shape_of(given)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {error}") from error


def _weights(weights: object) -> dict[str, float]:
    if not isinstance(weights, Mapping):
        raise ValueError("a mapping from factor to number is needed")
    named = {("similarity" if factor == "relevance" else factor): weight for factor, weight in weights.items()}
    if len(named) < len(weights):
        raise ValueError("similarity and relevance are the same factor; name one")
    for factor, weight in named.items():
        if factor not in _FACTORS:
            raise ValueError(f"there is no factor {quoted(factor)}; there are {', '.join(_FACTORS)}")
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1_000_000:
            raise ValueError(f"{factor} is {quoted(weight)}; a weight is a number from 0 to a million")
    if not any(named.values()):
        raise ValueError("not all weights may be 0")
    return {factor: float(named[factor]) for factor in _FACTORS if factor in named}


def _check_texts(value: object, place: str) -> None:
    if isinstance(value, str):
        if len(value) > LONGEST_VALUE:
            raise ValidationError(
                f"{place} has {len(value):,} characters; at most {LONGEST_VALUE:,} are kept, so shorten or split it"
            )
        if fault := fault_in(value):
            raise ValidationError(f"{place} cannot be stored: {fault}")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ValidationError(f"{place} has the key {quoted(key)}, which is no text")
            _check_texts(key, place)
            _check_texts(inner, place)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_texts(inner, place)


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


@lru_cache(maxsize=256)
def _model(fields: tuple[tuple[str, str], ...]) -> type[BaseModel]:
    """Returns the model that checks values of these fields."""
    definitions: dict[str, Any] = {
        name: (shapes.shape_type(shape), None if shapes.is_optional(shape) else ...) for name, shape in fields
    }
    return create_model("Fields", __config__=ConfigDict(extra="forbid"), **definitions)


@lru_cache(maxsize=256)
def _adapter(shape: str) -> TypeAdapter[Any]:
    return TypeAdapter(shapes.shape_type(shape))
