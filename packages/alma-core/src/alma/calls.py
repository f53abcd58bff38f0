"""Calls of ALMA that a thread is in, by number.

An interrupt (Ctrl-C) between two instructions can end a block before it has given back what it took. A number that is no longer among those of
its thread is of a call that has ended, and what was taken for it is free.
"""

import itertools
import threading
from collections.abc import Iterator


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
