"""Checks the flags of public methods, which are derived from the signatures: `True` or `False` and nothing else.

A flag that is only tested for truth takes the text "false" for true: `forget(purge="false")` would erase irrevocably.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from alma.errors import ValidationError
from alma.text import quoted

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

_FLAGS = {bool: False, "bool": False, bool | None: True, "bool | None": True}
"""Annotations of flags, each with whether `None` is allowed too."""


@dataclass(frozen=True, slots=True)
class _Flag:
    name: str
    place: int
    is_optional: bool


def checks_flags(cls: type[C]) -> type[C]:
    """Class decorator: every public method first checks its arguments that are annotated `bool` or `bool | None`.

    Only `bool` itself is accepted: 0, 1 and `numpy.bool_` are a `ValidationError` like any text. Signatures and documentation stay.
    """
    for name, member in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, classmethod | staticmethod):
            setattr(cls, name, type(member)(checked(member.__func__)))
        elif inspect.isfunction(member):
            setattr(cls, name, checked(member))
    return cls


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Wraps the function so that it checks its flags first. Returns the function itself if it has none."""
    flags = _flags_of(function)
    if not flags:
        return function

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for flag in flags:
            given = args[flag.place] if flag.place < len(args) else kwargs.get(flag.name, False)
            if given is not True and given is not False and not (flag.is_optional and given is None):
                raise ValidationError(_fault(flag, given))
        return function(*args, **kwargs)

    return call


def _flags_of(function: Callable[..., Any]) -> list[_Flag]:
    parameters = inspect.signature(function).parameters.values()
    return [
        _Flag(parameter.name, place, _FLAGS[parameter.annotation])
        for place, parameter in enumerate(parameters)
        if parameter.annotation in _FLAGS
    ]


def _fault(flag: _Flag, given: object) -> str:
    wanted = "True, False or None" if flag.is_optional else "True or False"
    return f"{flag.name} must be {wanted}, not {quoted(given)}"
