"""A lock for many readers or one writer."""

import sys
from collections.abc import Mapping
from threading import Condition, RLock, get_ident
from types import FrameType, TracebackType

from alma.errors import StorageError

LOOK_SECONDS = 1.0
"""A thread that waits looks this often for blocks that an interrupt ended without leaving."""


class SharedLock:
    """Readers-writer lock; a waiting writer goes before new readers.

    A thread that is inside may not enter again: it would wait for itself, or read what it is changing. `StorageError` then, at once.

    It is entered by a `with` statement of the function that uses it: not by an `ExitStack` or in a generator, whose frames end or rest while the
    block goes on. Other threads would take it for one that an interrupt has ended.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # a signal handler may run, and enter, while its thread has it
        self._changed = Condition(self._lock)
        self._inside: dict[int, FrameType] = {}
        """The functions whose block is being run, by thread: readers, or one writer."""
        self._is_writing = False
        self._waiting_writers: dict[int, FrameType] = {}
        self._reading, self._writing = _Block(self, is_writing=False), _Block(self, is_writing=True)

    def reading(self) -> "_Block":
        """Returns a context manager that shares the lock with other readers."""
        return self._reading

    def writing(self) -> "_Block":
        """Returns a context manager that holds the lock exclusively."""
        return self._writing

    def enter(self, block: FrameType, *, is_writing: bool) -> None:
        """Waits until the thread may enter. `StorageError` if it is inside."""
        me = get_ident()
        with self._lock:
            self._check_outside(me)
            if is_writing:
                self._wait_to_write(me, block)
            else:
                while self._is_writing or self._waiting_writers:
                    self._wait()
            self._inside[me], self._is_writing = block, is_writing

    def leave(self) -> None:
        """Leaves, and wakes those who wait if it was the last."""
        with self._lock:
            self._inside.pop(get_ident(), None)
            if not self._inside:
                was_writing, self._is_writing = self._is_writing, False
                if was_writing or self._waiting_writers:
                    self._changed.notify_all()

    def _wait_to_write(self, me: int, block: FrameType) -> None:
        try:
            self._waiting_writers[me] = block
            while self._inside:
                self._wait()
        finally:
            self._waiting_writers.pop(me, None)
            self._changed.notify_all()  # readers that waited, if this one waits no longer

    def _wait(self) -> None:
        if not self._changed.wait(LOOK_SECONDS):
            self._leave_ended()

    def _check_outside(self, me: int) -> None:
        if me in self._inside or me in self._waiting_writers:
            self._leave_ended()
        if me in self._inside or me in self._waiting_writers:
            raise StorageError("this thread is in the middle of a search; it can call again when that has ended")

    def _leave_ended(self) -> None:
        """Leaves blocks that are no longer run: an interrupt (Ctrl-C) between two instructions ended them before they left."""
        self._inside, self._waiting_writers = _still_running(self._inside), _still_running(self._waiting_writers)
        self._is_writing = self._is_writing and bool(self._inside)


def _still_running(blocks: Mapping[int, FrameType]) -> dict[int, FrameType]:
    stacks = sys._current_frames()
    return {thread: block for thread, block in blocks.items() if _runs(block, stacks.get(thread))}


class _Block:
    """Context manager of a lock. It has no state, so one instance serves all. A search enters many times, and a generator would be slower."""

    __slots__ = ("_is_writing", "_lock")

    def __init__(self, lock: SharedLock, *, is_writing: bool) -> None:
        self._lock, self._is_writing = lock, is_writing

    def __enter__(self) -> None:
        self._lock.enter(sys._getframe(1), is_writing=self._is_writing)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._lock.leave()


def _runs(block: FrameType, frame: FrameType | None) -> bool:
    """Returns True if a function is the one of the frame, or one of those that called it. `None` is the frame of a thread that has ended.

    An interrupt (Ctrl-C) between two instructions can end a block before it has left what it entered.
    """
    while frame is not None and frame is not block:
        frame = frame.f_back
    return frame is not None
