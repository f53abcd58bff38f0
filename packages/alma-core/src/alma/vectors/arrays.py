"""Arrays that grow while others read them: columns, rows by key, float16 vectors and hashes of their content, and a lock for many readers
or one writer.
"""

import sys
from collections.abc import Mapping
from functools import lru_cache
from threading import Condition, RLock, get_ident
from types import FrameType, TracebackType
from typing import Any

import numpy as np
from numpy.random import default_rng  # see `codes`: not by a thread that names `np.random` first
from numpy.typing import NDArray

from alma.errors import StorageError

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Halves = NDArray[np.float16]

SMALLEST_CAPACITY = 16
MERGE_ABOVE = 1_024

NO_ROWS: Integers = np.empty(0, dtype=np.int64)
NO_FLAGS: Flags = np.empty(0, dtype=np.bool_)
NO_SCORES: Vector = np.empty(0, dtype=np.float32)

_KEPT_BITS = np.uint32(0x8FFFE000).view(np.int32)
_EXPONENT_GAP = np.float32(2.0**112)
_SEED = 20_261_125


class Column:
    """Array with spare capacity at its end. Entries have the given shape."""

    __slots__ = ("_array", "_length")

    def __init__(self, dtype: Any, *shape: int) -> None:
        self._array: NDArray[Any] = np.empty((0, *shape), dtype=dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> NDArray[Any]:
        """View of the entries; writing to it changes the column. Valid until the next change of length."""
        return self._array[: self._length]

    def append(self, values: NDArray[Any]) -> None:
        """Appends entries."""
        start = self._length
        self.extend(len(values))
        self._array[start : self._length] = values

    def extend(self, count: int) -> None:
        """Appends entries whose values are undefined."""
        needed = self._length + count
        if needed > len(self._array):
            capacity = max(SMALLEST_CAPACITY, needed, 2 * len(self._array))
            larger = np.empty((capacity, *self._array.shape[1:]), dtype=self._array.dtype)
            larger[: self._length] = self.values
            self._array = larger
        self._length = needed

    def replace(self, values: NDArray[Any]) -> None:
        """Replaces all entries, without spare capacity. Takes ownership of a fresh array."""
        self._array, self._length = values, len(values)


class Lookup:
    """Finds entries by key, which may have several.

    Keys that are appended in ascending order are found by binary search. Others wait in a tail, which is sorted in when it outgrows an eighth of
    the rest, so that neither an append nor a search takes time proportional to all entries.
    """

    __slots__ = ("_entries", "_keys", "_late_entries", "_late_keys")

    def __init__(self) -> None:
        self._keys, self._entries = Column(np.int64), Column(np.int64)
        self._late_keys, self._late_entries = Column(np.int64), Column(np.int64)

    def add(self, keys: Integers, entries: Integers) -> None:
        """Adds an entry for each key."""
        if not len(keys):
            return
        newest = self._keys.values[-1] if len(self._keys) else keys[0]
        if keys[0] >= newest and bool((keys[1:] >= keys[:-1]).all()):
            self._keys.append(keys)
            self._entries.append(entries)
            return
        self._late_keys.append(keys)
        self._late_entries.append(entries)
        if len(self._late_keys) > max(MERGE_ABOVE, len(self._keys) // 8):
            self._merge()

    def find(self, wanted: Integers) -> Integers:
        """Returns the entries of the wanted keys, which ascend strictly, in no order. Unknown keys are left out."""
        keys = self._keys.values
        first = keys.searchsorted(wanted)
        counts = keys.searchsorted(wanted, side="right") - first
        ends = counts.cumsum()
        total = int(ends[-1]) if len(ends) else 0
        found: Integers = self._entries.values[(first + counts - ends).repeat(counts) + np.arange(total)]
        if not len(self._late_keys) or not len(wanted):
            return found
        return np.concatenate([found, self._late_entries.values[np.isin(self._late_keys.values, wanted)]])

    def _merge(self) -> None:
        keys = np.concatenate([self._keys.values, self._late_keys.values])
        entries = np.concatenate([self._entries.values, self._late_entries.values])
        order = np.argsort(keys, kind="stable")
        self._keys.replace(keys[order])
        self._entries.replace(entries[order])
        self._late_keys, self._late_entries = Column(np.int64), Column(np.int64)


def ascending(values: Integers) -> Integers:
    """Returns the distinct values, ascending."""
    values = np.asarray(values, dtype=np.int64)
    if len(values) < 2 or bool((values[1:] > values[:-1]).all()):
        return values
    values = np.sort(values)
    is_new = np.ones(len(values), dtype=np.bool_)
    is_new[1:] = values[1:] != values[:-1]
    return values[is_new]


def widen(halves: Halves | Matrix) -> Matrix:
    """Returns the same numbers as float32. They must be finite. Seven times as fast as numpy's own conversion.

    Sign, exponent and fraction move to their places in float32. The exponent is then 112 too small, also for subnormal numbers, and a
    multiplication by 2**112 corrects it.
    """
    if halves.dtype != np.float16:
        return halves.astype(np.float32, copy=False)
    bits = np.ascontiguousarray(halves).view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _KEPT_BITS
    floats = bits.view(np.float32)
    floats *= _EXPONENT_GAP
    return floats


def content_keys(partitions: Integers, ties: Integers, vectors: Halves) -> Integers:
    """Returns a hash of the partition, tie and vector of each passage, the same in every process. Others than equal passages collide almost
    never; they are compared by partition and tie as well, so only passages of one content could be taken for each other."""
    words = np.pad(vectors, ((0, 0), (0, -vectors.shape[1] % 4))).view(np.uint64)
    factors = _factors(words.shape[1] + 2)
    hashes: NDArray[np.uint64] = (
        np.vecdot(words, factors[2:]) ^ ties.view(np.uint64) * factors[0] ^ partitions.view(np.uint64) * factors[1]
    )
    return hashes.view(np.int64)


@lru_cache(maxsize=4)
def _factors(count: int) -> NDArray[np.uint64]:
    """Returns odd numbers: then a change of a single word always changes the sum of products."""
    return default_rng(_SEED).integers(0, 2**64, count, dtype=np.uint64) | np.uint64(1)


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
