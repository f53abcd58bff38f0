"""Finding the passage whose content and vector a new one repeats: an agent that does a task every day has one vector of it, not a thousand."""

import numpy as np
from numpy.typing import NDArray

from alma.vectors.blocks import Halves
from alma.vectors.columns import Column

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

MERGE_ABOVE = 1024
FEW = 16

_TIES, _SLOTS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_NONE: Integers = np.empty(0, dtype=np.int64)


def content_keys(slots: Integers, ties: Integers, vectors: Halves) -> Integers:
    """A number for the slot, tie and vector of each passage: equal for equal ones, and for others as good as never."""
    vectors = np.ascontiguousarray(vectors)
    packed = vectors.view(f"V{vectors.itemsize * vectors.shape[1]}").ravel().tolist()
    hashes = np.fromiter(map(hash, packed), dtype=np.int64, count=len(packed)).view(np.uint64)
    keys: NDArray[np.uint64] = hashes ^ ties.view(np.uint64) * _TIES ^ slots.astype(np.uint64) * _SLOTS
    return keys.view(np.int64)


def said_again(keys: Integers, memories: Integers) -> Flags:
    """Which of the passages repeat an earlier one of their own memory: that says something twice, and is no copy of itself."""
    order = np.lexsort((memories, keys))
    keys, memories = keys[order], memories[order]
    again = np.zeros(len(keys), dtype=np.bool_)
    again[order[1:]] = (keys[1:] == keys[:-1]) & (memories[1:] == memories[:-1])
    return again


class KeyLookup:
    """Table rows by key. A row that is added later takes the place of an older one of the same key.

    Most are sorted; those added last wait unsorted until they outgrow an eighth of the rest, so that neither adding nor finding pays for all.
    """

    __slots__ = ("_keys", "_late_keys", "_late_rows", "_rows")

    def __init__(self) -> None:
        self._keys = self._rows = _NONE
        self._late_keys, self._late_rows = Column(np.int64), Column(np.int64)

    def find(self, keys: Integers) -> Integers:
        """The row of each of some distinct keys, which ascend; -1 where there is none."""
        found = _sorted_find(self._keys, self._rows, keys)
        late_keys, late_rows = self._late_keys.values, self._late_rows.values
        if len(keys) <= FEW:
            for place, key in enumerate(keys.tolist()):
                at = np.flatnonzero(late_keys == key)
                if len(at):
                    found[place] = late_rows[at[-1]]
            return found
        newer = _sorted_find(*_last_of_each(late_keys, late_rows), keys)
        return np.where(newer >= 0, newer, found)

    def add(self, keys: Integers, rows: Integers) -> None:
        """Adds one row a key."""
        self._late_keys.append(keys)
        self._late_rows.append(rows)
        if len(self._late_keys) > max(MERGE_ABOVE, len(self._keys) // 8):
            self._keys, self._rows = _last_of_each(
                np.concatenate([self._keys, self._late_keys.values]), np.concatenate([self._rows, self._late_rows.values])
            )
            self._late_keys, self._late_rows = Column(np.int64), Column(np.int64)

    def renumber(self, new_rows: Integers) -> None:
        """Every row becomes `new_rows[row]`; those that become negative are forgotten."""
        keys, rows = _last_of_each(
            np.concatenate([self._keys, self._late_keys.values]), np.concatenate([self._rows, self._late_rows.values])
        )
        rows = new_rows[rows]
        self._keys, self._rows = keys[rows >= 0], rows[rows >= 0]
        self._late_keys, self._late_rows = Column(np.int64), Column(np.int64)


def _sorted_find(known: Integers, rows: Integers, keys: Integers) -> Integers:
    if not len(known):
        return np.full(len(keys), -1)
    places = known.searchsorted(keys)
    return np.where(known.take(places, mode="clip") == keys, rows.take(places, mode="clip"), -1)


def _last_of_each(keys: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """The keys once each, ascending, with the row that was added last."""
    order = np.argsort(keys, kind="stable")
    keys, rows = keys[order], rows[order]
    is_last = np.ones(len(keys), dtype=np.bool_)
    is_last[:-1] = keys[1:] != keys[:-1]
    return keys[is_last], rows[is_last]
