"""The types that a field of a user-defined kind may have, stored as text: `str`, `list[str]`, `datetime | None` …"""

import types
import typing
from datetime import date, datetime
from typing import Annotated, Any

from pydantic import Field

from alma.text import quoted
from alma.types.identity import UtcDatetime

LONGEST_SHAPE = 200
ALLOWED = "str, int, float, bool, datetime, date, Any, list[…], dict[str, …] and any of these or None"

_NAMES: dict[Any, str] = {str: "str", int: "int", float: "float", bool: "bool", datetime: "datetime", date: "date", Any: "Any"}
_CHECKED: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": Annotated[float, Field(allow_inf_nan=False)],
    "bool": bool,
    "datetime": UtcDatetime,
    "date": date,
    "Any": Any,
}
_OR_NONE = " | None"


def shape_of(given: object) -> str:
    """Returns the text for a type, or a text in its usual spelling. `ValueError` for a type that no field may have."""
    if isinstance(given, str):
        shape_type(given)
        return _spelt(given)
    if known := next((name for kind, name in _NAMES.items() if kind is given), None):
        return known
    origin, inner = typing.get_origin(given), typing.get_args(given)
    if origin in (typing.Union, types.UnionType) and len(inner) == 2 and type(None) in inner:
        (other,) = (kind for kind in inner if kind is not type(None))
        return shape_of(other) + _OR_NONE
    if (origin is list or given is list or given is typing.List) and len(inner) <= 1:  # noqa: UP006 - the old spelling is meant
        return f"list[{shape_of(inner[0] if inner else Any)}]"
    if (origin is dict or given is dict or given is typing.Dict) and inner[:1] in ((), (str,)):  # noqa: UP006 - the old spelling is meant
        return f"dict[str, {shape_of(inner[1] if inner else Any)}]"
    raise ValueError(f"{quoted(given)} is no type that a field may have; there are {ALLOWED}")


def shape_type(shape: str) -> Any:
    """Returns the type that checks values of a shape: numbers finite, times aware UTC. `ValueError` if the text is no shape."""
    if len(shape) > LONGEST_SHAPE:
        raise ValueError(f"a type of {len(shape)} characters is too involved")
    return _type(_spelt(shape))


def is_optional(shape: str) -> bool:
    """True for a field of this shape that may be left out."""
    return shape.endswith(_OR_NONE)


def required(shape: str) -> str:
    """Returns the shape without its `None`."""
    return shape.removesuffix(_OR_NONE)


def holds_text(shape: str) -> bool:
    """True when values of this shape can hold text to search."""
    return "str" in shape.replace("dict[str,", "") or "Any" in shape


def holds_times(shape: str) -> bool:
    """True when values of this shape differ between JSON and Python."""
    return "date" in shape


def _spelt(shape: str) -> str:
    return " ".join(shape.split())


def _type(shape: str) -> Any:
    if is_optional(shape):
        return _type(required(shape)) | None
    if shape.startswith("list[") and shape.endswith("]"):
        return list[_type(shape[5:-1])]  # type: ignore[misc] # a type made at run time
    if shape.startswith("dict[str, ") and shape.endswith("]"):
        return dict[str, _type(shape[10:-1])]  # type: ignore[misc] # a type made at run time
    if shape in _CHECKED:
        return _CHECKED[shape]
    raise ValueError(f"{quoted(shape)} is no type that a field may have; there are {ALLOWED}")
