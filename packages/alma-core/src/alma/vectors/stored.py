"""Exact scores from the vectors that the store holds. A process caches a bounded number of them."""

from collections.abc import Sequence
from dataclasses import fields, replace
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from alma.protocols import PassageScores, StoredVectors, VectorChanges
from alma.vectors.columns import ascending
from alma.vectors.groups import best_of_each
from alma.vectors.halves import Matrix, Vector, widened

Integers = NDArray[np.int64]

CACHED = 8_192
"""Memories whose vectors are cached: with one passage of 384 dimensions each, 12 MB."""

_NONE: Integers = np.empty(0, dtype=np.int64)


class StoredScorer:
    """Implements `alma.protocols.ExactScorer` over a project's stored vectors. Scores are as of the last `follow`. Thread-safe."""

    def __init__(self, project: StoredVectors, dimension: int, *, cached: int = CACHED) -> None:
        self._project, self._dimension, self._most = project, dimension, cached
        self._upto = 0
        self._known: Integers = _NONE
        self._found: VectorChanges
        self._matrix: Matrix
        self._samples: dict[tuple[tuple[int, ...], int, int], tuple[Integers, int]] = {}
        self.renew_locks()
        self._forget(0)

    def renew_locks(self) -> None:
        """Replaces the lock after a fork."""
        self._lock = RLock()

    def follow(self, head: int) -> None:
        """Drops what changed up to `head` from the cache."""
        with self._lock:
            if head <= self._upto:
                return
            touched = self._project.touched(after=self._upto) if len(self._known) or self._samples else None
            self._samples = {}
            if touched is None:
                self._forget(head)
                return
            self._keep(~np.isin(self._found.memories, touched))
            self._known = np.setdiff1d(self._known, touched)
            self._upto = head

    def score(self, query: Vector, /, *, memories: Integers) -> PassageScores:
        """Returns all live passages of the given memories with their cosine. Unknown memories are left out."""
        with self._lock:
            found, matrix = self._gathered(ascending(memories))
        return _scored(found, np.vecdot(matrix, np.asarray(query, dtype=np.float32)))

    def ties(self, memories: Integers, /) -> tuple[Integers, Integers]:
        """Returns those of the memories, which ascend, that have a live passage, and the tie of each."""
        return self._project.ties_of(memories.tolist())

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple[Integers, int]:
        """Returns memories that stand for all of the partitions, and the number of these."""
        key = (tuple(partitions), all_up_to, otherwise)
        with self._lock:
            if key not in self._samples:
                count = self._project.population(key[0])
                wanted = count if count <= all_up_to else otherwise
                self._samples[key] = (self._project.smallest_ties(key[0], wanted), count)
            return self._samples[key]

    def nearest(self, query: Vector, /, *, partitions: Sequence[int], limit: int) -> Integers:
        """Returns the memories of the `limit` nearest passages of each partition, by comparing all."""
        rows, kept = list(partitions), _no_scores()
        for changes in self._project.vectors_in(rows):
            scored = _scored(changes, np.vecdot(widened(changes.vectors), np.asarray(query, dtype=np.float32)))
            kept = best(_joined(kept, scored), partitions=rows, limit=limit)
        return ascending(kept.memories)

    def _gathered(self, memories: Integers) -> tuple[VectorChanges, Matrix]:
        missing = np.setdiff1d(memories, self._known, assume_unique=True)
        if len(missing):
            if len(self._known) + len(missing) > self._most:
                self._forget(self._upto, samples=self._samples)
                missing = memories
            fetched = self._project.vectors_of(missing.tolist())
            self._found = _appended(self._found, fetched)
            self._matrix = np.concatenate([self._matrix, widened(fetched.vectors)])
            self._known = np.union1d(self._known, missing)
        wanted = np.isin(self._found.memories, memories)
        if len(self._known) > self._most:  # one question needs more than is cached
            found, matrix = _kept(self._found, wanted), self._matrix[wanted]
            self._forget(self._upto, samples=self._samples)
            return found, matrix
        return _kept(self._found, wanted), self._matrix[wanted]

    def _keep(self, mask: NDArray[np.bool_]) -> None:
        self._found, self._matrix = _kept(self._found, mask), self._matrix[mask]

    def _forget(self, upto: int, samples: dict[tuple[tuple[int, ...], int, int], tuple[Integers, int]] | None = None) -> None:
        self._upto, self._known = upto, _NONE
        self._samples = {} if samples is None else samples
        empty = np.empty((0, self._dimension), dtype=np.float16)
        self._found = VectorChanges(upto, _NONE, _NONE, _NONE, np.empty(0, dtype=np.bool_), _NONE, empty, _NONE)
        self._matrix = np.empty((0, self._dimension), dtype=np.float32)


def best(found: PassageScores, *, partitions: Sequence[int], limit: int) -> PassageScores:
    """Returns the `limit` best passages of each of the partitions, in their order, and none of others."""
    order = {row: place for place, row in enumerate(dict.fromkeys(partitions))}
    inside = np.flatnonzero(np.isin(found.partitions, list(order)))
    group = np.array([order[row] for row in found.partitions[inside].tolist()], dtype=np.int64)
    chosen = inside[best_of_each(group, found.scores[inside], found.ties[inside], found.passages[inside], limit=limit)]
    return PassageScores(*(getattr(found, field.name)[chosen] for field in fields(PassageScores)))


def _scored(found: VectorChanges, scores: Vector) -> PassageScores:
    return PassageScores(found.passages, found.memories, found.partitions, found.ties, found.is_own, scores)


def _no_scores() -> PassageScores:
    return PassageScores(_NONE, _NONE, _NONE, _NONE, np.empty(0, dtype=np.bool_), np.empty(0, dtype=np.float32))


def _joined(one: PassageScores, other: PassageScores) -> PassageScores:
    names = [field.name for field in fields(PassageScores)]
    return PassageScores(*(np.concatenate([getattr(one, name), getattr(other, name)]) for name in names))


def _kept(found: VectorChanges, mask: NDArray[np.bool_]) -> VectorChanges:
    return replace(
        found,
        passages=found.passages[mask],
        memories=found.memories[mask],
        partitions=found.partitions[mask],
        is_own=found.is_own[mask],
        ties=found.ties[mask],
    )


def _appended(found: VectorChanges, more: VectorChanges) -> VectorChanges:
    return replace(
        found,
        passages=np.concatenate([found.passages, more.passages]),
        memories=np.concatenate([found.memories, more.memories]),
        partitions=np.concatenate([found.partitions, more.partitions]),
        is_own=np.concatenate([found.is_own, more.is_own]),
        ties=np.concatenate([found.ties, more.ties]),
    )
