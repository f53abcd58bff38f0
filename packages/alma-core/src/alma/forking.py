"""Resets objects in a forked child: it has its parent's memory, but neither the parent's threads nor its locks, in the process or on
files."""

import os
from typing import Protocol, TypeVar
from weakref import WeakSet


class Forked(Protocol):
    """An object whose state is invalid in a forked child."""

    def renew_in_child(self) -> None:
        """Resets the object in the child. Called while the child has one thread, before its first line runs. State guarded by a held lock
        may be inconsistent."""


F = TypeVar("F", bound=Forked)

_KNOWN: "WeakSet[Forked]" = WeakSet()


def renewed_in_children(thing: F) -> F:
    """Registers the object, so that it is reset in a forked child, and returns it."""
    _KNOWN.add(thing)
    return thing


def _in_child() -> None:
    for thing in list(_KNOWN):
        thing.renew_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
