"""Detection of copies: passages with the same content and vector. Repeating one task daily costs one vector, not a thousand."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from alma.vectors.blocks import Halves
from alma.vectors.columns import Column

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

MERGE_ABOVE = 1024
FEW = 16

_TIES, _PARTITIONS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SEED = 20_261_125
_NONE: Integers = np.empty(0, dtype=np.int64)


def content_keys(partitions: Integers, ties: Integers, vectors: Halves) -> Integers:
    """Returns a hash of the partition, tie and vector of each passage, the same in every process. Equal passages have equal keys. Others collide
    almost never; they are compared by partition and tie as well, so only passages of one content could be taken for each other."""
    words = np.ascontiguousarray(vectors)
    if missing := -words.shape[1] % 4:
        words = np.pad(words, ((0, 0), (0, missing)))
    hashes = np.vecdot(words.view(np.uint64), _multipliers(words.shape[1] // 4))
    keys: NDArray[np.uint64] = hashes ^ ties.view(np.uint64) * _TIES ^ partitions.view(np.uint64) * _PARTITIONS
    return keys.view(np.int64)


@lru_cache(maxsize=4)
def _multipliers(count: int) -> NDArray[np.uint64]:
    """Returns odd numbers: then a change of a single word always changes the sum of products."""
    return np.random.default_rng(_SEED).integers(0, 2**64, count, dtype=np.uint64) | np.uint64(1)


def repeated_in_memory(keys: Integers, memories: Integers) -> Flags:
    """Marks the passages that repeat an earlier passage of their own memory. They are not copies: copies belong to different memories."""
    order = np.lexsort((memories, keys))
    keys, memories = keys[order], memories[order]
    again = np.zeros(len(keys), dtype=np.bool_)
    again[order[1:]] = (keys[1:] == keys[:-1]) & (memories[1:] == memories[:-1])
    return again


class KeyLookup:
    """Finds table rows by key. A row that is added later replaces an older one with the same key.

    Most entries are sorted. The latest wait unsorted until they outgrow an eighth of the rest, so that neither adding nor finding costs
    time proportional to all entries.
    """

    __slots__ = ("_keys", "_late_keys", "_late_rows", "_rows")

    def __init__(self) -> None:
        self._keys = self._rows = _NONE
        self._late_keys, self._late_rows = Column(np.int64), Column(np.int64)

    def find(self, keys: Integers) -> Integers:
        """Returns the row of each of the keys, which are distinct and ascending; -1 for an unknown key."""
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

    def entries(self) -> tuple[Integers, Integers]:
        """Returns the keys, ascending, and the row of each."""
        return _last_of_each(
            np.concatenate([self._keys, self._late_keys.values]), np.concatenate([self._rows, self._late_rows.values])
        )

    def add(self, keys: Integers, rows: Integers) -> None:
        """Adds one row per key."""
        if not len(self._keys) and not len(self._late_keys) and bool((keys[1:] > keys[:-1]).all()):
            self._keys, self._rows = keys.copy(), rows
            return
        self._late_keys.append(keys)
        self._late_rows.append(rows)
        if len(self._late_keys) > max(MERGE_ABOVE, len(self._keys) // 8):
            self._keys, self._rows = self.entries()
            self._late_keys, self._late_rows = Column(np.int64), Column(np.int64)

    def renumber(self, new_rows: Integers) -> None:
        """Replaces every row by `new_rows[row]` and drops those that become negative."""
        keys, rows = self.entries()
        rows = new_rows[rows]
        self._keys, self._rows = keys[rows >= 0], rows[rows >= 0]
        self._late_keys, self._late_rows = Column(np.int64), Column(np.int64)


def _sorted_find(known: Integers, rows: Integers, keys: Integers) -> Integers:
    if not len(known):
        return np.full(len(keys), -1)
    places = known.searchsorted(keys)
    return np.where(known.take(places, mode="clip") == keys, rows.take(places, mode="clip"), -1)


def _last_of_each(keys: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Returns the distinct keys, ascending, each with the row that was added last."""
    order = np.argsort(keys, kind="stable")
    keys, rows = keys[order], rows[order]
    is_last = np.ones(len(keys), dtype=np.bool_)
    is_last[:-1] = keys[1:] != keys[:-1]
    return keys[is_last], rows[is_last]
