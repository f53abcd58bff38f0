"""Arrays that grow at their end, at a cost that does not depend on how long they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class GrowingArray:
    """Rows of one shape and type. `rows` is a view of those that were appended; it is valid until the next one.

    Appended rows must not change afterwards: they wait, and are taken in together when rows are asked for.
    """

    def __init__(self, *shape: int, dtype: Any) -> None:
        self._held = np.zeros((0, *shape), dtype)
        self._count = 0
        self._waiting: list[Any] | None = None  # most arrays of many small ledgers wait for nothing

    def __len__(self) -> int:
        return self._count + len(self._waiting or ())

    @property
    def rows(self) -> NDArray[Any]:
        """All rows, in their order."""
        if self._waiting:
            self._take_in(self._waiting)
            self._waiting = None
        return self._held[: self._count]

    def append(self, row: Any) -> None:
        """Appends a row."""
        if self._waiting is None:
            self._waiting = []
        self._waiting.append(row)

    def _take_in(self, rows: list[Any]) -> None:
        needed = self._count + len(rows)
        if needed > len(self._held):
            more = np.zeros((max(needed - len(self._held), self._count), *self._held.shape[1:]), self._held.dtype)
            self._held = np.concatenate([self._held, more])
        self._held[self._count : needed] = rows
        self._count = needed
