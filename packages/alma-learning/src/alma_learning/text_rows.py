"""The vectors of texts as rows of matrices."""

import numpy as np

from alma_learning.trials import Matrix, Vectors


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
    """The vectors of tasks and of ways in their order, made in one batch when they are needed."""

    def __init__(self, vectors: Vectors) -> None:
        self._make = vectors
        self._held = [GrowingRows(), GrowingRows()]
        self._texts: tuple[list[str], list[str]] = ([], [])

    @property
    def tasks(self) -> Matrix:
        return self._held[0].rows

    @property
    def forms(self) -> Matrix:
        return self._held[1].rows

    def of(self, text: str) -> Matrix:
        """Returns the vector of a text."""
        vector: Matrix = np.asarray(self._make([text]), np.float32)[0]
        return vector

    def learn(self, tasks: list[str], forms: list[str]) -> None:
        """Holds the vectors of these texts, the first of which are those held."""
        fresh = [tasks[len(self._texts[0]) :], forms[len(self._texts[1]) :]]
        if not any(fresh):
            return
        made = np.asarray(self._make(fresh[0] + fresh[1]), np.float32)
        for held, texts, new, rows in zip(self._held, self._texts, fresh, np.split(made, [len(fresh[0])]), strict=True):
            held.extend(rows)
            texts.extend(new)

    def arrange(self, tasks: list[str], forms: list[str]) -> None:
        """Holds the vectors of these texts in their order, and makes those of new ones."""
        known = {
            text: row
            for texts, held in zip(self._texts, self._held, strict=True)
            for text, row in zip(texts, held.rows, strict=True)
        }
        new = [text for text in dict.fromkeys([*tasks, *forms]) if text not in known]
        if new:
            known |= dict(zip(new, np.asarray(self._make(new), np.float32), strict=True))
        self._held, self._texts = [GrowingRows(), GrowingRows()], (list(tasks), list(forms))
        for held, texts in zip(self._held, self._texts, strict=True):
            if texts:
                held.extend(np.stack([known[text] for text in texts]))
