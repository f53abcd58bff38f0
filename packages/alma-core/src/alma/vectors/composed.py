"""An index of two parts: candidates from a search outside of the process, exact scores from the stored vectors."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from alma.errors import StorageError
from alma.protocols import CandidateSearch, PassageScores, Project
from alma.vectors.columns import ascending
from alma.vectors.halves import Vector
from alma.vectors.stored import StoredScorer, best

Integers = NDArray[np.int64]

RETRY_SECONDS = 5.0
"""For this long an unreachable search is not asked again."""
WIDEST = 16
"""Copies of one text may fill a search. It is repeated for up to this many times as many passages."""

_LOG = logging.getLogger("alma")


class ComposedIndex:
    """Searches as `ProjectIndex` does, without holding the vectors of a project.

    What the candidate search returns is scored by the store's own vectors, so memories that are gone, or of other partitions, are left out
    even where it is behind. When it cannot be reached, all stored vectors are compared instead, after one warning.
    """

    has_copies = False
    """Copies are not counted beyond those that a search finds."""

    def __init__(
        self,
        project: Project,
        scorer: StoredScorer,
        candidates: CandidateSearch,
        *,
        name: str,
        catching_up: Callable[[], AbstractContextManager[object]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`catching_up` locks the search against other processes that apply changes."""
        self._project, self._scorer, self._candidates = project, scorer, candidates
        self._name, self._catching_up, self._clock = name, catching_up, clock
        self._retry_at, self._is_away = 0.0, False
        self._head = 0

    @property
    def upto(self) -> int:
        """Newest journal `seq` that searches answer for."""
        return self._head

    def follow(self, head: int) -> None:
        """Catches up with the journal, as far as the candidate search can be reached."""
        self._scorer.follow(head)
        self._head = max(head, self._head)
        if self._clock() < self._retry_at:
            return
        try:
            if self._candidates.upto != head:
                self._catch_up(head)
            if self._is_away:
                _LOG.warning("%s answers again and holds all memories up to record %d", self._name, head)
            self._is_away, self._retry_at = False, 0.0
        except StorageError as error:
            self._note(error)

    def search(self, query: Vector, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """Returns the `limit` best passages of each partition, as `ProjectIndex.search`, of those that the candidate search finds."""
        rows = list(dict.fromkeys(partitions))
        if not rows or limit < 1:
            return best(self._scorer.score(query, memories=np.empty(0, dtype=np.int64)), partitions=rows, limit=0)
        asked = limit
        while True:
            found = self._scorer.score(query, memories=self._near(query, rows, asked))
            kept = best(found, partitions=rows, limit=limit)
            is_crowded = len(kept.ties) >= limit and 2 * len(np.unique(kept.ties)) <= limit
            if not is_crowded or asked >= WIDEST * limit:
                return kept if asked == limit else best(_one_of_each(found), partitions=rows, limit=limit)
            asked *= 4

    nearest = search

    def score(self, query: Vector, /, *, memories: Integers) -> PassageScores:
        """Returns all live passages of the given memories with their cosine, exactly."""
        return self._scorer.score(query, memories=memories)

    def ties(self, memories: Integers, /) -> tuple[Integers, Integers]:
        """Returns those of the memories, which ascend, that have a live passage, and the tie of each."""
        return self._scorer.ties(memories)

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple[Integers, int]:
        """Returns a sample of the memories of the partitions, by ascending tie, and the number of all their memories."""
        return self._scorer.sample(partitions=partitions, all_up_to=all_up_to, otherwise=otherwise)

    def copies(self, memories: Integers, /) -> Integers:
        """Returns 1 for each memory."""
        return np.ones(len(memories), dtype=np.int64)

    def copies_of(self, memory: int, /) -> Integers:
        """Returns the memory itself."""
        return np.array([memory], dtype=np.int64)

    def close(self) -> None:
        """Releases the candidate search."""
        self._candidates.close()

    def _near(self, query: Vector, partitions: Sequence[int], limit: int) -> Integers:
        if not self._is_away:
            try:
                return ascending(self._candidates.search(query, partitions=partitions, limit=limit))
            except StorageError as error:
                self._note(error)
        return self._scorer.nearest(query, partitions=partitions, limit=limit)

    def _catch_up(self, head: int) -> None:
        with self._catching_up():
            held = self._candidates.upto
            if held > head and not self._project.head_at(held):  # it may be ahead of the moment in which this thread reads
                self._candidates.clear()
                held = 0
            if held < head:
                for changes in self._project.changes(after=held):
                    self._candidates.apply(changes)

    def _note(self, error: StorageError) -> None:
        if not self._is_away:
            _LOG.warning("%s does not answer (%s); all stored vectors are compared until it does", self._name, error)
        self._is_away, self._retry_at = True, self._clock() + RETRY_SECONDS


def _one_of_each(found: PassageScores) -> PassageScores:
    """Returns the newest passage of those with one partition, tie and score."""
    order = np.lexsort((-found.passages, found.scores, found.ties, found.partitions))
    columns = [array[order] for array in (found.partitions, found.ties, found.scores)]
    is_first = np.ones(len(order), dtype=np.bool_)
    if len(order):
        is_first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    chosen = order[is_first]
    return PassageScores(
        *(getattr(found, name)[chosen] for name in ("passages", "memories", "partitions", "ties", "is_own", "scores"))
    )
