"""The vector index of one project: exact in numpy where a kind of memory is small, by codes of FAISS and refined exactly above."""

import logging
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from alma.errors import MissingDependencyError, StorageError, ValidationError
from alma.protocols import PassageScores, VectorChanges
from alma.vectors.arrays import NO_FLAGS, NO_ROWS, NO_SCORES, Integers, Matrix, SharedLock, Vector, ascending
from alma.vectors.kind import Arrays, Fetch, KindIndex

_LOG = logging.getLogger("alma")

CODES_ABOVE = 8_000
"""Kinds of more contents have codes, too. Up to here a search is exact (28 November 2026: at 10,000 numpy took 2.2 ms, codes .5 ms)."""
WIDE_UP_TO = 20_000
"""Vectors of a kind of more contents are float16."""
RECALL = 0.99
"""Share of the nearest 50 passages that a search finds at least, measured on sentences of conversations (`benchmarks.nearest`)."""

QUIET_SEARCHES = 8
"""A process that asks a few questions makes no codes of kinds that numpy searches well, and does not read all vectors after a snapshot."""
SAMPLES_KEPT = 16
MOST_GATHERED = 2_048
"""A sample of at most this many passages keeps its vectors side by side, 3 MB of 384 dimensions: it is compared with every question. In turns in
one process a `retrieve` at 10,000 took 3.4 and 4.2 ms of processor time, 4.8 and 5.6 without (30 November 2026, questions of `benchmarks.speed`)."""
STALE = 64
"""A kind is saved again once more than one in this many of its passages changed. Until then each process reads the changes."""

Run = Callable[[Callable[[], object]], object]
"""Calls a function, now or later, in this thread or in another one."""


def at_once(call: Callable[[], object]) -> None:
    """Serves as `Run` without another thread."""
    call()


@dataclass(frozen=True, slots=True)
class Sample:
    """The memories of some partitions with the smallest ties, by ascending tie, the last of these, and the number of all memories.

    `gathered` has the passages of a part of the memories, without scores, and their vectors, where they are few.
    """

    memories: Integers
    last: int
    count: int
    gathered: tuple[PassageScores, Matrix] | None

    def after(self, added: VectorChanges, partitions: Sequence[int]) -> "Sample | None":
        """Returns the sample after passages of new memories came; `None` if any of these may be in it."""
        inside = np.isin(added.partitions, partitions)
        if len(self.memories) == self.count or (added.ties[inside] <= self.last).any():
            return None
        return replace(self, count=self.count + len(ascending(added.memories[inside])))


class ProjectIndex:
    """Implements `alma.protocols.VectorIndex`: a search over vectors of `dimension` that arrive as float16. Thread-safe.

    A search finds the best of each kind of memory. In a kind of up to `codes_above` contents it is exact. In a larger one FAISS selects by codes of
    two bits a dimension, and may miss a passage: it finds `RECALL` of the nearest 50, in practice all of them. Numpy computes the scores, so that a
    score is the same to the last bit whatever the project holds.

    Copies are passages of one partition with one tie and one vector. They share that vector and are compared with a query once. All
    passages of a memory are expected to be in one partition and to have one tie.
    """

    def __init__(
        self,
        dimension: int,
        *,
        kind_of: Callable[[int], Hashable] = int,
        codes_above: int = CODES_ABOVE,
        wide_up_to: int = WIDE_UP_TO,
        run: Run = at_once,
        upto: int = 0,
    ) -> None:
        """`kind_of` returns the kind of a partition; without it each is a kind of its own. `run` calls a function, at once or in another thread.
        After a search it makes missing codes, without which searches are exact. It holds nothing, as of the record `upto`."""
        if dimension < 1:
            raise ValidationError(f"a vector index needs a dimension of at least 1, not {dimension}")
        self._dimension, self._kind_of_partition = dimension, kind_of
        self._codes_above, self._wide_up_to = codes_above, wide_up_to
        self._run, self._is_stopped, self._is_unfinished, self._quiet = run, False, False, QUIET_SEARCHES
        self._clear(upto)
        self.renew_locks()

    def _clear(self, upto: int = 0) -> None:
        self._upto = upto
        self._kinds: dict[Hashable, KindIndex] = {}
        self._kind_of: dict[int, Hashable] = {}
        self._samples: dict[tuple[tuple[int, ...], int, int], Sample] = {}

    @property
    def upto(self) -> int:
        """Newest journal `seq` held; 0 for an empty index."""
        return self._upto

    def __len__(self) -> int:
        """Returns the number of live passages."""
        return sum(map(len, self._kinds.values()))

    @property
    def has_copies(self) -> bool:
        """True when any passage is a copy of another."""
        return any(kind.has_copies for kind in self._kinds.values())

    def renew_locks(self) -> None:
        """Replaces the locks after a fork, since the readers were threads of the parent process. No thread may have been changing the
        index."""
        self._lock, self._encoding, self._is_asked_for = SharedLock(), Lock(), False
        for kind in self._kinds.values():
            kind.drop_unfinished()

    def apply(self, changes: VectorChanges, /) -> None:
        """Applies changes in journal order; those at or before `upto` are ignored.

        A passage that is held already is replaced. Raises `ValidationError`, and changes nothing, when the arrays do not fit together or
        a vector is not finite. When it fails half-way (no memory), the index is left empty with `upto` 0, to be filled again.
        """
        if changes.upto > self._upto:
            self._change(changes, is_hold=False)

    def hold(self, changes: VectorChanges, /) -> None:
        """Takes in all passages of partitions that it left out so far. `upto` stays.

        They may be as of a later record than `upto`: the changes up to there can be applied again. Fails as `apply` does.
        """
        self._change(changes, is_hold=True)

    def _change(self, changes: VectorChanges, *, is_hold: bool) -> None:
        self._check(changes)
        with self._lock.writing():
            if not is_hold and changes.upto <= self._upto:
                return
            try:
                self._take(changes)
            except BaseException:
                self._clear()
                raise
            self._upto = self._upto if is_hold else changes.upto
            self._is_unfinished = any(kind.is_unfinished for kind in self._kinds.values())

    def _check(self, changes: VectorChanges) -> None:
        count, shape = len(changes.passages), changes.vectors.shape
        if shape != (count, self._dimension):
            raise ValidationError(f"{count} passages need vectors of shape {(count, self._dimension)}, not {shape}")
        columns = (changes.passages, changes.memories, changes.partitions, changes.is_own, changes.ties)
        if any(column.shape != (count,) for column in columns) or changes.removed.ndim != 1:
            raise ValidationError(f"columns of {count} passages do not fit together")
        if not np.isfinite(changes.vectors).all():
            raise ValidationError("a vector has a number that is not finite")

    def _take(self, changes: VectorChanges) -> None:
        added = select_added(changes, _mark_last(changes.passages) & ~np.isin(changes.passages, changes.removed))
        leaving = ascending(np.concatenate([added.passages, changes.removed]))
        self._refresh_samples(added, leaving)
        for kind in self._kinds.values():
            if len(rows := kind.rows_of_passages(leaving)):
                kind.remove(rows)
        for name, partitions in self._by_kind(ascending(added.partitions).tolist()).items():
            kind = self._kinds.setdefault(name, self._new_kind())
            kind.add(select_added(added, np.isin(added.partitions, partitions)))
        for name, kind in self._kinds.items():
            if kind.is_wasteful:
                self._kinds[name] = kind.compact()

    def _refresh_samples(self, added: VectorChanges, leaving: Integers) -> None:
        memories = ascending(added.memories)
        if any(len(kind.rows_of_passages(leaving)) or len(kind.rows_of(memories)) for kind in self._kinds.values()):
            self._samples = {}
        kept = ((key, sample.after(added, key[0])) for key, sample in self._samples.items())
        self._samples = {key: sample for key, sample in kept if sample is not None}

    def _by_kind(self, partitions: Sequence[int]) -> dict[Hashable, list[int]]:
        """Returns the partitions of each kind. Kinds of new ones are noted."""
        found: dict[Hashable, list[int]] = {}
        for number in partitions:
            if number not in self._kind_of:
                self._kind_of[number] = self._kind_of_partition(number)
            found.setdefault(self._kind_of[number], []).append(number)
        return found

    def _new_kind(self) -> KindIndex:
        return KindIndex(self._dimension, codes_above=self._codes_above, wide_up_to=self._wide_up_to)

    def compact(self) -> None:
        """Releases the memory of removed passages."""
        with self._lock.writing():
            for name, kind in self._kinds.items():
                self._kinds[name] = kind.compact()

    def search(self, query: Vector, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """Returns the `limit` live passages of *each* kind in these partitions with the greatest cosine: kinds in the given order of partitions,
        best first within each, equal scores by smaller tie, then newer passage. Unknown partitions are left out."""
        return self._search(query, partitions, limit, copies=True)

    def nearest(self, query: Vector, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """As `search`, but only the newest of copies, which leaves room for others."""
        return self._search(query, partitions, limit, copies=False)

    def _search(self, query: Vector, partitions: Sequence[int], limit: int, *, copies: bool) -> PassageScores:
        query = self._check_query(query)
        if limit < 0:
            raise ValidationError(f"limit must not be negative: {limit}")
        with self._lock.reading():
            found = []
            for kind, own in self._each_kind(partitions):
                contents, scores = kind.nearest(query, own, limit)
                rows = kind.newest.values[contents]
                if copies and kind.has_copies:
                    rows = kind.rows_with(contents)
                    order = np.argsort(contents)
                    scores = scores[order[contents.searchsorted(kind.content.values[rows], sorter=order)]]
                    best = np.lexsort((-kind.passage.values[rows], kind.tie.values[kind.content.values[rows]], -scores))[:limit]
                    rows, scores = rows[best], scores[best]
                found.append(kind.passages_at(rows, scores))
        self._begin_codes()
        return join_passages(found)

    def score(self, query: Vector, /, *, memories: Integers) -> PassageScores:
        """Returns all live passages of the given memories with the cosine that `search` gives. Unknown memories are left out."""
        query = self._check_query(query)
        with self._lock.reading():
            return self._score(query, memories)

    def _score(self, query: Vector, memories: Integers) -> PassageScores:
        wanted = ascending(memories)
        found = [(kind, rows) for kind in self._kinds.values() if len(rows := kind.rows_of(wanted))]
        return join_passages([kind.passages_at(rows, kind.products(query, kind.content.values[rows])) for kind, rows in found])

    def background(
        self, query: Vector, /, *, partitions: Sequence[int], all_up_to: int, otherwise: int
    ) -> tuple[PassageScores, int]:
        """Returns what `score` does for the memories of `sample`, and the number of all memories."""
        query = self._check_query(query)
        with self._lock.reading():
            sample = self._sample(partitions, all_up_to, otherwise)
            if sample.gathered is None:
                return self._score(query, sample.memories), sample.count
            passages, vectors = sample.gathered
            return replace(passages, scores=np.vecdot(vectors, query)), sample.count

    def ties(self, memories: Integers, /) -> tuple[Integers, Integers]:
        """Returns those of the memories, which ascend, that have a live passage, and the tie of each."""
        with self._lock.reading():
            return self._ties([(kind, kind.rows_of(memories)) for kind in self._kinds.values()])

    def _ties(self, found: list[tuple[KindIndex, Integers]]) -> tuple[Integers, Integers]:
        """Returns the memories of rows, ascending, and the tie of each."""
        memories = np.concatenate([NO_ROWS, *(kind.memory.values[rows] for kind, rows in found)])
        ties = np.concatenate([NO_ROWS, *(kind.tie.values[kind.content.values[rows]] for kind, rows in found)])
        if (memories[1:] > memories[:-1]).all():
            return memories, ties
        memories, first = np.unique(memories, return_index=True)
        return memories, ties[first]

    def copies(self, memories: Integers, /) -> Integers:
        """Returns the number of copies that each memory represents: all for the newest of its copies, itself included, else 0. The
        memories ascend. One that is not held, because it was removed since it was found, represents 0."""
        with self._lock.reading():
            counts = np.zeros(len(memories), dtype=np.int64)
            for kind in self._kinds.values():
                rows = kind.rows_of(memories)
                held, first = np.unique(kind.memory.values[rows], return_index=True)
                contents = kind.content.values[rows[first]]
                is_newest = kind.newest.values[contents] == rows[first]
                counts[memories.searchsorted(held)] = np.where(is_newest, kind.copies.values[contents], 0)
            return counts

    def copies_of(self, memory: int, /) -> Integers:
        """Returns the memories of its partition that are copies of a memory, itself included, ascending. Empty if it is not held."""
        with self._lock.reading():
            for kind in self._kinds.values():
                if len(rows := kind.rows_of(np.array([memory]))):
                    return ascending(kind.memory.values[kind.rows_with(kind.content.values[rows[:1]])])
            return NO_ROWS

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple[Integers, int]:
        """Returns a sample of the memories of the partitions, by ascending tie, and the number of all their memories.

        The sample is all of them if there are at most `all_up_to`; else the `otherwise` ones with the smallest tie, equal ones by smaller
        number. The array is shared and cannot be written to.
        """
        with self._lock.reading():
            sample = self._sample(partitions, all_up_to, otherwise)
            return sample.memories, sample.count

    def _sample(self, partitions: Sequence[int], all_up_to: int, otherwise: int) -> Sample:
        key = (tuple(partitions), all_up_to, otherwise)
        if (sample := self._samples.get(key)) is not None:
            return sample
        memories, ties = self._ties([(kind, kind.members(own)) for kind, own in self._each_kind(partitions)])
        count = len(memories)
        wanted = count if count <= all_up_to else min(otherwise, count)
        if 0 < wanted < count:
            near = np.flatnonzero(ties <= np.partition(ties, wanted - 1)[wanted - 1])
            memories, ties = memories[near], ties[near]
        order = np.lexsort((memories, ties))[:wanted]
        memories = memories[order]
        memories.flags.writeable = False
        if len(self._samples) >= SAMPLES_KEPT:
            self._samples = {}
        gathered = self._gather(memories) if 0 < wanted < count else None
        sample = self._samples[key] = Sample(memories, int(ties[order[-1]]) if wanted else 0, count, gathered)
        return sample

    def _gather(self, memories: Integers) -> tuple[PassageScores, Matrix] | None:
        """Returns the passages of memories, without scores, and a copy of their vectors; `None` where they are many."""
        found = [(kind, kind.rows_of(ascending(memories))) for kind in self._kinds.values()]
        if sum(len(rows) for _, rows in found) > MOST_GATHERED:
            return None
        vectors = np.concatenate([kind.vectors_at(kind.content.values[rows]) for kind, rows in found])
        return join_passages([kind.passages_at(rows, NO_SCORES) for kind, rows in found]), vectors

    def _each_kind(self, partitions: Sequence[int]) -> Iterator[tuple[KindIndex, tuple[int, ...]]]:
        """Yields the kinds of known partitions, each with its own."""
        known = [number for number in dict.fromkeys(partitions) if number in self._kind_of]
        for name, own in self._by_kind(known).items():
            if name in self._kinds:
                yield self._kinds[name], tuple(own)

    def large(self) -> list[Hashable]:
        """Returns the kinds that a snapshot is worth for."""
        with self._lock.reading():
            return [name for name, kind in self._kinds.items() if kind.is_large]

    def is_stale(self, name: Hashable) -> bool:
        """Returns True if a kind changed much since it was read from a snapshot, or was not."""
        with self._lock.reading():
            return STALE * self._kinds[name].unsaved > len(self)

    def save(self, name: Hashable, held: Integers) -> tuple[int, Arrays] | None:
        """Returns `upto`, and a large kind as a snapshot holds it, whose partitions are `held`. Codes that are left are made, while the index is
        locked. `None` if it can have none."""
        with self._lock.writing():
            saved = self._kinds[name].save()
            return None if saved is None else (self._upto, {**saved, "held": held})

    def restore(self, name: Hashable, saved: Arrays, fetch: Fetch) -> None:
        """Takes a kind from a snapshot, in place of all that it holds of it. Its vectors are fetched when they are needed, and after
        `QUIET_SEARCHES` searches the rest of them, by `run`."""
        with self._lock.writing():
            self._kinds[name] = self._new_kind().restore(saved, fetch)
            self._kind_of.update(dict.fromkeys(saved["held"].tolist(), name))
            self._samples = {}
            self._is_unfinished, self._quiet = True, QUIET_SEARCHES

    def stop(self) -> None:
        """Makes no more codes. What another thread has begun ends within milliseconds."""
        self._is_stopped = True

    def _begin_codes(self) -> None:
        """Has the missing codes made, and vectors read, after a search: a process that only writes needs none."""
        if not self._is_unfinished or self._is_stopped:
            return
        if self._quiet and not any(kind.is_slow for kind in list(self._kinds.values())):
            self._quiet -= 1
        elif not self._is_asked_for:
            self._is_asked_for, is_begun = True, False
            try:
                self._run(self._encode)
                is_begun = True
            except StorageError:  # no thread is left: a later search asks again
                pass
            finally:
                self._is_asked_for = self._is_asked_for and is_begun

    def _encode(self) -> None:
        """Finishes all kinds, some of each at a time: searches go on beside it, and writes wait for a few milliseconds. One thread does that."""
        if not self._encoding.acquire(blocking=False):
            return
        try:
            while not self._is_stopped:
                if not self._encode_some():
                    return
        except MissingDependencyError as error:
            self._is_stopped = True
            _LOG.warning("searches compare all vectors of a large kind of memory: %s", error)
        finally:
            self._is_asked_for = False
            self._encoding.release()

    def _encode_some(self) -> bool:
        """Finishes a part of a kind. Returns False if none is left."""
        with self._lock.reading():
            kind = next((kind for kind in self._kinds.values() if kind.is_unfinished), None)
            if kind is None:
                self._is_unfinished = False
                return False
            is_left = kind.finish_some()
        if not is_left:
            with self._lock.writing():
                kind.finish()
        return True

    def _check_query(self, query: Vector) -> Vector:
        query = np.ascontiguousarray(query, dtype=np.float32)
        if query.shape != (self._dimension,):
            raise ValidationError(f"the query has shape {query.shape}, the index holds vectors of {self._dimension} numbers")
        if not np.isfinite(query).all():
            raise ValidationError("the query has a number that is not finite")
        return query


def join_passages(parts: Sequence[PassageScores]) -> PassageScores:
    """Returns all of these passages, one part behind the other."""
    if len(parts) == 1:
        return parts[0]
    empty = PassageScores(NO_ROWS, NO_ROWS, NO_ROWS, NO_ROWS, NO_FLAGS, NO_SCORES)
    names = [field.name for field in fields(PassageScores)]
    return PassageScores(*(np.concatenate([getattr(part, name) for part in (empty, *parts)]) for name in names))


def select_added(changes: VectorChanges, kept: NDArray[np.bool_]) -> VectorChanges:
    """Returns the changes with these of the passages that are added."""
    if kept.all():
        return changes
    names = ("passages", "memories", "partitions", "is_own", "ties", "vectors")
    return replace(changes, **{name: getattr(changes, name)[kept] for name in names})


def _mark_last(passages: Integers) -> NDArray[np.bool_]:
    """Marks the last entry of each passage."""
    kept = np.ones(len(passages), dtype=np.bool_)
    order = np.argsort(passages, kind="stable")
    kept[order[:-1]] = passages[order[1:]] != passages[order[:-1]]
    return kept
