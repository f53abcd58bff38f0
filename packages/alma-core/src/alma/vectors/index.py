"""The vector index of one project: exact in numpy while it is small, flat float16 FAISS above."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from alma.errors import ValidationError
from alma.protocols import PassageScores, VectorChanges
from alma.vectors.blocks import Exact, Method, Scan, Stored, Vector
from alma.vectors.changes import checked, without_repeats
from alma.vectors.columns import Column
from alma.vectors.groups import best_of_each, groups
from alma.vectors.kept import Gathered, KeptVectors
from alma.vectors.locks import SharedLock
from alma.vectors.partition import Partition
from alma.vectors.sample import Held, Sample
from alma.vectors.table import PassageTable

Integers = NDArray[np.int64]

FAISS_ABOVE = 20_000
COMPACT_ABOVE = 1024
SMALL = 4_000
"""Partitions of at most so many passages are searched together: one takes less than what goes with a search."""
SAMPLES_KEPT = 64

NO_SCORES: Vector = np.empty(0, dtype=np.float32)


class ProjectIndex:
    """Implements `alma.protocols.VectorIndex`: an exact search over vectors of `dimension` that arrive as float16. Thread-safe.

    Up to `faiss_above` live passages in the project every partition is a float32 numpy matrix; beyond, every partition is a flat
    float16 FAISS index, and FAISS is imported only then. Both compare the same stored values with a float32 query: their scores differ by
    rounding alone (below 1e-5), and within one of them equal vectors have equal scores.

    A memory is expected to have all its passages in one partition and with one tie.
    """

    def __init__(self, dimension: int, *, faiss_above: int = FAISS_ABOVE) -> None:
        if dimension < 1:
            raise ValidationError(f"a vector index needs a dimension of at least 1, not {dimension}")
        self._dimension = dimension
        self._faiss_above = faiss_above
        self.renew_locks()
        self._clear()

    @property
    def upto(self) -> int:
        """Newest journal `seq` held; 0 for an empty index."""
        return self._upto

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return self._dimension

    def __len__(self) -> int:
        """How many live passages it holds."""
        return self._table.live_count

    def renew_locks(self) -> None:
        """Forgets who is reading: threads of a parent process, in a child forked off it. Nobody may have been changing the index."""
        self._lock, self._sampling = SharedLock(), Lock()

    def apply(self, changes: VectorChanges, /) -> None:
        """Takes changes in journal order; those at or before `upto` are ignored.

        A passage that is held already is replaced. `ValidationError`, and nothing is taken, when the arrays do not fit together or a
        vector is not finite. When it fails half-way (no memory, no FAISS), the index is left
        empty with `upto` 0, to be filled anew.
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

    def search(self, query: Vector, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """The `limit` live passages of *each* partition with the greatest cosine: partitions in the given order, within one best first,
        equal ones by smaller tie, of copies the newest. Unknown partitions are left out."""
        query = self._checked_query(query)
        if limit < 0:
            raise ValidationError(f"limit must not be negative: {limit}")
        with self._lock.reading():
            return self._scored(*self._nearest(self._scans(query, partitions), limit))

    def around(self, query: Vector, /, *, partitions: Sequence[int], limit: int, memories: Integers) -> PassageScores:
        """All live passages of the given memories, and of those that `search` would find, with their cosine, as `search` gives it."""
        query = self._checked_query(query)
        with self._lock.reading():
            scans = self._scans(query, partitions)
            nearest, _ = self._nearest(scans, limit)
            rows = self._table.of_memories(np.concatenate([memories, self._table.memory.values[nearest]]))
            positions = self._table.position.values[rows].astype(np.int64)
            scores = np.empty(len(rows), dtype=np.float32)
            for slot, chosen in groups(self._table.slot.values[rows]):
                scan = scans.get(slot) or self._slots[slot].block.scan(query)
                scores[chosen] = scan.at(positions[chosen])
            return self._scored(rows, scores)

    def portions(self, partitions: Sequence[int]) -> list[list[int]]:
        """The known ones of the partitions, so divided that each portion is worth a search of its own, those that take longest first."""
        with self._lock.reading():
            known = [number for number in dict.fromkeys(partitions) if number in self._slot_of]
            sizes = {number: len(self._slots[self._slot_of[number]].block) for number in known}
        large = sorted((number for number in known if sizes[number] > SMALL), key=lambda number: -sizes[number])
        small = [number for number in known if sizes[number] <= SMALL]
        return [[number] for number in large] + [small] * bool(small)

    def score(self, query: Vector, /, *, memories: Integers, found: PassageScores | None = None) -> PassageScores:
        """All live passages of the given memories with their cosine, as `search` gives it. Unknown memories are left out.

        What `search` has just `found` for the same query is not compared again.
        """
        query = self._checked_query(query)
        with self._lock.reading():
            if found is not None and len(found.passages):
                return self._completed(query, self._table.of_memories(memories), found)
            gathered = self._gathered(memories)
            return gathered.scored(query)

    def ties(self, memories: Integers, /) -> tuple[Integers, Integers]:
        """Those of the memories, which ascend, that have a live passage, and the tie of each."""
        with self._lock.reading():
            rows = self._table.of_memories(memories)
            held, first = np.unique(self._table.memory.values[rows], return_index=True)
            return held, self._table.tie.values[rows[first]]

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple[Integers, int]:
        """Memories of the partitions that stand for all of them, by ascending tie, and how many there are.

        All, if there are at most `all_up_to`; else the `otherwise` ones with the smallest tie, of equal ones those of the smallest numbers. The
        array is shared: not to be written to. To `score` this very array is quicker than another: its vectors are kept side by side.
        """
        key = (tuple(partitions), all_up_to, otherwise)
        with self._lock.reading(), self._sampling:
            known = self._known(partitions)
            count = sum(partition.memory_count for partition in known)
            wanted = count if count <= all_up_to else min(otherwise, count)
            sample = self._samples.get(key)
            if sample is None or len(sample.memories) != wanted:
                if len(self._samples) >= SAMPLES_KEPT:
                    self._samples.clear()
                sample = self._samples[key] = Sample.of(known, wanted, self._table)
            return sample.memories, count

    def compact(self) -> None:
        """Gives back the memory of removed passages, and goes back to numpy when the project has become small."""
        with self._lock.writing():
            self._drop_removed()
            self._fit(self._table.live_count)
            for partition in self._slots:
                partition.block.compact()

    def image(self) -> VectorChanges:
        """All live passages, partition by partition, as one change that makes an equal index when applied to an empty one."""
        with self.still() as (image, blocks):
            return replace(image, vectors=np.concatenate([image.vectors, *blocks]))

    @contextmanager
    def still(self) -> Iterator[tuple[VectorChanges, Iterator[NDArray[np.float16]]]]:
        """As `image`, but the vectors come block by block and uncopied, while the index stands still."""
        with self._lock.reading():
            table, slots = self._table, self._slots
            rows = np.concatenate([np.empty(0, dtype=np.int64), *(partition.rows.values for partition in slots)])
            image = VectorChanges(
                upto=self._upto,
                passages=table.passage.values[rows],
                memories=table.memory.values[rows],
                partitions=self._numbers.values[table.slot.values[rows]],
                is_own=table.is_own.values[rows],
                ties=table.tie.values[rows],
                vectors=np.empty((0, self._dimension), dtype=np.float16),
                removed=np.empty(0, dtype=np.int64),
            )
            yield image, (partition.block.stored().astype(np.float16, copy=False) for partition in slots)

    def _clear(self) -> None:
        self._upto = 0
        self._method: Method = Exact()
        self._table = PassageTable()
        self._slots: list[Partition] = []
        self._numbers = Column(np.int64)
        self._slot_of: dict[int, int] = {}
        self._samples: dict[tuple[tuple[int, ...], int, int], Sample] = {}
        self._kept = KeptVectors()

    def _take(self, changes: VectorChanges) -> None:
        added = without_repeats(changes)
        is_news = not len(changes.removed) and self._table.are_newer(added.passages, added.memories)
        gone, held = self._added(added) if is_news else self._replaced(added, changes.removed)
        self._recount(gone, held)
        if self._table.dead_count > max(COMPACT_ABOVE, len(self._table) // 4):
            self._drop_removed()
        self._samples = {key: sample for key, sample in self._samples.items() if sample.outlasts(gone, held)}
        self._kept.let_go({id(sample.memories) for sample in self._samples.values()})
        self._upto = changes.upto

    def _added(self, added: VectorChanges) -> tuple[Held, Held]:
        """Adds passages of memories that are newer than all others. Which memories leave, and which come."""
        self._fit(self._table.live_count + len(added.passages))
        return Held.nothing(), Held.of(self._add(added), added.memories, added.ties)

    def _replaced(self, added: VectorChanges, removed: Integers) -> tuple[Held, Held]:
        """Puts passages in the place of others. Which of the memories concerned were held, and which are."""
        leaving = self._table.of_passages(np.concatenate([removed, added.passages]))
        touched = np.concatenate([added.memories, self._table.memory.values[leaving]])
        before = self._held(touched)
        self._remove(leaving)
        self._fit(self._table.live_count + len(added.passages))
        self._add(added)
        return before, self._held(touched)

    def _remove(self, rows: Integers) -> None:
        self._table.bury(rows)
        positions = self._table.position.values[rows].astype(np.int64)
        for slot, chosen in groups(self._table.slot.values[rows]):
            self._slots[slot].remove(positions[chosen], self._table)

    def _add(self, added: VectorChanges) -> Integers:
        """Adds passages, and tells their slots."""
        rows = np.arange(len(self._table), len(self._table) + len(added.passages))
        slots, positions = np.empty_like(rows), np.empty_like(rows)
        for number, chosen in groups(added.partitions):
            slot = self._slot(number)
            slots[chosen] = slot
            positions[chosen] = self._slots[slot].append(rows[chosen], added.vectors[chosen])
        self._table.append(
            passages=added.passages,
            memories=added.memories,
            ties=added.ties,
            is_own=added.is_own,
            slots=slots,
            positions=positions,
        )
        return slots

    def _held(self, memories: Integers) -> Held:
        """Those of the memories that have a live passage."""
        rows = self._table.of_memories(memories)
        return Held.of(
            self._table.slot.values[rows].astype(np.int64), self._table.memory.values[rows], self._table.tie.values[rows]
        )

    def _recount(self, gone: Held, held: Held) -> None:
        for slot in sorted({*gone.slots.tolist(), *held.slots.tolist()}):
            stays = held.slots == slot
            self._slots[slot].count_memories(
                gone=gone.memories[gone.slots == slot], memories=held.memories[stays], ties=held.ties[stays]
            )

    def _fit(self, count: int) -> None:
        """Chooses the method for so many live passages. Here partitions of very many will get an approximate one."""
        if count > self._faiss_above and isinstance(self._method, Exact):
            from alma.vectors.flat_faiss import FlatFaiss

            self._switch(FlatFaiss())
        elif count <= self._faiss_above // 2 and not isinstance(self._method, Exact):
            self._switch(Exact())

    def _switch(self, method: Method) -> None:
        self._method = method
        self._kept = KeptVectors()
        for partition in self._slots:
            block = method.new_block(self._dimension)
            block.append(partition.block.stored().astype(np.float16, copy=False))
            partition.block = block

    def _gathered(self, memories: Integers) -> Gathered:
        """The passages of memories with their vectors; those of a sample are kept, until others take their place."""
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
        return Gathered(rows, self._scored(rows, NO_SCORES), self._method.comparison(self._stored(rows)))

    def _completed(self, query: Vector, rows: Integers, found: PassageScores) -> PassageScores:
        """The passages of these rows with their scores: those that were found, and for all others new ones."""
        passages = self._table.passage.values[rows]
        order = found.passages.argsort()
        places = order[np.minimum(found.passages.searchsorted(passages, sorter=order), len(order) - 1)]
        is_new = found.passages[places] != passages
        scores = found.scores[places]
        if is_new.any():
            scores[is_new] = self._method.comparison(self._stored(rows[is_new]))(query)
        return self._scored(rows, scores)

    def _stored(self, rows: Integers) -> Stored:
        """The vectors of these rows, as the method stores them."""
        positions = self._table.position.values[rows].astype(np.int64)
        parts = list(groups(self._table.slot.values[rows]))
        taken = [self._slots[slot].block.stored()[positions[chosen]] for slot, chosen in parts]
        if len(taken) == 1:
            return taken[0]
        stored = np.empty((len(rows), self._dimension), dtype=taken[0].dtype if taken else np.float32)
        for (_, chosen), part in zip(parts, taken, strict=True):
            stored[chosen] = part
        return stored

    def _slot(self, number: int) -> int:
        slot = self._slot_of.setdefault(number, len(self._slots))
        if slot == len(self._slots):
            self._slots.append(Partition(self._method.new_block(self._dimension)))
            self._numbers.append(np.array([number]))
        return slot

    def _drop_removed(self) -> None:
        if not self._table.dead_count:
            return
        new_rows = self._table.compact()
        self._kept = KeptVectors()
        for partition in self._slots:
            partition.rows.replace(new_rows[partition.rows.values])

    def _known(self, partitions: Sequence[int]) -> list[Partition]:
        return [self._slots[self._slot_of[number]] for number in dict.fromkeys(partitions) if number in self._slot_of]

    def _scans(self, query: Vector, partitions: Sequence[int]) -> dict[int, Scan]:
        """The partitions that hold anything, by slot, in the given order, compared with a query."""
        slots = [self._slot_of[number] for number in dict.fromkeys(partitions) if number in self._slot_of]
        return {slot: self._slots[slot].block.scan(query) for slot in slots if len(self._slots[slot].block)}

    def _nearest(self, scans: Mapping[int, Scan], limit: int) -> tuple[Integers, Vector]:
        """The rows of the `limit` best of each scan, scans in order, best first, equal ones by smaller tie; and their scores."""
        hits = [scan.best(limit) for scan in scans.values()] if limit else []
        if not hits:
            return np.empty(0, dtype=np.int64), NO_SCORES
        rows = np.concatenate(
            [self._slots[slot].rows.values[positions] for slot, (positions, _) in zip(scans, hits, strict=True)]
        )
        scores = np.concatenate([scores for _, scores in hits])
        counts = np.array([len(positions) for positions, _ in hits])
        best = best_of_each(counts, scores, self._table.tie.values[rows], self._table.passage.values[rows], limit=limit)
        return rows[best], scores[best]

    def _scored(self, rows: Integers, scores: Vector) -> PassageScores:
        table = self._table
        return PassageScores(
            passages=table.passage.values[rows],
            memories=table.memory.values[rows],
            partitions=self._numbers.values[table.slot.values[rows]],
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
