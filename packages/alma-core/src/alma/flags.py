"""Checks the flags of public methods, which are derived from the signatures: `True` or `False` and nothing else.

A flag that is only tested for truth takes the text "false" for true: `forget(purge="false")` would erase irrevocably.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from alma.errors import ValidationError
from alma.text import quoted

P = ParamSpec("P")
R = TypeVar("R")

_FLAGS = {bool: False, "bool": False, bool | None: True, "bool | None": True}
"""Annotations of flags, each with whether `None` is allowed too."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A parameter that is annotated `bool` or `bool | None`."""

    name: str
    place: int
    is_optional: bool


def flags_of(function: Callable[..., Any]) -> list[Flag]:
    """Returns the flags in the signature of a function, with their places in it."""
    parameters = inspect.signature(function).parameters.values()
    return [
        Flag(parameter.name, place, _FLAGS[parameter.annotation])
        for place, parameter in enumerate(parameters)
        if parameter.annotation in _FLAGS
    ]


def check_flags(flags: Sequence[Flag], args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Raises `ValidationError` for a flag that is not of type `bool`: 0, 1 and `numpy.bool_` are refused like any text."""
    for flag in flags:
        given = args[flag.place] if flag.place < len(args) else kwargs.get(flag.name, False)
        if given is not True and given is not False and not (flag.is_optional and given is None):
            wanted = "True, False or None" if flag.is_optional else "True or False"
            raise ValidationError(f"{flag.name} must be {wanted}, not {quoted(given)}")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Wraps the function so that it checks its flags first. Signature and documentation stay."""
    flags = flags_of(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        check_flags(flags, args, kwargs)
        return function(*args, **kwargs)

    return call
