"""Arrays that grow at their end, at a cost that does not depend on how long they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class GrowingArray:
    """Rows of one shape and type. `rows` is a view of those that were appended; it is valid until the next one."""

    def __init__(self, *shape: int, dtype: Any) -> None:
        self._held = np.zeros((0, *shape), dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[Any]:
        """All rows, in their order."""
        return self._held[: self._count]

    def append(self, row: Any) -> None:
        """Appends a row."""
        if self._count == len(self._held):
            more = np.zeros((max(self._count, 1), *self._held.shape[1:]), self._held.dtype)
            self._held = np.concatenate([self._held, more])
        self._held[self._count] = row
        self._count += 1
