"""Input of the projection: outcomes as they were recorded, and the task that is asked about."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]

Vectors = Callable[[Sequence[str]], Matrix]
"""Returns the unit vectors of n texts, (n, d). Called in batches, for texts not seen before."""

OWN_WORD = frozenset({"agent", "imported"})
"""Sources that prove nothing alone: an agent's own word, and the word of a foreign file."""


class Trial(NamedTuple):
    """One outcome as it was recorded."""

    id: str
    number: int
    """Rises with each outcome recorded."""
    task: str
    """Key of the task, the unit of evidence: equal for retries."""
    text: str
    """The words of the task."""
    way: str
    """The way that was tried, in words; "" where no strategy was named."""
    worth: float | None
    """1 for a success, 0.5 for a partial one, 0 for a failure; `None` where nobody judged: kept, never counted."""
    at: int
    """Time of the outcome, in microseconds."""
    agent: str
    user: str | None = None
    task_type: str | None = None
    """Kinds of different stated types never join."""
    difficulty: str | None = None
    """Kinds of different stated difficulties never join, either."""
    source: str = "caller"
    """Source of the verdict: `tool`, `person`, `evaluator`, `caller`, `agent` (its own word) or `imported`."""
    session: str | None = None
    """The run: outcomes of one session are one cluster."""
    error: str | None = None
    words: str | None = None
    """Key of the words of the task, where `task` is an id: a question in these words is about it."""
    is_hidden: bool = False
    """Recorded for another user: it counts, but its words are shown only where two users, or an outcome without a user, brought them."""
    is_step: bool = False
    """One step of an attempt: it has a table of its own, and the kind of task of the attempt."""


@dataclass(frozen=True, slots=True)
class Question:
    """The task that is asked about. Without text, key and type: all that was tried."""

    text: str | None = None
    task: str | None = None
    """Key of the task in words, if it may have been tried itself."""
    task_type: str | None = None
    vector: Vector | None = None
    """The vector of `text`, if it is known."""
    of_steps: bool = False
    """True for single steps, False for whole attempts."""


@dataclass(frozen=True, slots=True)
class Needed:
    """Numbers of successes that make a heuristic, and of failures that make an anti-pattern, of one agent alone."""

    successes: int = 3
    failures: int = 2


class Embedding(StrEnum):
    """Kind of likeness that the cosines of an embedder show."""

    MEANING = "meaning"
    """Cosines separate meanings, as those of sentence models do."""
    WORDS = "words"
    """Hashed words: only equal and nearly equal words are one way."""
