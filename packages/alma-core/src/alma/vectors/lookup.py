"""Lookup of table rows by key (a passage or memory number)."""

import numpy as np
from numpy.typing import NDArray

from alma.vectors.columns import Column

Integers = NDArray[np.int64]

MERGE_ABOVE = 1024


class RowLookup:
    """Finds rows by key with binary search.

    Keys normally ascend and are appended. Keys that arrive out of order wait in a short sorted list, which is merged when it outgrows an
    eighth of the rest, so that neither an append nor a search costs time proportional to all rows.
    """

    __slots__ = ("_has_several", "_keys", "_late_keys", "_late_rows", "_rows")

    def __init__(self) -> None:
        self._keys = Column(np.int64)
        self._rows = Column(np.int64)
        self._late_keys: Integers = np.empty(0, dtype=np.int64)
        self._late_rows: Integers = np.empty(0, dtype=np.int64)
        self._has_several = False  # rows of one key among those that came in order

    def are_newer(self, keys: Integers) -> bool:
        """Checks that all rows have smaller keys."""
        return not len(keys) or not len(self._keys) or bool(keys.min() > self._keys.values[-1])

    def add(self, keys: Integers, rows: Integers) -> None:
        """Adds one row per key. A key may have many rows."""
        if not len(keys):
            return
        newest = self._keys.values[-1] if len(self._keys) else keys[0]
        if keys[0] >= newest and (keys[1:] >= keys[:-1]).all():
            self._add_newest(keys, rows)
            return
        highest = np.maximum.accumulate(np.maximum(keys, newest))
        in_order = keys == highest
        self._add_newest(keys[in_order], rows[in_order])
        self._add_late(keys[~in_order], rows[~in_order])

    def find(self, wanted: Integers) -> Integers:
        """Returns the rows of the wanted keys, which must ascend strictly; unknown keys are left out."""
        keys, rows = self._keys.values, self._rows.values
        found = _matches(keys, rows, wanted) if self._has_several else _only_matches(keys, rows, wanted)
        if not len(self._late_keys):
            return found
        return np.concatenate([found, _matches(self._late_keys, self._late_rows, wanted)])

    def renumber(self, new_rows: Integers) -> None:
        """Replaces every row by `new_rows[row]` and drops those that become negative."""
        self._merge()
        rows = new_rows[self._rows.values]
        kept = rows >= 0
        keys = self._keys.values[kept]
        self._has_several = _repeat(keys[:0], keys)
        self._keys.replace(keys)
        self._rows.replace(rows[kept])

    def _add_newest(self, keys: Integers, rows: Integers) -> None:
        """Adds rows whose keys ascend and are not smaller than any before."""
        self._has_several = self._has_several or _repeat(self._keys.values[-1:], keys)
        self._keys.append(keys)
        self._rows.append(rows)

    def _add_late(self, keys: Integers, rows: Integers) -> None:
        self._late_keys, self._late_rows = _sorted(
            np.concatenate([self._late_keys, keys]), np.concatenate([self._late_rows, rows])
        )
        if len(self._late_keys) > max(MERGE_ABOVE, len(self._keys) // 8):
            self._merge()

    def _merge(self) -> None:
        if not len(self._late_keys):
            return
        keys, rows = _sorted(
            np.concatenate([self._keys.values, self._late_keys]), np.concatenate([self._rows.values, self._late_rows])
        )
        self._has_several = self._has_several or _repeat(keys[:0], keys)
        self._keys.replace(keys)
        self._rows.replace(rows)
        self._late_keys = self._late_rows = np.empty(0, dtype=np.int64)


def _sorted(keys: Integers, rows: Integers) -> tuple[Integers, Integers]:
    order = np.argsort(keys, kind="stable")
    return keys[order], rows[order]


def _repeat(before: Integers, keys: Integers) -> bool:
    """Checks for repetition in ascending keys, the first of which follows the last of `before`, if any."""
    return bool((keys[1:] == keys[:-1]).any() or (len(before) and len(keys) and before[0] == keys[0]))


def _only_matches(keys: Integers, rows: Integers, wanted: Integers) -> Integers:
    """As `_matches`, for keys that are all distinct."""
    if not len(keys):
        return rows
    places = keys.searchsorted(wanted)
    found: Integers = rows[places[keys.take(places, mode="clip") == wanted]]
    return found


def _matches(keys: Integers, rows: Integers, wanted: Integers) -> Integers:
    if not len(keys):
        return rows
    first = keys.searchsorted(wanted)
    last = first + (keys.take(first, mode="clip") == wanted)
    several = (keys.take(last, mode="clip") == wanted).nonzero()[0]
    if len(several):
        last[several] = keys.searchsorted(wanted[several], side="right")
    counts = last - first
    ends = counts.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    found: Integers = rows[(last - ends).repeat(counts) + np.arange(total)]
    return found
