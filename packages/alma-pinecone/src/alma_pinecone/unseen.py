"""Writes that the service acknowledged and does not show yet: its reads follow its writes by seconds."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.protocols import VectorChanges

PATIENCE_SECONDS = 60.0
"""For this long a process trusts what it wrote over an older state that the service shows."""
MOST = 20_000
"""Passages kept at most. What was written before them is taken for shown."""

Integers = NDArray[np.int64]

_NONE: Integers = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Held:
    """A state of the index: the newest journal `seq`, and the name of the filling that all its entries carry."""

    filling: str
    upto: int


class Unseen:
    """Passages that this process wrote since the service last showed all of its writes. Not thread-safe."""

    def __init__(self, dimension: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._dimension = clock, dimension
        self._written: Held | None = None
        self._since = 0.0
        self._passages: Integers = _NONE
        self._memories: Integers = _NONE
        self._partitions: Integers = _NONE
        self._vectors: NDArray[np.float16] = np.empty((0, dimension), dtype=np.float16)

    def newer_of(self, shown: Held | None) -> Held | None:
        """Returns the state to believe in: the one that this process wrote, as long as the service may still show an older one."""
        written = self._written
        if written is None:
            return shown
        is_shown = shown is not None and shown.filling == written.filling and shown.upto >= written.upto
        if is_shown or self._clock() - self._since > PATIENCE_SECONDS:
            self._forget()
            return shown
        return written

    def begin(self, filling: str) -> Held:
        """Begins a filling: nothing of a former one counts any more."""
        self._forget()
        return self._note(Held(filling, 0))

    def add(self, changes: VectorChanges, held: Held) -> None:
        """Takes changes that were written, whose removed passages are not among the others. `held` is the state after them."""
        leaving = np.concatenate([changes.removed, changes.passages])
        stays = ~np.isin(self._passages, leaving)
        self._passages = np.concatenate([self._passages[stays], changes.passages])[-MOST:]
        self._memories = np.concatenate([self._memories[stays], changes.memories])[-MOST:]
        self._partitions = np.concatenate([self._partitions[stays], changes.partitions])[-MOST:]
        self._vectors = np.concatenate([self._vectors[stays], changes.vectors.astype(np.float16)])[-MOST:]
        self._note(held)

    def near(self, query: NDArray[np.float32], partition: int, limit: int) -> list[int]:
        """Returns the memories of the nearest passages of a partition."""
        places = np.flatnonzero(self._partitions == partition)
        scores = self._vectors[places].astype(np.float32) @ query
        best = places[np.argsort(-scores, kind="stable")[:limit]]
        return [int(memory) for memory in self._memories[best]]

    def _note(self, written: Held) -> Held:
        self._written, self._since = written, self._clock()
        return written

    def _forget(self) -> None:
        self._written, self._since = None, 0.0
        self._passages = self._memories = self._partitions = _NONE
        self._vectors = np.empty((0, self._dimension), dtype=np.float16)
