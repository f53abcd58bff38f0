"""What one reader may read, worked out once: a project of two thousand agents has thousands of partitions, and no question should go through them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.types.kinds import MemoryType
from alma.types.partition import Partition

ALWAYS_HOLD = frozenset({MemoryType.USER_PREFERENCE.value})
"""What a user wants holds for every task: such memories are ranked, but never left out as beside the point."""

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ReadableScope:
    """The partitions that a reader may read, of those that are `known`. Iterates over them.

    `rows` and `kinds` have the row of each and its kind by row, `owners` the agents among the owners.
    """

    known: Mapping[int, Partition]
    by_row: Mapping[int, Partition]
    rows: tuple[int, ...]
    kinds: Mapping[int, str]
    owners: frozenset[str]
    _is_open: Flags
    _always_holds: Flags
    _kind_numbers: Integers

    @classmethod
    def of(cls, partitions: Iterable[Partition], known: Mapping[int, Partition]) -> "ReadableScope":
        """The scope of these partitions."""
        by_row = {partition.row: partition for partition in partitions}
        kinds = {row: partition.kind for row, partition in by_row.items()}
        numbers = {kind: number for number, kind in enumerate(sorted(set(kinds.values())))}
        size = max(by_row, default=0) + 2  # the last place is that of all others
        return cls(
            known=known,
            by_row=by_row,
            rows=tuple(by_row),
            kinds=kinds,
            owners=frozenset(partition.owner for partition in by_row.values() if not partition.is_user),
            _is_open=_table(size, dict.fromkeys(by_row, 1)).astype(np.bool_),
            _always_holds=_table(size, {row: kind in ALWAYS_HOLD for row, kind in kinds.items()}).astype(np.bool_),
            _kind_numbers=_table(size, {row: numbers[kind] for row, kind in kinds.items()}),
        )

    def __iter__(self) -> Iterator[Partition]:
        return iter(self.by_row.values())

    def __len__(self) -> int:
        return len(self.rows)

    def is_open(self, partitions: Integers) -> Flags:
        """Which of the partitions the reader may read."""
        return self._is_open.take(partitions, mode="clip")

    def always_hold(self, partitions: Integers) -> Flags:
        """Which of the partitions hold for every task."""
        return self._always_holds.take(partitions, mode="clip")

    def kind_numbers(self, partitions: Integers) -> Integers:
        """A number for the kind of each of the partitions."""
        return self._kind_numbers.take(partitions, mode="clip")


def _table(size: int, values: Mapping[int, int]) -> Integers:
    """The values by row, 0 for all other rows."""
    table = np.zeros(size, dtype=np.int64)
    table[list(values)] = list(values.values())
    return table
