"""The one wrapper of public methods: checks flags, reports to watchers, numbers the call, names damage."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from alma.calls import HERE, NUMBERS
from alma.errors import AlmaError
from alma.flags import check_flags, flags_of
from alma.memory.damage import raise_damage
from alma.memory.watching import OPERATIONS, Operation, reported

_QUERIES = ("task", "query", "context", "action")


class Face(Protocol):
    """An object of public methods on one project of an open store."""

    @property
    def _store(self) -> Any: ...

    @property
    def _room(self) -> Any: ...


M = TypeVar("M", bound=Callable[..., Any])
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


def operation(method: M) -> M:
    """Wraps a public method. Signature and documentation stay.

    A flag that is neither `True` nor `False` is a `ValidationError`. A method of `OPERATIONS` is reported where the store has watchers. An
    unexpected error is a `CorruptStoreError` if the store is damaged.
    """
    return _wrapped(method, inspect.signature(method), is_forwarded=False)  # type: ignore[return-value] # it is called like the method


def forwarded(function: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Returns the public method that calls a function with the project of its object, wrapped as by `operation`.

    Documentation and signature are those of the function.
    """
    signature = inspect.signature(function)
    room, *others = signature.parameters.values()
    itself = room.replace(name="self", annotation=inspect.Parameter.empty)
    return _wrapped(function, signature.replace(parameters=[itself, *others]), is_forwarded=True)


def _wrapped(function: Callable[..., Any], signature: inspect.Signature, *, is_forwarded: bool) -> Callable[..., Any]:
    flags, reports = flags_of(function), function.__name__ in OPERATIONS

    @wraps(function)
    def call(self: Face, /, *args: Any, **kwargs: Any) -> Any:
        around = HERE.calls
        HERE.calls = (*around, next(NUMBERS))
        try:
            target = self._room if is_forwarded else self
            if reports and self._store.watchers:
                with reported(self._store, _described(self, function.__name__, signature, args, kwargs)) as described:
                    check_flags(flags, (target, *args), kwargs)
                    described.result = function(target, *args, **kwargs)
                    return described.result
            if flags:
                check_flags(flags, (target, *args), kwargs)
            return function(target, *args, **kwargs)
        except AlmaError:
            raise
        except Exception as error:
            raise_damage(error, lambda: self._store.storage)
            raise
        finally:
            HERE.calls = around

    call.__signature__ = signature  # type: ignore[attr-defined] # read by `inspect.signature` and `help`
    return call


def _described(face: Face, name: str, signature: inspect.Signature, args: Any, kwargs: Any) -> Operation:
    try:
        given = signature.bind(face, *args, **kwargs).arguments
    except TypeError:  # the call itself raises it
        given = {}
    given = {**given, **given.get("kwargs", {})}
    agent = given.get("agent")
    query = next((given[key] for key in _QUERIES if isinstance(given.get(key), str)), None)
    return Operation(OPERATIONS[name], name, face._room.name, agent if isinstance(agent, str) else None, query)
