"""The vectors of texts as rows of matrices."""

from collections.abc import Sequence

import numpy as np

from alma_learning.trials import Indices, Matrix, Vectors


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


class TextRows:
    """The vectors of texts, made in batches when they are needed."""

    def __init__(self, vectors: Vectors) -> None:
        self._make = vectors
        self._held = GrowingRows()
        self._place: dict[str, int] = {}

    @property
    def rows(self) -> Matrix:
        """The vectors, (n, d)."""
        return self._held.rows

    def of(self, text: str) -> Matrix:
        """Returns the vector of a text."""
        vector: Matrix = np.asarray(self._make([text]), np.float32)[0]
        return vector

    def places(self, texts: Sequence[str]) -> Indices:
        """Returns the rows of texts. Vectors of new ones are made in one batch."""
        new = [text for text in dict.fromkeys(texts) if text not in self._place]
        if new:
            made = np.asarray(self._make(new), np.float32)
            self._place.update(zip(new, range(len(self._place), len(self._place) + len(new)), strict=True))
            self._held.extend(made)
        return np.array([self._place[text] for text in texts], np.intp)
