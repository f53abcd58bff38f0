"""The partitions of an index that one search visits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scope:
    """The slots of the known partitions in the given order; the slots that have a shelf of their own; and a mask of the slots on the
    shared shelf, `None` if there are none. `order` maps a slot to its place in the given order."""

    slots: Integers
    own: tuple[int, ...]
    is_shared: NDArray[np.bool_] | None
    order: Integers

    @classmethod
    def of(cls, slots: Integers, has_own: NDArray[np.bool_]) -> "Scope":
        """Builds the scope of these slots; `has_own` marks the slots with a shelf of their own."""
        order = np.zeros(len(has_own), dtype=np.int64)
        order[slots] = np.arange(len(slots))
        shared = slots[~has_own[slots]]
        is_shared = np.zeros(len(has_own), dtype=np.bool_)
        is_shared[shared] = True
        return cls(slots, tuple(slots[has_own[slots]].tolist()), is_shared if len(shared) else None, order)
