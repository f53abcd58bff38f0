"""Work that a fork waits for, because a process in which it was cut off would wait for ever.

OpenBLAS ends its threads before a fork. A product of matrices that another thread has begun then never ends, nor may the fork (numpy 2.4: the first
fork beside one thread that multiplies hangs). A child whose parent was in the middle of an import waits for that import. A product takes
milliseconds, the import of FAISS a third of a second.
"""

import logging  # noqa: F401 - it locks itself before a fork, too: what registers first is locked last, so that work that logs can end
import os
from contextlib import suppress
from threading import RLock
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

MOST_SECONDS = 5.0
"""A fork waits no longer, whatever the work waits for."""

Real = TypeVar("Real", bound=np.floating[Any])


class _Turn:
    """The turn of the thread that works or forks. Reentrant, since a signal handler may fork."""

    lock: ClassVar = RLock()

    @classmethod
    def take(cls) -> None:
        cls.lock.acquire(timeout=MOST_SECONDS)

    @classmethod
    def give_back(cls) -> None:
        with suppress(RuntimeError):  # it was not taken in time
            cls.lock.release()

    @classmethod
    def renew(cls) -> None:
        cls.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_Turn.take, after_in_parent=_Turn.give_back, after_in_child=_Turn.renew)


def hold_forks() -> Any:
    """Returns the lock that lets forks, and the other such work, wait for a `with` block."""
    return _Turn.lock


def multiply(one: NDArray[Real], other: NDArray[Real]) -> NDArray[Real]:
    """Returns `one @ other`, for which a fork waits. All the threads of OpenBLAS make one product at a time."""
    with hold_forks():
        product: NDArray[Real] = one @ other
    return product
