"""Append-only numpy arrays that grow geometrically, and rows by key."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

SMALLEST_CAPACITY = 16
MERGE_ABOVE = 1_024


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
