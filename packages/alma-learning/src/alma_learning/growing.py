"""A matrix that grows by rows."""

import numpy as np

from alma_learning.trials import Matrix


class GrowingRows:
    """Rows of float32 of one length, with room for more behind them."""

    def __init__(self, rows: Matrix | None = None) -> None:
        self._held = np.zeros((0, 0), np.float32) if rows is None else rows.astype(np.float32)
        self._count = len(self._held)

    @property
    def rows(self) -> Matrix:
        """The rows, as a view."""
        return self._held[: self._count]

    def append(self, row: Matrix) -> None:
        """Adds a row."""
        self.extend(row[None])

    def extend(self, rows: Matrix) -> None:
        """Adds rows."""
        if not len(rows):
            return
        count = self._count + len(rows)
        if count > len(self._held):
            held = np.zeros((max(count, 2 * self._count, 16), rows.shape[1]), np.float32)
            if self._count:
                held[: self._count] = self.rows
            self._held = held
        self._held[self._count : count] = rows
        self._count = count
