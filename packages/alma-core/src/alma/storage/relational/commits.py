"""Commits of this process: followers are called after each, so that what reads the journal need not poll for it."""

from collections.abc import Callable
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

Follower: TypeAlias = Callable[[Any, int], object]
"""Called with the project and the first journal `seq` of a write, after its commit, in the caller's thread; and with 0 when a project was opened.
It must be quick and never raise."""

followers: tuple[Follower, ...] = ()

opened: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The context of the use cases of each project that is open in this process, by the `id` of the project: `ALMA` is made of it."""
