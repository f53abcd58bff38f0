"""Work that a fork waits for, milliseconds at most, because a thread that is cut off in it would leave a process waiting for ever.

OpenBLAS ends its threads before a fork. A product of matrices that another thread has begun then never ends, nor may the fork (numpy 2.4: the first
fork beside one thread that multiplies hangs). A child whose parent was in the middle of an import waits for that import.
"""

import logging  # noqa: F401 - it locks itself before a fork, too: what registers first is locked last, so that work that logs can end
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

MOST_SECONDS = 5.0
"""A fork waits no longer, whatever work waits for."""

Real = TypeVar("Real", bound=np.floating[Any])


class _Turn:
    """The turn of the thread that works or forks. Reentrant, since a signal handler may fork."""

    lock = RLock()
    mine = local()

    @classmethod
    def take(cls) -> None:
        cls.mine.is_taken = cls.lock.acquire(timeout=MOST_SECONDS)

    @classmethod
    def give_back(cls) -> None:
        if cls.mine.is_taken:
            cls.lock.release()

    @classmethod
    def renew(cls) -> None:
        cls.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_Turn.take, after_in_parent=_Turn.give_back, after_in_child=_Turn.renew)


@contextmanager
def hold_forks() -> Iterator[None]:
    """Lets forks of other threads, and their own such work, wait for a block."""
    with _Turn.lock:
        yield


def multiply(one: NDArray[Real], other: NDArray[Real]) -> NDArray[Real]:
    """Returns `one @ other`, for which a fork waits. All the threads of OpenBLAS make one product at a time."""
    with _Turn.lock:
        product: NDArray[Real] = one @ other
    return product
