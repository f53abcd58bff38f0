"""The partitions of a project that are known: they are only ever added, so what was read once stays true."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from alma.storage.relational.logical import PartitionKey
from alma.types.partition import Partition


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions by row, and their rows by key; all that have a row up to `upto`."""

    by_row: Mapping[int, Partition]
    by_key: Mapping[PartitionKey, int]
    upto: int

    def grown(self, rows: Iterable[tuple[int, int, str, str]], upto: int) -> "Partitions":
        """Returns these and those of rows as they are stored: row, whether of a user, owner and kind. One without a kind was dropped."""
        made = [Partition(row, bool(is_user), owner, kind) for row, is_user, owner, kind in rows if kind]
        by_row = {one.row: one for one in made}
        by_key = {(one.is_user, one.owner, one.kind): one.row for one in made}
        return Partitions({**self.by_row, **by_row}, {**self.by_key, **by_key}, upto)

    def without(self, rows: Collection[int]) -> "Partitions":
        """Returns the others."""
        by_row = {row: one for row, one in self.by_row.items() if row not in rows}
        return Partitions(by_row, {key: row for key, row in self.by_key.items() if row not in rows}, self.upto)
