"""The memories that full text knows, with what BM25 has to know of each beside its words: how long its text is, and whose it is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from alma.storage.relational.text_index import Integers
from alma.types.found import TextLengths

SCOPES_KEPT = 64
SMALLEST = 1024

Slots = NDArray[np.int32]
Flags = NDArray[np.bool_]

TextRow = tuple[int, int, float]
"""Memory, partition and a part of the length of its text."""

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class TextScope:
    """A consistent view of some partitions of a table: how many memories they hold, and how much text. The table's arrays stand beside them.

    `is_open` says which slots are part of the scope; `None` if all of them are.
    """

    count: int
    total_length: float
    memories: Integers
    lengths: NDArray[np.float32]
    slots: Slots
    is_open: Flags | None


class TextTable:
    """Number, partition and length of each memory, by place: ascending by number. Slots stand for partitions, counted from 0.

    A length is in bytes, weighted; that of a memory whose text is gone is 0. A cache: `upto` is the newest journal `seq` in it. Not thread-safe;
    a `TextScope` stays as it is while others are taken in, except that a changed memory may show its new length.
    """

    def __init__(self) -> None:
        self.upto = 0
        self._size = 0
        self._memories: Integers = np.zeros(SMALLEST, dtype=np.int64)
        self._lengths = np.zeros(SMALLEST, dtype=np.float32)
        self._slots: Slots = np.zeros(SMALLEST, dtype=np.int32)
        self._slot_of: dict[int, int] = {}
        self._counts: Integers = np.zeros(0, dtype=np.int64)
        self._totals: NDArray[np.float64] = np.zeros(0)
        self._scopes: dict[Sequence[int], tuple[Integers, Flags]] = {}

    @property
    def memories(self) -> Integers:
        """All memories, those included whose text is gone."""
        return self._memories[: self._size]

    def scope(self, partitions: Sequence[int]) -> TextScope:
        """The memories of these partitions."""
        slots, is_open = self._open(partitions)
        count = int(self._counts[slots].sum())
        is_all = count == self._counts.sum()
        return TextScope(
            count=count,
            total_length=float(self._totals[slots].sum()),
            memories=self.memories,
            lengths=self._lengths[: self._size],
            slots=self._slots[: self._size],
            is_open=None if is_all else is_open,
        )

    def take(self, rows: Iterable[TextRow], *, upto: int) -> bool:
        """Takes in new and changed memories, each with all parts of its length. `False`, and nothing is taken in, if a memory is neither known
        nor newer than all that are."""
        return self._take(*_summed(rows), upto=upto)

    def lengths(self) -> TextLengths:
        """Returns all memories with their partition and length, in arrays of their own."""
        numbers = np.array(list(self._slot_of), dtype=np.int64)
        slots, lengths = self._slots[: self._size], self._lengths[: self._size]
        return TextLengths(self.upto, self.memories.copy(), numbers[slots], lengths.copy())

    def hold(self, lengths: TextLengths) -> None:
        """Takes in what another table returned. Nothing was taken in before."""
        self._take(lengths.memories, lengths.partitions, lengths.lengths, upto=lengths.upto)

    def _take(self, memories: Integers, partitions: Integers, lengths: NDArray[np.float32], *, upto: int) -> bool:
        if len(memories):
            places = self.memories.searchsorted(memories)
            is_new = self.memories.take(places, mode="clip") != memories if self._size else np.ones(len(memories), dtype=np.bool_)
            if self._size and bool((memories[is_new] <= self.memories[-1]).any()):
                return False
            slots = self._slots_of(partitions)
            known = places[~is_new]
            self._count(self._slots[known], self._lengths[known], -1)
            self._lengths[known], self._slots[known] = lengths[~is_new], slots[~is_new]
            self._append(memories[is_new], lengths[is_new], slots[is_new])
            self._count(slots, lengths, 1)
        self.upto = upto
        return True

    def _count(self, slots: Slots, lengths: NDArray[np.float32], sign: int) -> None:
        """Counts memories in, or out. The sums are exact: lengths are multiples of a half."""
        size = len(self._counts)
        self._counts += sign * np.bincount(slots, lengths > 0, minlength=size).astype(np.int64)
        self._totals += sign * np.bincount(slots, lengths.astype(np.float64), minlength=size)

    def _append(self, memories: Integers, lengths: NDArray[np.float32], slots: Slots) -> None:
        start, self._size = self._size, self._size + len(memories)
        self._memories = _grown(self._memories, self._size)
        self._lengths = _grown(self._lengths, self._size)
        self._slots = _grown(self._slots, self._size)
        self._memories[start : self._size] = memories
        self._lengths[start : self._size] = lengths
        self._slots[start : self._size] = slots

    def _slots_of(self, partitions: Integers) -> Slots:
        """The slot of each partition; new ones get the next."""
        occurring, inverse = np.unique(partitions, return_inverse=True)
        slots = [self._slot_of.setdefault(partition, len(self._slot_of)) for partition in occurring.tolist()]
        if len(self._slot_of) > len(self._counts):
            more = len(self._slot_of) - len(self._counts)
            self._counts = np.concatenate([self._counts, np.zeros(more, dtype=np.int64)])
            self._totals = np.concatenate([self._totals, np.zeros(more)])
            self._scopes = {}
        return np.array(slots, dtype=np.int32)[inverse]

    def _open(self, partitions: Sequence[int]) -> tuple[Integers, Flags]:
        """The slots of partitions, and for each slot whether it is among them."""
        known = self._scopes.get(partitions)
        if known is None:
            slots = np.array([self._slot_of[number] for number in partitions if number in self._slot_of], dtype=np.int64)
            is_open = np.zeros(len(self._slot_of), dtype=np.bool_)
            is_open[slots] = True
            if len(self._scopes) >= SCOPES_KEPT:
                self._scopes = {}
            known = self._scopes[partitions] = slots, is_open
        return known


def _summed(rows: Iterable[TextRow]) -> tuple[Integers, Integers, NDArray[np.float32]]:
    """Each memory once, ascending, with its partition and the sum of its parts. Of a million rows none is kept as an object."""
    table = np.fromiter(chain.from_iterable(rows), dtype=np.float64).reshape(-1, 3)
    memories, first, inverse = np.unique(table[:, 0], return_index=True, return_inverse=True)
    lengths = np.bincount(inverse, table[:, 2], minlength=len(memories))
    return memories.astype(np.int64), table[first, 1].astype(np.int64), lengths.astype(np.float32)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with room for `size` entries, at least doubled if it has to grow."""
    if size <= len(array):
        return array
    grown = np.zeros(max(size, 2 * len(array)), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
