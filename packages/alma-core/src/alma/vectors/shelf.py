"""Vectors, each stored once, with the passages that share it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from alma.vectors.blocks import Block, Halves, Stored, Vector
from alma.vectors.columns import Column
from alma.vectors.table import PassageTable, ascending

Integers = NDArray[np.int64]


class Shelf:
    """A block of vectors by position. `rows[position]` is the table row of the newest passage there; its older copies are kept aside.

    Copies are passages of one partition with one tie and one vector. The table holds the position of every passage, for copies the same.
    """

    __slots__ = ("_older", "block", "rows")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.rows = Column(np.int64)
        self._older: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def has_copies(self) -> bool:
        """True when any position has several passages."""
        return bool(self._older)

    def append(self, rows: Integers, vectors: Halves, table: PassageTable) -> None:
        """Appends passages, each at a position of its own."""
        table.position.values[rows] = np.arange(len(self.rows), len(self.rows) + len(rows))
        self.block.append(vectors)
        self.rows.append(rows)

    def restore(self, rows: Integers, positions: NDArray[np.int32], table: PassageTable) -> None:
        """Takes passages, ascending, with the positions of their vectors in the block, where every one has a passage. The shelf was empty."""
        table.position.values[rows] = positions
        order = np.argsort(positions, kind="stable")
        places, rows = positions[order], rows[order]
        is_newest = np.ones(len(rows), dtype=np.bool_)
        is_newest[:-1] = places[1:] != places[:-1]
        self.rows.append(rows[is_newest])
        for row, position in zip(rows[~is_newest].tolist(), places[~is_newest].tolist(), strict=True):
            self._older.setdefault(position, []).append(row)

    def join(self, rows: Integers, others: Integers, table: PassageTable) -> None:
        """Adds passages as copies of passages that are on this shelf."""
        newest, passages = self.rows.values, table.passage.values
        positions = table.position.values[others]
        table.position.values[rows] = positions
        for row, position in zip(rows.tolist(), positions.tolist(), strict=True):
            before = int(newest[position])
            is_newer = passages[row] > passages[before]
            newest[position] = row if is_newer else before
            older = self._older.setdefault(position, [])
            older.append(before if is_newer else row)
            if len(older) > 1 and passages[older[-1]] < passages[older[-2]]:
                older.sort(key=passages.__getitem__)

    def remove(self, rows: Integers, table: PassageTable) -> Integers:
        """Removes passages. Returns the newest remaining row of each position that had copies.

        The last vectors move into empty positions, so that the cost depends on the number removed, not on the number held.
        """
        positions = table.position.values[rows].astype(np.int64)
        left = self._left(rows, positions, table)
        empty = ascending(positions)
        self._close(empty[~np.isin(empty, table.position.values[left])] if len(left) else empty, table)
        return left

    def _left(self, rows: Integers, positions: Integers, table: PassageTable) -> Integers:
        """Removes the rows from among copies. Returns the newest remaining row at each position."""
        gone: dict[int, set[int]] = {}
        for row, position in zip(rows.tolist(), positions.tolist(), strict=True) if self._older else ():
            if position in self._older:
                gone.setdefault(position, set()).add(row)
        left = []
        for position, leaving in gone.items():
            stays = [row for row in (*self._older.pop(position), int(self.rows.values[position])) if row not in leaving]
            if stays:
                self.rows.values[position] = stays[-1]
                left.append(stays[-1])
            if len(stays) > 1:
                self._older[position] = stays[:-1]
        return np.array(left, dtype=np.int64)

    def _close(self, empty: Integers, table: PassageTable) -> None:
        """Fills the gaps at empty positions."""
        rows = self.rows.values
        length = len(rows) - len(empty)
        holes = empty[empty < length]
        is_leaving = np.zeros(len(empty), dtype=np.bool_)
        is_leaving[empty[empty >= length] - length] = True
        movers = length + np.flatnonzero(~is_leaving)
        self.block.refill(holes, movers, length=length)
        rows[holes] = rows[movers]
        table.position.values[rows[holes]] = holes
        for mover, hole in zip(movers.tolist(), holes.tolist(), strict=True) if self._older else ():
            if mover in self._older:
                self._older[hole] = self._older.pop(mover)
                table.position.values[self._older[hole]] = hole
        self.rows.cut(length)

    def renumber(self, new_rows: Integers) -> None:
        """Replaces every row by `new_rows[row]`."""
        self.rows.replace(new_rows[self.rows.values])
        self._older = {position: new_rows[older].tolist() for position, older in self._older.items()}

    def spread(self, positions: Integers, scores: Vector, table: PassageTable, *, most: int) -> tuple[Integers, Vector]:
        """Returns the rows at these positions, at most `most` of the newest at each, with their scores."""
        if not self._older or most == 1:
            return self.rows.values[positions], scores
        order = np.argsort(positions)
        rows = self.with_copies(positions, most=most)
        places = positions.searchsorted(table.position.values[rows], sorter=order)
        return rows, scores[order[places]]

    def with_copies(self, positions: Integers, *, most: int | None = None) -> Integers:
        """Returns the rows at these positions, at most `most` of the newest at each."""
        newest = self.rows.values[positions]
        older = [self._older[position] for position in positions.tolist() if position in self._older] if self._older else []
        if not older or most == 1:
            return newest
        return np.concatenate([newest, *(_last(rows, most) for rows in older)])

    def all_rows(self) -> Integers:
        """Returns all rows, in no order."""
        return self.with_copies(np.arange(len(self.rows)))

    def all_vectors(self, table: PassageTable) -> Stored:
        """Returns the vectors of all rows, in the order of `all_rows`. They must not be written to."""
        stored = self.block.stored()
        return stored[table.position.values[self.all_rows()]] if self._older else stored

    def copies(self, rows: Integers, table: PassageTable) -> Integers:
        """Returns for each row the number of its copies, itself included, if it is the newest of them, else 0."""
        positions = table.position.values[rows]
        counts: Integers = (self.rows.values[positions] == rows).astype(np.int64)
        for place in np.flatnonzero(counts).tolist() if self._older else ():
            counts[place] += len(self._older.get(int(positions[place]), ()))
        return counts


def _last(rows: Sequence[int], most: int | None) -> Integers:
    return np.array(rows if most is None else rows[max(len(rows) - most + 1, 0) :], dtype=np.int64)
