"""Samples of memories, and how changes of the index affect them."""

from dataclasses import dataclass

import numpy as np

from alma.vectors.columns import Integers

ENOUGH = 8
"""So many times as many passages as memories are wanted are looked at first: few memories have more."""


@dataclass(frozen=True, slots=True)
class Held:
    """Memories that have a live passage, ascending, with their partition and tie, as parallel arrays."""

    memories: Integers
    partitions: Integers
    ties: Integers

    @classmethod
    def of(cls, memories: Integers, partitions: Integers, ties: Integers) -> "Held":
        """Builds it from the memory, partition and tie of some passages."""
        if bool((memories[1:] > memories[:-1]).all()):
            return cls(memories, partitions, ties)
        memories, first = np.unique(memories, return_index=True)
        return cls(memories, partitions[first], ties[first])


@dataclass(frozen=True, slots=True)
class Sample:
    """The memories of some partitions with the smallest ties, by ascending tie, equal ones by number.

    The array cannot be written to. `last` is the greatest tie.
    """

    memories: Integers
    last: int | None

    @classmethod
    def of(cls, memories: Integers, ties: Integers, count: int) -> "Sample":
        """Returns the `count` memories that have the smallest ties. Memories may occur several times."""
        chosen = _smallest(ties, ENOUGH * count)
        held = Held.of(memories[chosen], chosen, ties[chosen])
        if len(held.memories) < count and len(chosen) < len(ties):
            held = Held.of(memories, memories, ties)
        order = np.lexsort((held.memories, held.ties))[:count]
        found = held.memories[order]
        found.flags.writeable = False
        return cls(found, int(held.ties[order[-1]]) if len(order) else None)

    def outlasts(self, gone: Held, held: Held) -> bool:
        """Checks that a change, in any partition, leaves a sample of this size as it is."""
        if self.last is None or bool((held.ties <= self.last).any()):
            return False
        return not len(gone.memories) or not np.isin(gone.memories, self.memories).any()


def _smallest(ties: Integers, count: int) -> Integers:
    """Returns the places of the `count` smallest ties, ascending, and of all that equal the last of them."""
    if not 0 < count < len(ties):
        return np.arange(len(ties))
    return np.flatnonzero(ties <= np.partition(ties, count - 1)[count - 1])
