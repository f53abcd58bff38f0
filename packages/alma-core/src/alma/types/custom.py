"""Kinds of memory that users define: their names, fields, searched fields and weights.

The fields of a kind are those of a pydantic class. Its JSON schema is stored, from which a process without the class builds an equal one.
"""

import json
import re
import typing
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import lru_cache
from inspect import formatannotation
from types import NoneType, UnionType
from typing import Any, Self, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model, field_serializer, field_validator, model_validator
from pydantic import ValidationError as PydanticError

from alma.errors import ConflictError, ValidationError
from alma.text import fault_in, quoted, shortened
from alma.types.identity import UtcDatetime, Value
from alma.types.kinds import MemoryType

DEFINITIONS = "memory_type"
"""Kind of the small records that store definitions; the key is the name."""

MOST_FIELDS = 64
LONGEST_VALUE = 200_000
LARGEST_FIELDS = 1_000_000
LONGEST_TYPE = 200
"""Most characters of a type that is given as text."""

_ALLOWED = "str, int, float, bool, datetime, date, Any, list[…], dict[str, …] and any of these or None"
_SCHEMAS: Mapping[Any, Mapping[str, str]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Any: {},
}
_BARE = (list, dict, typing.List, typing.Dict, NoneType)  # noqa: UP006 - users write the old spelling, too

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
    is `… | None`. A pydantic class with such fields can be given in its place: its fields are taken, its own validators are not. As JSON,
    a field is its JSON schema. `embedding_fields` are embedded and searched; texts in other fields are found by their words.
    `scoring_weights` weigh the factors similarity (also called relevance), recency, success and confidence for this kind.
    `alma.ValidationError` states what is wrong with a definition.
    """

    name: str
    fields: dict[str, Any] = Field(min_length=1, max_length=MOST_FIELDS)
    embedding_fields: tuple[str, ...] = Field(min_length=1)
    scoring_weights: dict[str, float] | None = None

    def __init__(
        self,
        name: str,
        fields: Mapping[str, Any] | type[BaseModel],
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
        if _checked_name(name).lower() in _BUILT_IN:
            raise ValueError(f"{name!r} is a built-in kind; take another name")
        return name

    @field_validator("fields", mode="before")
    @classmethod
    def _have_types(cls, fields: Any) -> dict[str, Any]:
        if isinstance(fields, type) and issubclass(fields, BaseModel):
            fields = {name: field.rebuild_annotation() for name, field in fields.model_fields.items()}
        if not isinstance(fields, Mapping):
            raise ValueError("a mapping from names to types is needed")
        return {_field_name(name): _field_type(name, given) for name, given in fields.items()}

    @field_serializer("fields")
    def _as_schemas(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: TypeAdapter(given).json_schema() for name, given in fields.items()}

    @field_validator("scoring_weights", mode="before")
    @classmethod
    def _weigh(cls, weights: Any) -> dict[str, float] | None:
        if weights is None:
            return None
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

    @model_validator(mode="after")
    def _embed_what_there_is(self) -> Self:
        if len(set(self.embedding_fields)) != len(self.embedding_fields):
            raise ValueError("embedding_fields names a field twice")
        for name in self.embedding_fields:
            if name not in self.fields:
                raise ValueError(f"embedding_fields names {quoted(name)}, which is no field")
            if not _holds(self.fields[name], str, Any):
                raise ValueError(
                    f"embedding_fields names {name!r}, a {_spelt(self.fields[name])}, in which there is no text to embed"
                )
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
            for text in _texts(value, keys=True):
                _check_text(text, place)
            return json.loads(json.dumps(value, allow_nan=False)) if _holds(self.fields[name], Any) else value
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
        if not self.text(values):
            raise ValidationError(f"{self.name} says nothing in {', '.join(self.embedding_fields)}, so nothing could find it")

    def plain(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the values as JSON represents them, without those that are `None`."""
        return {name: _plain(value) for name, value in values.items() if value is not None}

    def revived(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the values that `plain` was made of. Values stored under an older or newer definition stay as they are."""
        values: dict[str, Any] = {name: plain.get(name) for name in self.fields}
        for name, value in plain.items():
            given = self.fields.get(name, Any)
            values[name] = _adapter(given).validate_python(value) if _holds(given, datetime, date) else value
        return values

    def text(self, values: Mapping[str, Any]) -> str:
        """Returns the text to embed: the texts of the embedding fields, a line each."""
        return _lines([values.get(name) for name in self.embedding_fields])

    def keywords(self, values: Mapping[str, Any]) -> str:
        """Returns the text that is searched by word only: the texts of the other fields."""
        return _lines([value for name, value in values.items() if name not in self.embedding_fields])

    def merged(self, newer: "CustomMemoryType") -> "CustomMemoryType":
        """Returns one definition that fits memories stored under either. `ConflictError` states where they differ too much.

        Fields that only one of them has must be optional. Weights are those of the newer, unless it has fewer fields.
        """
        if self.embedding_fields != newer.embedding_fields:
            raise ConflictError(
                f"memory type {self.name!r} is registered with embedding_fields {', '.join(self.embedding_fields)}, "
                f"not {', '.join(newer.embedding_fields)}; register the changed one under another name"
            )
        fields = {name: self._common(name, newer) for name in {**self.fields, **newer.fields}}
        weights = newer.scoring_weights if self.fields.keys() <= newer.fields.keys() else self.scoring_weights
        return CustomMemoryType(self.name, fields, self.embedding_fields, weights)

    def _common(self, name: str, newer: "CustomMemoryType") -> Any:
        """Returns the type of a field that fits the values of both definitions."""
        old, new = self.fields.get(name), newer.fields.get(name)
        if old is None or new is None:
            only, where = (new, "new") if old is None else (old, "registered")
            if not _is_optional(only):
                raise ConflictError(
                    f"memory type {self.name!r} has the field {name!r} ({_spelt(only)}) only in the {where} definition, and it may not be "
                    f"left out; make it `{_spelt(only)} | None`, or register under another name"
                )
            return only
        if old | None != new | None:
            raise ConflictError(
                f"memory type {self.name!r} is registered with the field {name!r} as {_spelt(old)}, not {_spelt(new)}; "
                "give the changed field, or the kind, another name"
            )
        return old if _is_optional(old) else new


def stored_type(body: Mapping[str, Any]) -> CustomMemoryType:
    """Reads the definition in a small record. Raises `alma.ValidationError` if it holds none."""
    return _stored_type(json.dumps(body))


@lru_cache(maxsize=256)
def _stored_type(body: str) -> CustomMemoryType:
    return CustomMemoryType(**json.loads(body))


def unknown_type(name: str, plain: Mapping[str, Any]) -> CustomMemoryType:
    """Returns a definition for reading memories whose own definition was undone."""
    return CustomMemoryType(name, dict.fromkeys(plain, Any | None), tuple(plain))


def _lines(values: object) -> str:
    return "\n".join(text.strip() for text in _texts(values) if text.strip())


def _texts(value: object, *, keys: bool = False) -> Iterator[Any]:
    """Yields the texts of a value, also those in lists and mappings, in order; with `keys` the keys of mappings, too, of any type."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if keys:
                yield key
            yield from _texts(inner, keys=keys)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, keys=keys)


def _check_text(text: object, place: str) -> None:
    if not isinstance(text, str):
        raise ValidationError(f"{place} has the key {quoted(text)}, which is no text")
    if len(text) > LONGEST_VALUE:
        raise ValidationError(f"{place} has {len(text):,} characters; at most {LONGEST_VALUE:,} are kept, so shorten or split it")
    if fault := fault_in(text):
        raise ValidationError(f"{place} cannot be stored: {fault}")


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _first(error: PydanticError) -> str:
    """Describes the first error, beginning with the field."""
    found = error.errors(include_url=False, include_input=True, include_context=False)[0]
    place = ".".join(str(part) for part in found["loc"])
    message = found["msg"].removeprefix("Value error, ")
    value = (
        "" if found["type"] in ("missing", "value_error", "unexpected_keyword_argument") else f", not {quoted(found['input'])}"
    )
    return shortened(f"{place}: {message[:1].lower()}{message[1:]}{value}" if place else message, 400)


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{quoted(name)} is no name: a letter, then letters, digits and _, at most 64")
    return name


def _field_name(name: object) -> str:
    checked = _checked_name(name)
    if checked in _TAKEN or checked.startswith("model_"):
        raise ValueError(f"a field cannot be called {name!r}: every memory answers to that already; take another name")
    return checked


def _field_type(name: str, given: Any) -> Any:
    """Returns the type of a field, given as a type, as its JSON schema, or as the text that former stores hold: "list[str] | None"."""
    try:
        if isinstance(given, str):
            return _type_named(" ".join(given[: LONGEST_TYPE + 1].split()))
        if isinstance(given, Mapping):
            return _type_of(json.loads(json.dumps(given)))
        if _is_known(given):
            return _type_of(TypeAdapter(given).json_schema())
    except (TypeError, ValueError, RecursionError):
        pass
    raise ValueError(f"{name}: {quoted(given)} is no type that a field may have; there are {_ALLOWED}")


def _is_known(given: Any) -> bool:
    """True for a type whose values JSON carries."""
    origin, inner = get_origin(given), get_args(given)
    if origin is dict:
        return inner[0] is str and _is_known(inner[1])
    if origin in (list, Union, UnionType):
        return all(map(_is_known, inner))
    return any(given is known for known in (*_SCHEMAS, *_BARE))  # whatever else is given may not be comparable


def _type_of(schema: Any, moment: Any = datetime) -> Any:
    """Returns the type that a JSON schema describes, with `moment` for times. `ValueError` if no field may have it."""
    match schema:
        case {"anyOf": [inner, {"type": "null"}], **more} if not more:
            return _type_of(inner, moment) | None
        case {"type": "array", "items": inner, **more} if not more:
            return list[_type_of(inner, moment)]  # type: ignore[misc] # a type made at run time
        case {"type": "object", "additionalProperties": inner, **more} if not more:
            return dict[str, Any if inner is True else _type_of(inner, moment)]  # type: ignore[misc] # a type made at run time
    for made, described in _SCHEMAS.items():
        if described == schema:
            return moment if made is datetime else made
    raise ValueError(schema)


def _type_named(text: str) -> Any:
    """Returns the type that a text names. `ValueError` if it names none."""
    if text.endswith(" | None"):
        return _type_named(text.removesuffix(" | None")) | None
    if text.startswith("list[") and text.endswith("]"):
        return list[_type_named(text[5:-1])]  # type: ignore[misc] # a type made at run time
    if text.startswith("dict[str, ") and text.endswith("]"):
        return dict[str, _type_named(text[10:-1])]  # type: ignore[misc] # a type made at run time
    named = {_spelt(made): made for made in _SCHEMAS}
    if text not in named:
        raise ValueError(text)
    return named[text]


def _spelt(given: Any) -> str:
    return re.sub(r"\b(datetime|typing)\.", "", formatannotation(given))


def _is_optional(given: Any) -> bool:
    return NoneType in get_args(given)


def _holds(given: Any, *types: Any) -> bool:
    """True where a type is one of the types, or has one inside."""
    inner = get_args(given)[get_origin(given) is dict :]  # keys are no values
    return given in types or any(_holds(part, *types) for part in inner)


@lru_cache(maxsize=256)
def _adapter(given: Any) -> TypeAdapter[Any]:
    return TypeAdapter(_type_of(TypeAdapter(given).json_schema(), UtcDatetime))


@lru_cache(maxsize=256)
def _model(fields: tuple[tuple[str, Any], ...]) -> type[BaseModel]:
    """Returns the class that has the fields of a kind."""
    made: dict[str, Any] = {
        name: (_type_of(TypeAdapter(given).json_schema(), UtcDatetime), None if _is_optional(given) else ...)
        for name, given in fields
    }
    return create_model("Fields", __config__=ConfigDict(extra="forbid", allow_inf_nan=False), **made)
