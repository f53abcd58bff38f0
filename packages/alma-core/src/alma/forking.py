"""Forks: objects that are reset in a forked child, and work that a fork waits for.

A child has its parent's memory, but neither the parent's threads nor its locks, in the process or on files. In the parent, numpy's OpenBLAS stops its
threads before a fork, and a product of matrices that another thread is computing then never ends. So a fork waits for calls in other threads and
for the work of ALMA's own ones.
"""

import inspect
import itertools
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import wraps
from types import FrameType, TracebackType
from typing import ParamSpec, Protocol, TypeVar
from weakref import WeakSet

from alma.stacks import runs

_MARK = "delays_forks"
"""Attribute of a method that delays forks already, by the class that it is inherited from."""

LONGEST_DELAY = 1.0
"""Seconds that a fork waits at most."""


class Forked(Protocol):
    """An object whose state is invalid in a forked child."""

    def renew_in_child(self) -> None:
        """Resets the object in the child. Called while the child has one thread, before its first line runs. State guarded by a held lock
        may be inconsistent."""


class Reentrant(Protocol):
    """A `threading.RLock`. Locks of ALMA are of this kind, because a signal handler may call ALMA while its thread is in a call."""

    def acquire(self, blocking: bool = True) -> bool: ...

    def release(self) -> None: ...


P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")
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


HERE = threading.local()
"""`work` is a number for what this thread is doing: the outermost call or block that delays forks; `None`, or missing, outside of any. What a thread
holds for a work of another number was left by an interrupt."""


class _Delays:
    """The threads whose work a fork waits for. While a fork waits, no other work begins.

    Every call passes here, so that the condition, which is written in Python, is asked only while a fork is under way.
    """

    def __init__(self) -> None:
        self._working: dict[int, FrameType] = {}
        """The function whose work it is, by thread."""
        self._numbers = itertools.count(1)
        self._forking: set[int] = set()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)

    def begin(self, block: FrameType) -> bool:
        """Notes the work of this thread. Returns False if it is part of other work, which is noted already."""
        me = threading.get_ident()
        with self._lock:
            around = self._working.get(me)
            if around is not None and runs(around, block):
                return False
            if self._forking:
                self._changed.wait_for(lambda: not self._forking, LONGEST_DELAY)
            self._working[me] = block
            HERE.work = next(self._numbers)
        return True

    def end(self) -> None:
        HERE.work = None
        with self._lock:
            self._working.pop(threading.get_ident(), None)
            if self._forking:
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Waits for the work of other threads, and holds the lock, so that none begins before the fork is over."""
        self._forking.add(threading.get_ident())
        self._lock.acquire()
        self._changed.wait_for(self._is_alone, LONGEST_DELAY)

    def _is_alone(self) -> bool:
        stacks = sys._current_frames()  # an interrupt may have ended work before its end was noted
        return not any(
            runs(block, stacks.get(thread)) for thread, block in self._working.items() if thread != threading.get_ident()
        )

    def after_fork(self) -> None:
        self._forking.discard(threading.get_ident())
        with suppress(RuntimeError):  # a signal interrupted `before_fork`, and the lock is not held
            self._changed.notify_all()
            self._lock.release()

    def renew_in_child(self) -> None:
        me = threading.get_ident()
        self._working = {me: self._working[me]} if me in self._working else {}
        self._forking, self._lock = set(), threading.RLock()
        self._changed = threading.Condition(self._lock)


_DELAYS = _Delays()


class _Work:
    """Context manager of `delaying_forks`. The work is that of the function whose `with` statement it is."""

    __slots__ = ("_is_noted",)

    def __enter__(self) -> None:
        self._is_noted = _DELAYS.begin(sys._getframe(1))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._is_noted:
            _DELAYS.end()


def delaying_forks() -> AbstractContextManager[None]:
    """Delays forks of this process until the block has ended, for at most `LONGEST_DELAY` seconds. The thread itself may fork inside it."""
    return _Work()


def delays_forks(cls: type[C]) -> type[C]:
    """Class decorator: every public method, inherited ones too, delays forks by other threads. Signatures and documentation stay."""
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        if not name.startswith("_") and inspect.isfunction(method) and not hasattr(method, _MARK):
            setattr(cls, name, delay_forks_during(method))
    return cls


def delay_forks_during(method: Callable[P, R]) -> Callable[P, R]:
    """Returns the method, so that a call of it delays forks by other threads. Signature and documentation stay."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not _DELAYS.begin(sys._getframe()):
            return method(*args, **kwargs)
        try:
            return method(*args, **kwargs)
        finally:
            _DELAYS.end()

    setattr(call, _MARK, True)
    return call


def _in_child() -> None:
    _DELAYS.renew_in_child()
    for thing in list(_KNOWN):
        thing.renew_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_DELAYS.before_fork, after_in_parent=_DELAYS.after_fork, after_in_child=_in_child)
