"""The vector index of one project: exact in numpy while it is small, flat float16 FAISS above, with codes for large partitions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from alma.errors import ValidationError
from alma.protocols import PassageScores, VectorChanges
from alma.vectors.blocks import Comparison, Vector
from alma.vectors.changes import checked
from alma.vectors.contents import SCOPES_KEPT, SHARED, Contents
from alma.vectors.groups import best_of_each
from alma.vectors.locks import SharedLock
from alma.vectors.sample import Sample
from alma.vectors.sample_cache import Gathered, KeptVectors
from alma.vectors.saved import FetchPassages, SavedPartition
from alma.vectors.scans import Scans
from alma.vectors.scopes import Scope
from alma.vectors.table import ascending

Integers = NDArray[np.int64]

FAISS_ABOVE = 20_000
CODES_ABOVE = 20_000
"""Partitions of more passages have codes, too. Up to here a search is exact."""
RECALL = 0.99
"""Share of the nearest 50 passages that a search finds at least, measured on sentences of conversations (`benchmarks.nearest`)."""
SMALL = 4_000
"""Partitions of at most this many passages are searched together: searching one takes less time than the overhead of a search."""
SHARED_UP_TO = 128
"""Partitions of at most this many passages share a shelf, so that thousands of them are searched at once."""

QUIET_SEARCHES = 8
"""A process that asks a few questions after it read a snapshot does not read all vectors."""

Run = Callable[[Callable[[], object]], object]
"""Calls a function, now or later, in this thread or in another one."""


def at_once(call: Callable[[], object]) -> None:
    """Serves as `Run` without another thread."""
    call()


NO_SCORES: Vector = np.empty(0, dtype=np.float32)
_NO_ROWS: Integers = np.empty(0, dtype=np.int64)


class ProjectIndex:
    """Implements `alma.protocols.VectorIndex`: a search over vectors of `dimension` that arrive as float16. Thread-safe.

    Up to `faiss_above` live passages in the project, vectors are float32 numpy matrices: one per partition, and a common one for
    partitions of up to `shared_up_to` passages. Above, every larger partition is a flat float16 FAISS index, and FAISS is imported only
    then. FAISS selects the nearest passages and numpy computes their scores, so that a score is the same to the last bit whatever the
    project holds. The search is exact in partitions of up to `codes_above` passages. In a larger one FAISS selects by codes of two bits a
    dimension, and may miss a passage: it finds `RECALL` of the nearest 50, in practice all of them.

    Copies are passages of one partition with one tie and one vector. They share that vector and are compared with a query once. All
    passages of a memory are expected to be in one partition and to have one tie.
    """

    def __init__(
        self,
        dimension: int,
        *,
        faiss_above: int = FAISS_ABOVE,
        shared_up_to: int = SHARED_UP_TO,
        codes_above: int = CODES_ABOVE,
        run: Run = at_once,
    ) -> None:
        """`run` calls a function, at once or in another thread. After a search it makes missing codes, without which searches are
        exact."""
        if dimension < 1:
            raise ValidationError(f"a vector index needs a dimension of at least 1, not {dimension}")
        self._dimension = dimension
        self._faiss_above, self._shared_up_to, self._codes_above = faiss_above, shared_up_to, codes_above
        self._run, self._is_stopped, self._is_unfinished, self._quiet = run, False, False, 0
        self._clear()
        self.renew_locks()

    @property
    def upto(self) -> int:
        """Newest journal `seq` held; 0 for an empty index."""
        return self._upto

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return self._dimension

    def __len__(self) -> int:
        """Returns the number of live passages."""
        return self._table.live_count

    def renew_locks(self) -> None:
        """Replaces the locks after a fork, since the readers were threads of the parent process. No thread may have been changing the
        index."""
        self._lock, self._sampling, self._encoding = SharedLock(), Lock(), Lock()
        for block in self._contents.coded():
            block.drop_unfinished()

    def apply(self, changes: VectorChanges, /) -> None:
        """Applies changes in journal order; those at or before `upto` are ignored.

        A passage that is held already is replaced. Raises `ValidationError`, and changes nothing, when the arrays do not fit together or
        a vector is not finite. When it fails half-way (no memory, no FAISS), the index is left empty with `upto` 0, to be filled again.
        """
        if changes.upto <= self._upto:
            return
        changes = checked(changes, self._dimension)
        with self._lock.writing():
            if changes.upto <= self._upto:
                return
            try:
                self._take(changes)
            except BaseException:
                self._clear()
                raise
            self._is_unfinished = self._contents.unfinished() is not None

    def hold(self, changes: VectorChanges, /) -> None:
        """Takes in all passages of partitions that it left out so far. `upto` stays.

        They may be as of a later record than `upto`: the changes up to there can be applied again. Fails as `apply` does.
        """
        changes = checked(changes, self._dimension)
        with self._lock.writing():
            try:
                self._take(replace(changes, upto=self._upto))
            except BaseException:
                self._clear()
                raise
            self._is_unfinished = self._contents.unfinished() is not None

    def stop(self) -> None:
        """Makes no more codes. What another thread has begun ends within milliseconds."""
        self._is_stopped = True

    def search(self, query: Vector, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """Returns the `limit` live passages of *each* partition with the greatest cosine: partitions in the given order, best first
        within each, equal scores by smaller tie, then newer passage. Unknown partitions are left out."""
        query = self._checked_query(query)
        if limit < 0:
            raise ValidationError(f"limit must not be negative: {limit}")
        with self._lock.reading():
            scope = self._contents.scope(partitions)
            rows, scores = self._nearest(Scans(self._contents.partitions, query), scope, limit, copies=limit)
            best = self._best(scope, rows, scores, limit)
            found = self._scored(rows[best], scores[best])
        self._begin_codes()
        return found

    def nearest(self, query: Vector, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """As `search`, but only the newest of copies, which leaves room for others, and in no order."""
        query = self._checked_query(query)
        with self._lock.reading():
            found = self._scored(*self._folded(Scans(self._contents.partitions, query), self._contents.scope(partitions), limit))
        self._begin_codes()
        return found

    def around(self, query: Vector, /, *, partitions: Sequence[int], limit: int, memories: Integers) -> PassageScores:
        """Returns all live passages of the given memories and of those that `nearest` would find, with the cosine that `search` gives."""
        query = self._checked_query(query)
        with self._lock.reading():
            scans = Scans(self._contents.partitions, query)
            near, _ = self._folded(scans, self._contents.scope(partitions), limit)
            rows = self._table.of_memories(np.concatenate([memories, self._table.memory.values[near]]))
            scores = np.empty(len(rows), dtype=np.float32)
            for number, chosen in self._contents.by_partition(rows):
                scores[chosen] = scans.at(number, self._contents.positions(rows[chosen]))
            found = self._scored(rows, scores)
        self._begin_codes()
        return found

    def portions(self, partitions: Sequence[int]) -> list[list[int]]:
        """Splits the known partitions into portions that are each worth a search of their own, the slowest first."""
        with self._lock.reading():
            scope = self._contents.scope(partitions)
            sizes = {slot: len(self._contents.partitions[slot].shelf) for slot in scope.own}
            large = sorted((slot for slot in scope.own if sizes[slot] > SMALL), key=lambda slot: -sizes[slot])
            small = scope.slots[~np.isin(scope.slots, large)]
            numbers = self._contents.numbers.values
            return [[int(numbers[slot])] for slot in large] + [numbers[small].tolist()] * bool(len(small))

    def score(self, query: Vector, /, *, memories: Integers, found: PassageScores | None = None) -> PassageScores:
        """Returns all live passages of the given memories with the cosine that `search` gives. Unknown memories are left out.

        Passages that a search for the same query has just `found` are not compared again.
        """
        query = self._checked_query(query)
        with self._lock.reading():
            if found is not None and len(found.passages):
                return self._completed(query, self._table.of_memories(memories), found)
            gathered = self._gathered(memories)
            return gathered.scored(query)

    def ties(self, memories: Integers, /) -> tuple[Integers, Integers]:
        """Returns those of the memories, which ascend, that have a live passage, and the tie of each."""
        with self._lock.reading():
            rows = self._contents.first_rows(memories)
            return self._table.memory.values[rows], self._table.tie.values[rows]

    @property
    def has_copies(self) -> bool:
        """True when any passage is a copy of another."""
        return any(partition.shelf.has_copies for partition in self._contents.partitions.values())

    def copies(self, memories: Integers, /) -> Integers:
        """Returns the number of copies that each memory represents: all for the newest of its copies, itself included, else 0. The
        memories ascend. One that is not held, because it was removed since it was found, represents 0."""
        with self._lock.reading():
            rows = self._contents.first_rows(memories)
            counts = np.zeros(len(memories), dtype=np.int64)
            places = memories.searchsorted(self._table.memory.values[rows])
            for number, chosen in self._contents.by_partition(rows):
                counts[places[chosen]] = self._contents.partitions[number].shelf.copies(rows[chosen], self._table)
            return counts

    def copies_of(self, memory: int, /) -> Integers:
        """Returns the memories of its partition that are copies of a memory, itself included, ascending. Empty if it is not held."""
        with self._lock.reading():
            rows = self._contents.first_rows(np.array([memory]))
            found = [
                self._contents.partitions[number].shelf.with_copies(self._contents.positions(rows[chosen]))
                for number, chosen in self._contents.by_partition(rows)
            ]
            return ascending(self._table.memory.values[np.concatenate([_NO_ROWS, *found])])

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple[Integers, int]:
        """Returns a sample of the memories of the partitions, by ascending tie, and the number of all their memories.

        The sample is all of them if there are at most `all_up_to`; else the `otherwise` ones with the smallest tie, equal ones by smaller
        number. The array is shared and must not be written to. `score` is faster for this very array, since its vectors are kept side by
        side.
        """
        key = (tuple(partitions), all_up_to, otherwise)
        with self._lock.reading(), self._sampling:
            scope = self._contents.scope(key[0])
            count = int(self._contents.memory_counts.values[scope.slots].sum())
            wanted = count if count <= all_up_to else min(otherwise, count)
            sample = self._samples.get(key)
            if sample is None or len(sample.memories) != wanted:
                if len(self._samples) >= SCOPES_KEPT:
                    self._samples.clear()
                sample = self._samples[key] = Sample.of(*self._contents.smallest(scope, wanted), wanted)
            return sample.memories, count

    def compact(self) -> None:
        """Releases the memory of removed passages."""
        with self._lock.writing():
            self._contents.compact()
            self._kept = KeptVectors()

    def image(self) -> VectorChanges:
        """Returns all live passages, partition by partition, as one change that makes an equal index when applied to an empty one."""
        with self._lock.reading():
            table = self._table
            rows, blocks = self._contents.live()
            return VectorChanges(
                upto=self._upto,
                passages=table.passage.values[rows],
                memories=table.memory.values[rows],
                partitions=self._contents.numbers.values[table.slot.values[rows]],
                is_own=table.is_own.values[rows],
                ties=table.tie.values[rows],
                vectors=np.concatenate([np.empty((0, self._dimension), dtype=np.float16), *blocks]),
                removed=np.empty(0, dtype=np.int64),
            )

    def large(self) -> list[int]:
        """Returns the partitions that have codes, or will have: what a snapshot is worth for."""
        with self._lock.reading():
            return self._contents.large()

    def saved(self, partition: int) -> tuple[int, SavedPartition] | None:
        """Returns `upto`, and a large partition as a snapshot holds it. Codes that are left are made, while the index is locked. `None` if it
        can have none."""
        with self._lock.writing():
            saved = self._contents.saved(partition)
            return None if saved is None else (self._upto, saved)

    def restore(self, partition: int, saved: SavedPartition, fetch: FetchPassages) -> bool:
        """As `hold`, takes in a partition from a snapshot. Its vectors are fetched when they are needed, and after `QUIET_SEARCHES` searches the
        rest of them, by `run`. False, and nothing is taken in, if an index of this size needs no codes. Fails as `apply` does."""
        with self._lock.writing():
            try:
                is_taken = self._contents.restore(partition, saved, fetch)
            except BaseException:
                self._clear()
                raise
            self._samples.clear()
            self._kept = KeptVectors()
            self._is_unfinished, self._quiet = True, QUIET_SEARCHES
            return is_taken

    def _clear(self) -> None:
        self._upto = 0
        self._contents = Contents(
            self._dimension, faiss_above=self._faiss_above, shared_up_to=self._shared_up_to, codes_above=self._codes_above
        )
        self._table = self._contents.table
        self._samples: dict[tuple[tuple[int, ...], int, int], Sample] = {}
        self._kept = KeptVectors()

    def _take(self, changes: VectorChanges) -> None:
        moves = self._contents.moves
        gone, held = self._contents.take(changes)
        self._samples = {key: sample for key, sample in self._samples.items() if sample.outlasts(gone, held)}
        if self._contents.moves > moves:
            self._kept = KeptVectors()
        self._kept.invalidate({id(sample.memories) for sample in self._samples.values()})
        self._upto = changes.upto

    def _begin_codes(self) -> None:
        """Has the missing codes made, and vectors read, after a search: a process that only writes needs none."""
        if self._quiet:
            self._quiet -= 1
        elif self._is_unfinished and not self._is_stopped and self._encoding.acquire(blocking=False):
            self._run(self._encode)

    def _encode(self) -> None:
        """Finishes all blocks, some of each at a time: searches go on beside it, and writes wait for a few milliseconds."""
        try:
            while not self._is_stopped:
                if not self._encode_some():
                    return
        finally:
            self._encoding.release()

    def _encode_some(self) -> bool:
        """Finishes a part of a block. Returns False if none is left."""
        with self._lock.reading():
            block = self._contents.unfinished()
            if block is None:
                self._is_unfinished = False
                return False
            is_left = block.finish_some()
        if not is_left:
            with self._lock.writing():
                block.finish()
        return True

    def _nearest(self, scans: Scans, scope: Scope, limit: int, *, copies: int) -> tuple[Integers, Vector]:
        """Returns the rows of each partition that fewer than `limit` others beat, at most `copies` of equal ones, in no order, and their
        scores."""
        if not limit:
            return _NO_ROWS, NO_SCORES
        found = [(slot, *scans.best(slot, limit)) for slot in scope.own]
        shared = self._contents.shared(scope)
        if len(shared):
            found.append((SHARED, shared, scans.at(SHARED, shared)))
        spread = [
            self._contents.partitions[number].shelf.spread(positions, scores, self._table, most=copies)
            for number, positions, scores in found
        ]
        return np.concatenate([_NO_ROWS, *(rows for rows, _ in spread)]), np.concatenate(
            [NO_SCORES, *(each for _, each in spread)]
        )

    def _best(self, scope: Scope, rows: Integers, scores: Vector, limit: int) -> Integers:
        """Returns the places of the `limit` best rows of each partition: partitions in order, best first, equal scores by smaller tie."""
        table = self._table
        order = scope.order[table.slot.values[rows]]
        return best_of_each(order, scores, table.tie.values[rows], table.passage.values[rows], limit=limit)

    def _folded(self, scans: Scans, scope: Scope, limit: int) -> tuple[Integers, Vector]:
        """Returns the rows of the `limit` best of each partition, only the newest of copies, in no order, and their scores."""
        rows, scores = self._nearest(scans, scope, limit, copies=1)
        if len(rows) > limit and np.bincount(self._table.slot.values[rows]).max() > limit:
            best = self._best(scope, rows, scores, limit)
            return rows[best], scores[best]
        return rows, scores

    def _gathered(self, memories: Integers) -> Gathered:
        """Returns the passages of memories with their vectors. Those of a sample are cached."""
        if memories.flags.writeable:
            rows = self._table.of_memories(memories)
            return self._gathered_anew(rows)
        with self._sampling:
            found = self._kept.of(memories)
            if found is None:
                rows = self._table.of_memories(memories)
                found = self._kept.with_rows(rows) or self._gathered_anew(rows)
                self._kept.keep(memories, found)
            return found

    def _gathered_anew(self, rows: Integers) -> Gathered:
        return Gathered(rows, self._scored(rows, NO_SCORES), self._comparison(rows))

    def _completed(self, query: Vector, rows: Integers, found: PassageScores) -> PassageScores:
        """Returns the passages of these rows with their scores: those already found, and computed ones for all others."""
        passages = self._table.passage.values[rows]
        order = found.passages.argsort()
        places = order[np.minimum(found.passages.searchsorted(passages, sorter=order), len(order) - 1)]
        is_new = found.passages[places] != passages
        scores = found.scores[places]
        if is_new.any():
            scores[is_new] = self._comparison(rows[is_new])(query)
        return self._scored(rows, scores)

    def _comparison(self, rows: Integers) -> Comparison:
        """Returns a callback for the inner products of a query with the vectors of these rows. Copies are compared once."""
        parts = []
        for number, chosen in self._contents.by_partition(rows):
            partition = self._contents.partitions[number]
            positions, places = np.unique(self._contents.positions(rows[chosen]), return_inverse=True)
            parts.append((chosen, partition.method.comparison(partition.shelf.block.at(positions)), places))

        def compare(query: Vector) -> Vector:
            scores = np.empty(len(rows), dtype=np.float32)
            for chosen, compared, places in parts:
                scores[chosen] = compared(query)[places]
            return scores

        return compare

    def _scored(self, rows: Integers, scores: Vector) -> PassageScores:
        table = self._table
        return PassageScores(
            passages=table.passage.values[rows],
            memories=table.memory.values[rows],
            partitions=self._contents.numbers.values[table.slot.values[rows]],
            ties=table.tie.values[rows],
            is_own=table.is_own.values[rows],
            scores=scores,
        )

    def _checked_query(self, query: Vector) -> Vector:
        query = np.ascontiguousarray(query, dtype=np.float32)
        if query.shape != (self._dimension,):
            raise ValidationError(f"the query has shape {query.shape}, the index holds vectors of {self._dimension} numbers")
        if not np.isfinite(query).all():
            raise ValidationError("the query has a number that is not finite")
        return query
