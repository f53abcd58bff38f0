"""Turns errors that damage causes into a `CorruptStoreError` that names the damage, whatever code met it first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from alma.errors import AlmaError, CorruptStoreError
from alma.protocols import Store

MOST_NAMED = 3


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
        raise_damage(error, store_of)
        raise


def raise_damage(error: Exception, store_of: Callable[[], Store]) -> None:
    """Raises a `CorruptStoreError` from the error if `verify` finds the store damaged."""
    if damage := _damage(store_of):
        raise CorruptStoreError(f"the store is damaged ({type(error).__name__}): {damage}; see `alma verify`") from error


def _damage(store_of: Callable[[], Store]) -> str:
    """Returns the first problems of the store; "" if it is sound, or cannot be checked."""
    try:
        problems = store_of().verify().problems
    except Exception:  # noqa: BLE001 - the first error is the one to raise
        return ""
    named = "; ".join(map(str, problems[:MOST_NAMED]))
    return f"{named}; and {len(problems) - MOST_NAMED} more" if len(problems) > MOST_NAMED else named
