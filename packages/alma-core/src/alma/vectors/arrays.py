"""Numpy arrays: columns that grow geometrically, rows by key, float16 vectors and hashes of their content."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    return np.random.default_rng(_SEED).integers(0, 2**64, count, dtype=np.uint64) | np.uint64(1)
