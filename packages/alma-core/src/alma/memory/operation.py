"""The one wrapper of public methods: checks flags, reports to watchers, numbers the call, names damage."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

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


def operation(method: M) -> M:
    """Wraps a public method. Signature and documentation stay.

    A flag that is neither `True` nor `False` is a `ValidationError`. A method of `OPERATIONS` is reported where the store has watchers. An
    unexpected error is a `CorruptStoreError` if the store is damaged.
    """
    flags, signature, reports = flags_of(method), inspect.signature(method), method.__name__ in OPERATIONS

    @wraps(method)
    def call(self: Face, /, *args: Any, **kwargs: Any) -> Any:
        around = HERE.calls
        HERE.calls = (*around, next(NUMBERS))
        try:
            if reports and self._store.watchers:
                with reported(self._store, _described(self, method.__name__, signature, args, kwargs)) as described:
                    check_flags(flags, (self, *args), kwargs)
                    described.result = method(self, *args, **kwargs)
                    return described.result
            if flags:
                check_flags(flags, (self, *args), kwargs)
            return method(self, *args, **kwargs)
        except AlmaError:
            raise
        except Exception as error:
            raise_damage(error, lambda: self._store.storage)
            raise
        finally:
            HERE.calls = around

    return call  # type: ignore[return-value] # it has the signature of the method


def _described(face: Face, name: str, signature: inspect.Signature, args: Any, kwargs: Any) -> Operation:
    try:
        given = signature.bind(face, *args, **kwargs).arguments
    except TypeError:  # the call itself raises it
        given = {}
    given = {**given, **given.get("kwargs", {})}
    agent = given.get("agent")
    query = next((given[key] for key in _QUERIES if isinstance(given.get(key), str)), None)
    return Operation(OPERATIONS[name], name, face._room.name, agent if isinstance(agent, str) else None, query)
