"""Table with one row per passage of the project, in the order of arrival."""

import numpy as np
from numpy.typing import NDArray

from alma.vectors.columns import Column
from alma.vectors.lookup import RowLookup

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class PassageTable:
    """Stores what is known of each passage besides its vector. Rows of removed passages stay, marked, until `compact`."""

    __slots__ = ("_by_memory", "_by_passage", "_dead", "is_own", "live", "memory", "passage", "position", "slot", "tie")

    def __init__(self) -> None:
        self.passage = Column(np.int64)
        self.memory = Column(np.int64)
        self.tie = Column(np.int64)
        self.is_own = Column(np.bool_)
        self.slot = Column(np.int32)
        self.position = Column(np.int32)
        self.live = Column(np.bool_)
        self._by_passage = RowLookup()
        self._by_memory = RowLookup()
        self._dead = 0

    def __len__(self) -> int:
        return len(self.passage)

    @property
    def live_count(self) -> int:
        return len(self) - self._dead

    @property
    def dead_count(self) -> int:
        return self._dead

    def append(self, *, passages: Integers, memories: Integers, ties: Integers, is_own: Flags, slots: Integers) -> Integers:
        """Adds live rows, without a position yet, and returns them. The passages must not be live already."""
        rows = np.arange(len(self), len(self) + len(passages))
        self.passage.append(passages)
        self.memory.append(memories)
        self.tie.append(ties)
        self.is_own.append(is_own)
        self.slot.append(slots.astype(np.int32))
        self.position.append(np.zeros(len(passages), dtype=np.int32))
        self.live.append(np.ones(len(passages), dtype=np.bool_))
        self._by_passage.add(passages, rows)
        self._by_memory.add(memories, rows)
        return rows

    def are_newer(self, passages: Integers, memories: Integers) -> bool:
        """Checks that all rows, also those of removed passages, have smaller numbers."""
        return self._by_passage.are_newer(passages) and self._by_memory.are_newer(memories)

    def mark_removed(self, rows: Integers) -> None:
        """Marks live rows as removed."""
        self.live.values[rows] = False
        self._dead += len(rows)

    def of_passages(self, passages: Integers) -> Integers:
        """Returns the live rows of these passages; unknown ones are left out."""
        return self._living(self._by_passage.find(ascending(passages)))

    def of_memories(self, memories: Integers) -> Integers:
        """Returns the live rows of these memories; unknown ones are left out."""
        return self._living(self._by_memory.find(ascending(memories)))

    def compact(self) -> Integers:
        """Drops the rows of removed passages. Returns the new row of each old one, -1 for a dropped one."""
        live = self.live.values
        new_rows = np.where(live, np.cumsum(live) - 1, -1)
        self._by_passage.renumber(new_rows)
        self._by_memory.renumber(new_rows)
        live = live.copy()
        for whole in (self.passage, self.memory, self.tie):
            whole.keep(live)
        for short in (self.slot, self.position):
            short.keep(live)
        for flags in (self.is_own, self.live):
            flags.keep(live)
        self._dead = 0
        return new_rows

    def _living(self, rows: Integers) -> Integers:
        return rows[self.live.values[rows]] if self._dead else rows


def ascending(values: Integers) -> Integers:
    """Returns the distinct values, ascending."""
    values = np.asarray(values, dtype=np.int64)
    if len(values) < 2 or bool((values[1:] > values[:-1]).all()):
        return values
    values = np.sort(values)
    is_new = np.ones(len(values), dtype=np.bool_)
    is_new[1:] = values[1:] != values[:-1]
    return values[is_new]
