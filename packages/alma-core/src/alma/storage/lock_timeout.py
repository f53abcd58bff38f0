"""How long calls wait for a store that another process or thread is writing to."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from alma.errors import ValidationError
from alma.text import quoted

LONGEST_TIMEOUT = 3600.0

_SECONDS: ContextVar[float | None] = ContextVar("alma_lock_timeout", default=None)


@contextmanager
def lock_timeout(seconds: float) -> Iterator[None]:
    """Inside the block, calls wait this long for a store that is locked, instead of as long as the store usually does (30 seconds).

    Then they raise the `StorageError` that they raise otherwise; 0 does not wait at all. It holds for the thread or the task that entered the block,
    for all stores, and for the calls that an `AsyncALMA` makes for it. Of nested blocks the smaller number holds. `ValidationError` unless it is
    from 0 to 3600.
    """
    wanted, outer = checked_timeout(seconds), _SECONDS.get()
    _SECONDS.set(wanted if outer is None else min(wanted, outer))
    try:
        yield
    finally:
        _SECONDS.set(outer)


def checked_timeout(value: object) -> float:
    """Seconds from 0 to 3600."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_TIMEOUT:
        raise ValidationError(f"lock_timeout must be a number of seconds from 0 to {LONGEST_TIMEOUT:.0f}, not {quoted(value)}")
    return float(value)


def timeout_here() -> float | None:
    """The seconds that the innermost block asks for; `None` outside of any."""
    return _SECONDS.get()
