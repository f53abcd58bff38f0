"""The partitions of a project that are known: they are only ever added, so what was read once stays true."""

from collections.abc import Mapping
from dataclasses import dataclass

from alma.storage.relational.logical import PartitionKey
from alma.types.partition import Partition


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions by row, and their rows by key; all that have a row up to `upto`."""

    by_row: Mapping[int, Partition]
    by_key: Mapping[PartitionKey, int]
    upto: int
