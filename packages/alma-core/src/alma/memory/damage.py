"""Turns errors that damage causes into a `CorruptStoreError`, whatever code met it first."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from alma.errors import AlmaError, CorruptStoreError
from alma.protocols import Store

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


@contextmanager
def naming_damage(store_of: Callable[[], Store]) -> Iterator[None]:
    """Turns an unexpected error in the block into a `CorruptStoreError` if `verify` finds the store damaged; else it is raised as it is.

    Rows are read by the thousand and not checked each time, so the check runs after something failed.
    """
    try:
        yield
    except AlmaError:
        raise
    except Exception as error:
        is_damaged = False
        with suppress(Exception):  # the error of the call counts, not one of the check
            is_damaged = not store_of().verify().ok
        if is_damaged:
            raise CorruptStoreError(f"the store is damaged ({type(error).__name__}: {error}); see `alma verify`") from error
        raise


def names_damage(store_of: Callable[[Any], Store]) -> Callable[[type[C]], type[C]]:
    """Class decorator: every public method, inherited ones too, names damage. Signatures and documentation stay."""

    def decorate(cls: type[C]) -> type[C]:
        for name in dir(cls):
            method = inspect.getattr_static(cls, name)
            if not name.startswith("_") and inspect.isfunction(method):
                setattr(cls, name, name_damage_in(method, store_of))
        return cls

    return decorate


def name_damage_in(method: Callable[P, R], store_of: Callable[[Any], Store]) -> Callable[P, R]:
    """Returns the method, so that an error of a call of it names damage of the store. Signature and documentation stay."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with naming_damage(lambda: store_of(args[0])):
            return method(*args, **kwargs)

    return call
