"""Growable arrays, and an index of them by a number."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Columns:
    """Rows of fixed-width values, appended at the end. `column(name)` is a view of a column as long as there are rows."""

    def __init__(self, **types: str) -> None:
        self._size = 0
        self._arrays: dict[str, NDArray[Any]] = {name: np.empty(64, dtype=kind) for name, kind in types.items()}

    def __len__(self) -> int:
        return self._size

    def column(self, name: str) -> NDArray[Any]:
        """Returns a column. What is written to it is stored."""
        return self._arrays[name][: self._size]

    def trim(self) -> None:
        """Gives up the room that was kept for further rows."""
        for name, array in self._arrays.items():
            self._arrays[name] = array[: self._size].copy()

    def extend(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Appends rows, each with its values in the order of the columns."""
        if not rows:
            return
        needed = self._size + len(rows)
        for (name, array), values in zip(self._arrays.items(), zip(*rows, strict=True), strict=True):
            if needed > len(array):
                grown = np.empty(needed + (needed >> 3), dtype=array.dtype)
                grown[: self._size] = array[: self._size]
                self._arrays[name] = array = grown  # noqa: PLW2901
            array[self._size : needed] = values
        self._size = needed


class Index:
    """Rows by the value of a column, which may grow: those at its end that are not sorted yet are looked through."""

    UNSORTED = 2_000

    def __init__(self) -> None:
        self._order: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._sorted: NDArray[Any] = np.empty(0, dtype=np.int32)

    def find(self, column: NDArray[Any], values: Ints) -> Ints:
        """Returns the rows that have one of these values, all different, in the column, which is the one that was given before, or longer."""
        if len(column) - len(self._order) > max(self.UNSORTED, len(self._order) >> 4):
            self._order = np.argsort(column, kind="stable").astype(np.int32)
            self._sorted = column[self._order]
        known = len(self._order)
        firsts, lasts = (np.searchsorted(self._sorted, values, side) for side in ("left", "right"))
        counts = lasts - firsts
        begins = np.cumsum(counts) - counts
        places = np.arange(counts.sum(), dtype=np.int64) + np.repeat(firsts - begins, counts)
        found: Ints = self._order[places].astype(np.int64)
        if known == len(column):
            return found
        return np.concatenate([found, np.nonzero(np.isin(column[known:], values))[0] + known])
