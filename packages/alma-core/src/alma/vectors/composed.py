"""An index of two parts: candidates from a search outside of the process, exact scores from the stored vectors."""

import logging
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from threading import RLock

import numpy as np

from alma.errors import StorageError
from alma.protocols import CandidateSearch, PassageScores, Project, StoredVectors, VectorChanges
from alma.vectors.arrays import NO_FLAGS, NO_ROWS, Integers, Vector, ascending, widen
from alma.vectors.index import ProjectIndex, join_passages

CACHED = 8_192
"""Memories whose vectors are cached: with one passage of 384 dimensions each, 12 MB."""
RETRY_SECONDS = 5.0
"""For this long an unreachable search is not asked again."""
WIDEST = 16
"""Copies of one text may fill a search. It is repeated for up to this many times as many passages."""

_LOG = logging.getLogger("alma")


class StoredScorer:
    """Implements `alma.protocols.ExactScorer` over a project's stored vectors. Scores are as of the last `follow`. Thread-safe.

    The vectors that were asked for are cached in an index, up to `CACHED` memories.
    """

    def __init__(self, project: StoredVectors, dimension: int) -> None:
        self._project, self._dimension = project, dimension
        self._upto = 0
        self._samples: dict[tuple[tuple[int, ...], int, int], tuple[Integers, int]] = {}
        self._lock = RLock()
        self._forget()

    def _forget(self) -> None:
        self._known = NO_ROWS
        self._index = ProjectIndex(self._dimension, kind_of=lambda _: "", codes_above=sys.maxsize)

    def follow(self, head: int) -> None:
        """Drops memories that changed up to `head` from the cache."""
        with self._lock:
            if head <= self._upto:
                return
            touched = self._project.touched(after=self._upto) if len(self._known) or self._samples else None
            self._samples, self._upto = {}, head
            if touched is None:
                self._forget()
                return
            gone = self._index.score(np.zeros(self._dimension, dtype=np.float32), memories=touched).passages
            none = np.empty((0, self._dimension), dtype=np.float16)
            self._index.hold(VectorChanges(head, NO_ROWS, NO_ROWS, NO_ROWS, NO_FLAGS, NO_ROWS, none, gone))
            self._known = np.setdiff1d(self._known, touched)

    def score(self, query: Vector, /, *, memories: Integers) -> PassageScores:
        """Returns all live passages of the given memories with their cosine. Unknown memories are left out."""
        with self._lock:
            missing = np.setdiff1d(memories, self._known)
            if len(missing) and len(self._known) + len(missing) > CACHED:
                self._forget()
                missing = ascending(memories)
            if len(missing):
                self._index.hold(self._project.vectors_of(missing.tolist()))
                self._known = np.union1d(self._known, missing)
            found = self._index.score(query, memories=memories)
            if len(self._known) > CACHED:  # one question needs more than is cached
                self._forget()
            return found

    def ties(self, memories: Integers, /) -> tuple[Integers, Integers]:
        """Returns those of the memories, which ascend, that have a live passage, and the tie of each."""
        return self._project.ties_of(memories.tolist())

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple[Integers, int]:
        """Returns a sample of the memories of the partitions, by ascending tie, and the number of all their memories."""
        key = (tuple(partitions), all_up_to, otherwise)
        with self._lock:
            if key not in self._samples:
                count = self._project.population(key[0])
                wanted = count if count <= all_up_to else otherwise
                self._samples[key] = (self._project.smallest_ties(key[0], wanted), count)
            return self._samples[key]

    def nearest(self, query: Vector, /, *, partitions: Sequence[int], limit: int) -> Integers:
        """Returns the memories of the `limit` nearest passages of each partition, by comparing all."""
        kept = join_passages([])
        for one in self._project.vectors_in(list(partitions)):
            scores = np.vecdot(widen(one.vectors), np.asarray(query, dtype=np.float32))
            scored = PassageScores(one.passages, one.memories, one.partitions, one.ties, one.is_own, scores)
            kept = select_best(join_passages([kept, scored]), partitions=partitions, limit=limit)
        return ascending(kept.memories)


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
    ) -> None:
        """`catching_up` locks the search against other processes that apply changes."""
        self._project, self._scorer, self._candidates = project, scorer, candidates
        self._name, self._catching_up = name, catching_up
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
        if time.monotonic() < self._retry_at:
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
            return join_passages([])
        asked = limit
        while True:
            found = self._scorer.score(query, memories=self._near(query, rows, asked))
            kept = select_best(found, partitions=rows, limit=limit)
            is_crowded = len(kept.ties) >= limit and 2 * len(np.unique(kept.ties)) <= limit
            if not is_crowded or asked >= WIDEST * limit:
                return kept if asked == limit else select_best(_drop_repeats(found), partitions=rows, limit=limit)
            asked *= 4

    nearest = search

    def score(self, query: Vector, /, *, memories: Integers) -> PassageScores:
        """Returns all live passages of the given memories with their cosine, exactly."""
        return self._scorer.score(query, memories=memories)

    def background(
        self, query: Vector, /, *, partitions: Sequence[int], all_up_to: int, otherwise: int
    ) -> tuple[PassageScores, int]:
        """Returns what `score` does for the memories of `sample`, and the number of all memories."""
        memories, count = self.sample(partitions=partitions, all_up_to=all_up_to, otherwise=otherwise)
        return self.score(query, memories=memories), count

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
        self._is_away, self._retry_at = True, time.monotonic() + RETRY_SECONDS


def select_best(found: PassageScores, *, partitions: Sequence[int], limit: int) -> PassageScores:
    """Returns the `limit` best passages of each of the partitions, in their order, and none of others. Equal scores are ordered by smaller tie, then
    newer passage."""
    ordered = np.lexsort((-found.passages, found.ties, -found.scores))
    of = found.partitions[ordered]
    return select(found, np.concatenate([NO_ROWS, *(ordered[of == row][:limit] for row in dict.fromkeys(partitions))]))


def select(found: PassageScores, places: Integers) -> PassageScores:
    """Returns the passages at some places."""
    return PassageScores(*(getattr(found, field.name)[places] for field in fields(PassageScores)))


def _drop_repeats(found: PassageScores) -> PassageScores:
    """Returns the newest passage of those with one partition, tie and score."""
    order = np.lexsort((-found.passages, found.scores, found.ties, found.partitions))
    columns = [array[order] for array in (found.partitions, found.ties, found.scores)]
    is_first = np.ones(len(order), dtype=np.bool_)
    if len(order):
        is_first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return select(found, order[is_first])
