"""The memories of one partition with the smallest ties, updated as memories come and go."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class SmallestTies:
    """A prefix of the partition's memories in the order of their ties, equal ones by number.

    `ties` and `memories` are parallel. `is_complete` says that it holds all of them.
    """

    __slots__ = ("_capacity", "is_complete", "memories", "ties")

    def __init__(self, memories: Integers, ties: Integers, *, capacity: int) -> None:
        self._capacity = capacity
        self.is_complete = len(ties) <= capacity
        self.memories, self.ties = smallest(memories, ties, count=min(len(ties), capacity))

    def suffices(self, count: int) -> bool:
        """Checks that the first `count` are certainly here."""
        return self.is_complete or len(self.ties) >= count

    def update(self, gone: Integers, memories: Integers, ties: Integers) -> None:
        """Removes memories, then adds others. A memory in both has a new tie."""
        if len(gone):
            stays = ~np.isin(self.memories, gone)
            self.memories, self.ties = self.memories[stays], self.ties[stays]
        if not self.is_complete:
            nearer = self._are_before_the_last(memories, ties)
            memories, ties = memories[nearer], ties[nearer]
        if len(memories):
            self.memories, self.ties = smallest(
                np.concatenate([self.memories, memories]), np.concatenate([self.ties, ties]), count=len(self.ties) + len(ties)
            )
            self._trim(2 * self._capacity)

    def _are_before_the_last(self, memories: Integers, ties: Integers) -> NDArray[np.bool_]:
        if not len(self.ties):
            return np.zeros(len(ties), dtype=np.bool_)
        last = self.ties[-1]
        are: NDArray[np.bool_] = (ties < last) | ((ties == last) & (memories < self.memories[-1]))
        return are

    def _trim(self, most: int) -> None:
        if len(self.ties) > most:
            self.memories, self.ties = self.memories[: self._capacity].copy(), self.ties[: self._capacity].copy()
            self.is_complete = False


def smallest(memories: Integers, ties: Integers, *, count: int) -> tuple[Integers, Integers]:
    """Returns the `count` memories with the smallest ties and these ties, ascending, equal ones by number."""
    if 0 < count < len(ties):
        last = np.partition(ties, count - 1)[count - 1]
        chosen = np.flatnonzero(ties <= last)
        memories, ties = memories[chosen], ties[chosen]
    order = np.argsort(ties, kind="stable")
    ordered = ties[order]
    if bool((ordered[1:] == ordered[:-1]).any()):
        order = np.lexsort((memories, ties))
    order = order[:count]
    return memories[order], ties[order]
