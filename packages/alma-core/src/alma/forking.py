"""What a forked child makes anew: it has its parent's memory, but neither the parent's threads nor its locks, in the process or on files."""

import os
from typing import Protocol, TypeVar
from weakref import WeakSet


class Forked(Protocol):
    """Something that does not work in a forked child as it was in the parent."""

    def renew_in_child(self) -> None:
        """Called in the child, which has one thread, before its first line is run. Whatever a lock guards may be half done, if it is held."""


F = TypeVar("F", bound=Forked)

_KNOWN: "WeakSet[Forked]" = WeakSet()


def renewed_in_children(thing: F) -> F:
    """The thing, which is told from now on when it finds itself in a child."""
    _KNOWN.add(thing)
    return thing


def _in_child() -> None:
    for thing in list(_KNOWN):
        thing.renew_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
