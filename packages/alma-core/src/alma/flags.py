"""Flags of public methods: `True` or `False` and nothing else, checked in one place, derived from the signatures.

A flag that is only tested for truth takes the text "false" for true: `forget(purge="false")` would erase for good.
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
"""The annotations of flags, and whether `None` may be given too."""


@dataclass(frozen=True, slots=True)
class _Flag:
    name: str
    place: int
    is_optional: bool


def checks_flags(cls: type[C]) -> type[C]:
    """Class decorator: every public method first checks those of its arguments that are annotated `bool` or `bool | None`.

    Only `bool` itself is taken: 0, 1 and `numpy.bool_` are a `ValidationError` like any text. Signatures and documentation stay.
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
    """The function, which checks its flags first; itself if it has none."""
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
