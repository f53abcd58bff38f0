"""A large partition as a snapshot holds it: its passages and their codes, without the vectors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma.errors import ValidationError
from alma.vectors.blocks import Bytes, Halves, Integers

Slots = NDArray[np.int32]

FetchPassages = Callable[[Integers], tuple[Integers, Halves]]
"""Returns those of the passages that the store has a vector for, in any order, and these vectors."""


@dataclass(frozen=True, slots=True)
class SavedPartition:
    """Passages, ascending, with the position of their vector; the codes by position; and by which key a copy of a passage is found.

    `key_places` are the places of the passages in these arrays, by ascending key.
    """

    passages: Integers
    memories: Integers
    ties: Integers
    is_own: NDArray[np.bool_]
    positions: Slots
    keys: Integers
    key_places: Slots
    codes: Bytes

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> "SavedPartition":
        """Returns the partition of these arrays. `ValidationError` if they are not those of one."""
        try:
            saved = cls(**arrays)
            kinds = [array.dtype.str for array in saved.arrays().values()]
            are_filled = bool(np.bincount(saved.positions).all())
            has_places = not len(saved.keys) or 0 <= saved.key_places.min() <= saved.key_places.max() < len(saved.passages)
        except (TypeError, ValueError) as error:
            raise ValidationError(f"its arrays are no partition: {error}") from error
        sizes = {len(array) for array in (saved.passages, saved.memories, saved.ties, saved.is_own, saved.positions)}
        if kinds != KINDS or len(sizes) != 1 or len(saved.keys) != len(saved.key_places) or not are_filled or not has_places:
            raise ValidationError("its arrays do not fit together")
        return saved

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Returns the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def vectors(self) -> int:
        """The number of vectors. Copies share one."""
        return int(self.positions.max()) + 1 if len(self.positions) else 0


KINDS = ["<i8", "<i8", "<i8", "|b1", "<i4", "<i8", "<i4", "|u1"]
