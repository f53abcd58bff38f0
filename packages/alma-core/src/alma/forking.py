"""Forks: objects that are reset in a forked child.

A child has its parent's memory, but neither the parent's threads nor its locks, in the process or on files. A fork waits for products of matrices
and for the import of FAISS (`alma_learning.forks`), and for nothing else: work of other threads that it interrupts is cut off in the child, where an
object whose lock is held is reset.
"""

import os
from typing import Protocol, TypeVar
from weakref import WeakSet


class Forked(Protocol):
    """An object whose state is invalid in a forked child."""

    def renew_in_child(self) -> None:
        """Resets the object in the child. Called while the child has one thread, before its first line runs. State guarded by a held lock
        may be inconsistent."""


class Reentrant(Protocol):
    """A `threading.RLock`. Locks of ALMA are of this kind, because a signal handler may call ALMA while its thread is in a call."""

    def acquire(self, blocking: bool = True) -> bool: ...

    def release(self) -> None: ...


F = TypeVar("F", bound=Forked)

_KNOWN: "WeakSet[Forked]" = WeakSet()


def renewed_in_children(thing: F) -> F:
    """Registers the object, so that it is reset in a forked child, and returns it."""
    _KNOWN.add(thing)
    return thing


def is_held_elsewhere(lock: Reentrant) -> bool:
    """Returns True if another thread holds the lock: in a forked child, a thread of the parent."""
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True


def _in_child() -> None:
    for thing in list(_KNOWN):
        thing.renew_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
