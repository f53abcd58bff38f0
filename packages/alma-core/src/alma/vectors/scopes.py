"""Some partitions of an index, as its searches go through them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scope:
    """The slots of the partitions that are known, in the given order: all of them; those with a shelf of their own; and for each slot whether it is
    one of those that share a shelf, `None` if none is. `order` has the place of each slot in the given order."""

    slots: Integers
    own: tuple[int, ...]
    is_shared: NDArray[np.bool_] | None
    order: Integers

    @classmethod
    def of(cls, slots: Integers, has_own: NDArray[np.bool_]) -> "Scope":
        """The scope of these slots, some of which have a shelf of their own."""
        order = np.zeros(len(has_own), dtype=np.int64)
        order[slots] = np.arange(len(slots))
        shared = slots[~has_own[slots]]
        is_shared = np.zeros(len(has_own), dtype=np.bool_)
        is_shared[shared] = True
        return cls(slots, tuple(slots[has_own[slots]].tolist()), is_shared if len(shared) else None, order)
