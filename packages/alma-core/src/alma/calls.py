"""Public calls: the flags that they take, and which of them a thread is in, by number.

A flag that is only tested for truth takes the text "false" for true: `forget(purge="false")` would erase irrevocably.

An interrupt (Ctrl-C) between two instructions can end a block before it has given back what it took. A number that is no longer among those of
its thread is of a call that has ended, and what was taken for it is free.
"""

import inspect
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
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


class _Here(threading.local):
    """Numbers of the calls that this thread is in, the innermost last; none in threads that ALMA starts."""

    calls: tuple[int, ...] = ()


HERE = _Here()

NUMBERS: Iterator[int] = itertools.count(1)


def current_call() -> int:
    """Returns the number of the innermost call of this thread, 0 outside of calls."""
    return HERE.calls[-1] if HERE.calls else 0


def has_ended(call: int) -> bool:
    """Returns True if a call of this thread has ended. Work outside of calls, 0, never counts as ended."""
    return call != 0 and call not in HERE.calls
