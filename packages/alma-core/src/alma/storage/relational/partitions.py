"""The partitions of a project that are known: they are only ever added, so what was read once stays true."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from alma.storage.relational.logical import PartitionKey
from alma.types.partition import Partition


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions by row, and their rows by key; all that have a row up to `upto`."""

    by_row: Mapping[int, Partition]
    by_key: Mapping[PartitionKey, int]
    upto: int

    def without(self, rows: Collection[int]) -> "Partitions":
        """Returns the others."""
        by_row = {row: one for row, one in self.by_row.items() if row not in rows}
        return Partitions(by_row, {key: row for key, row in self.by_key.items() if row not in rows}, self.upto)
