"""Scans of the vectors of an index for one query, at most one per partition."""

from collections.abc import Mapping

from alma.vectors.blocks import Integers, Scan, Vector
from alma.vectors.partition import Partition

FEW = 4
"""Below one in this many, vectors are compared one by one rather than by a scan of all of them."""


class Scans:
    """One query and the partitions that it is compared with, by number. Valid until the next change of any of them."""

    __slots__ = ("_partitions", "_query", "_scans")

    def __init__(self, partitions: Mapping[int, Partition], query: Vector) -> None:
        self._partitions, self._query = partitions, query
        self._scans: dict[int, Scan] = {}

    def best(self, number: int, limit: int) -> tuple[Integers, Vector]:
        """Returns positions and inner products of all vectors of a partition that fewer than `limit` others beat, in no order."""
        return self._whole(number).best(limit)

    def at(self, number: int, positions: Integers) -> Vector:
        """Returns the inner products of the vectors at these positions of a partition."""
        partition = self._partitions[number]
        if number in self._scans or FEW * len(positions) > len(partition.shelf):
            return self._whole(number).at(positions)
        return partition.method.comparison(partition.shelf.block.at(positions))(self._query)

    def _whole(self, number: int) -> Scan:
        if number not in self._scans:
            self._scans[number] = self._partitions[number].shelf.block.scan(self._query)
        return self._scans[number]
