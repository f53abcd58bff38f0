"""Repeats a read and a write until no other process writes between them."""

from collections.abc import Callable
from typing import TypeVar

from alma.errors import ConflictError

T = TypeVar("T")

ATTEMPTS = 200


class HeldError(ConflictError):
    """Another agent holds it: repeating does not help."""


def until_stored(attempt: Callable[[], T]) -> T:
    """Returns the result of `attempt`, which reads, then writes; it is called again when another writer came between.

    `ConflictError` after 200 attempts.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except HeldError:
            raise
        except ConflictError:
            continue
    return attempt()
