"""The table of some tasks, made once whoever asks: its rows, and how to find the row of an action."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from alma_learning.actions import name_same_action
from alma_learning.differences import normalise
from alma_learning.table import Row, Table
from alma_learning.trials import Indices, Matrix
from alma_learning.ways import FOUND


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Rows with the wordings and tasks behind each, not yet of a question."""

    rows: tuple[Row, ...]
    wordings: Sequence[Sequence[str]]
    """Of each row all, also those that may not be shown."""
    words: Mapping[str, int]
    """The places of the rows by the normalised words of a wording."""
    tasks: Indices
    """The numbers of the tasks behind the rows that the reader may read, each once; -1 for a row without any."""
    texts: Indices
    """The rows of the vectors of `tasks`; any for a row without."""
    places: Indices
    """Of the tasks behind each row, row by row, the place among `tasks`."""
    starts: Indices
    """Where each row begins among `places`."""
    count: int
    trials: int
    successes: int
    partials: int
    base: float
    compare: Callable[[str], Sequence[float]]
    """How alike an action is to each row's wordings, on average."""
    holds: Callable[[str], bool]
    """Checks that an outcome is of one of the tasks."""

    def ask(self, similarities: Matrix | None, nearness: float) -> Table:
        """Returns the table for a question, by the cosines of `tasks` to it."""
        nearest = np.ones(len(self.rows))
        if similarities is not None and self.rows:
            nearest = np.maximum.reduceat(similarities[self.places], self.starts).clip(0.0, 1.0)
        return Table(
            self.rows,
            nearness,
            self.count,
            self.trials,
            self.successes,
            self.partials,
            self.base,
            self.place_of,
            self.holds,
            similarities=tuple(nearest.tolist()),
        )

    def place_of(self, action: str) -> int | None:
        """Returns the place of the row of an action: equal words, the same call or command, else the nearest of one way."""
        place = self.words.get(normalise(action))
        if place is None:
            place = next((p for p, ways in enumerate(self.wordings) if any(name_same_action(action, way) for way in ways)), None)
        if place is None and self.rows:
            alike = self.compare(action)
            best = int(np.argmax(alike))
            place = best if alike[best] >= FOUND else None
        return place
