"""Samples of memories, and how changes of the index affect them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.vectors.smallest import smallest

Integers = NDArray[np.int64]

_NONE: Integers = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Held:
    """Memories that have a live passage: slot, number and tie of each, as parallel arrays, once for each slot, in no order."""

    slots: Integers
    memories: Integers
    ties: Integers

    @classmethod
    def nothing(cls) -> "Held":
        """Returns an empty value."""
        return cls(_NONE, _NONE, _NONE)

    @classmethod
    def of(cls, slots: Integers, memories: Integers, ties: Integers) -> "Held":
        """Builds it from the slot, memory and tie of some passages."""
        if len(slots) < 2 or bool(((slots[1:] == slots[:-1]) & (memories[1:] > memories[:-1])).all()):
            return cls(slots, memories, ties)
        order = np.lexsort((memories, slots))
        slots, memories = slots[order], memories[order]
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = (slots[1:] != slots[:-1]) | (memories[1:] != memories[:-1])
        return cls(slots[is_first], memories[is_first], ties[order[is_first]])


@dataclass(frozen=True, slots=True)
class Sample:
    """The memories of some partitions with the smallest ties, by ascending tie, equal ones by number.

    The array cannot be written to. `last` is the greatest tie.
    """

    memories: Integers
    last: int | None

    @classmethod
    def of(cls, memories: Integers, ties: Integers, count: int) -> "Sample":
        """Returns the `count` memories that have the smallest ties, equal ones by smaller number."""
        chosen, ties = smallest(memories, ties, count=count)
        chosen.flags.writeable = False
        return cls(chosen, int(ties[-1]) if count else None)

    def outlasts(self, gone: Held, held: Held) -> bool:
        """Checks that a change, in any partition, leaves a sample of this size as it is."""
        if self.last is None or bool((held.ties <= self.last).any()):
            return False
        return not len(gone.memories) or not np.isin(gone.memories, self.memories).any()
