"""Turns errors that damage causes into a `CorruptStoreError`, whatever code met it first."""

from collections.abc import Callable
from contextlib import suppress

from alma.errors import CorruptStoreError
from alma.protocols import Store


def raise_damage(error: Exception, store_of: Callable[[], Store]) -> None:
    """Raises a `CorruptStoreError` from the error if `verify` finds the store damaged.

    Rows are read by the thousand and not checked each time, so the check runs after something failed.
    """
    is_damaged = False
    with suppress(Exception):  # the error of the call counts, not one of the check
        is_damaged = not store_of().verify().ok
    if is_damaged:
        raise CorruptStoreError(f"the store is damaged ({type(error).__name__}: {error}); see `alma verify`") from error
