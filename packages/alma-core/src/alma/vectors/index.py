"""The vector index of one project: exact in numpy where a kind of memory is small, by codes of FAISS and refined exactly above."""

import logging
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, replace
from threading import Lock

import numpy as np

from alma.errors import MissingDependencyError, ValidationError
from alma.forking import delaying_forks
from alma.protocols import PassageScores, VectorChanges
from alma.vectors.changes import checked, chosen, without_repeats
from alma.vectors.columns import Integers, ascending
from alma.vectors.halves import Matrix, Vector
from alma.vectors.kind import SCOPES_KEPT, Fetch, KindIndex, SavedKind
from alma.vectors.locks import SharedLock
from alma.vectors.sample import Held, Sample

_LOG = logging.getLogger("alma")

CODES_ABOVE = 8_000
"""Kinds of more contents have codes, too. Up to here a search is exact (28 November 2026: at 10,000 numpy took 2.2 ms, codes .5 ms)."""
WIDE_UP_TO = 20_000
"""Vectors of a kind of more contents are float16."""
RECALL = 0.99
"""Share of the nearest 50 passages that a search finds at least, measured on sentences of conversations (`benchmarks.nearest`)."""

QUIET_SEARCHES = 8
"""A process that asks a few questions makes no codes of kinds that numpy searches well, and does not read all vectors after a snapshot."""
GATHERED = 4
"""Samples whose vectors are cached side by side. One of a thousand takes a megabyte and a half."""

Run = Callable[[Callable[[], object]], object]
"""Calls a function, now or later, in this thread or in another one."""

_NO_ROWS: Integers = np.empty(0, dtype=np.int64)
NO_SCORES: Vector = np.empty(0, dtype=np.float32)


def at_once(call: Callable[[], object]) -> None:
    """Serves as `Run` without another thread."""
    call()


@dataclass(frozen=True, slots=True)
class Gathered:
    """Passages of one kind, without scores, and the vectors of their contents."""

    passages: PassageScores
    vectors: Matrix
    places: Integers


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
    ) -> None:
        """`kind_of` returns the kind of a partition; without it each is a kind of its own. `run` calls a function, at once or in another thread.
        After a search it makes missing codes, without which searches are exact."""
        if dimension < 1:
            raise ValidationError(f"a vector index needs a dimension of at least 1, not {dimension}")
        self._dimension, self._kind_of_partition = dimension, kind_of
        self._codes_above, self._wide_up_to = codes_above, wide_up_to
        self._run, self._is_stopped, self._is_unfinished, self._quiet = run, False, False, QUIET_SEARCHES
        self._clear()
        self.renew_locks()

    def _clear(self) -> None:
        self._upto = 0
        self._kinds: dict[Hashable, KindIndex] = {}
        self._kind_of: dict[int, Hashable] = {}
        self._memories: dict[int, int] = {}
        self._groups: dict[tuple[int, ...], list[tuple[KindIndex, tuple[int, ...]]]] = {}
        self._samples: dict[tuple[tuple[int, ...], int, int], Sample] = {}
        self._gathered: list[tuple[Integers, list[Gathered]]] = []

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
        return sum(map(len, self._kinds.values()))

    @property
    def has_copies(self) -> bool:
        """True when any passage is a copy of another."""
        return any(kind.has_copies for kind in self._kinds.values())

    def renew_locks(self) -> None:
        """Replaces the locks after a fork, since the readers were threads of the parent process. No thread may have been changing the
        index."""
        self._lock, self._sampling, self._encoding = SharedLock(), Lock(), Lock()
        for kind in self._kinds.values():
            kind.drop_unfinished()

    def apply(self, changes: VectorChanges, /) -> None:
        """Applies changes in journal order; those at or before `upto` are ignored.

        A passage that is held already is replaced. Raises `ValidationError`, and changes nothing, when the arrays do not fit together or
        a vector is not finite. When it fails half-way (no memory), the index is left empty with `upto` 0, to be filled again.
        """
        if changes.upto > self._upto:
            self._change(checked(changes, self._dimension), is_hold=False)

    def hold(self, changes: VectorChanges, /) -> None:
        """Takes in all passages of partitions that it left out so far. `upto` stays.

        They may be as of a later record than `upto`: the changes up to there can be applied again. Fails as `apply` does.
        """
        self._change(checked(changes, self._dimension), is_hold=True)

    def _change(self, changes: VectorChanges, *, is_hold: bool) -> None:
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

    def _take(self, changes: VectorChanges) -> None:
        added = without_repeats(changes)
        leaving = ascending(np.concatenate([added.passages, changes.removed]))
        out = [(kind, rows) for kind in self._kinds.values() if len(rows := kind.rows_of_passages(leaving))]
        touched = ascending(np.concatenate([added.memories, *(kind.memory.values[rows] for kind, rows in out)]))
        gone = self._held(touched)
        for kind, rows in out:
            kind.remove(rows)
        for name, partitions in self._by_kind(added.partitions).items():
            self._kinds[name].add(chosen(added, np.isin(added.partitions, partitions)))
        self._recount(gone, self._held(touched))
        for name, kind in self._kinds.items():
            if kind.is_wasteful:
                self._replace(name, kind.compacted())

    def _by_kind(self, partitions: Integers) -> dict[Hashable, list[int]]:
        """Returns the partitions of each kind. What is new is noted."""
        found: dict[Hashable, list[int]] = {}
        for number in ascending(partitions).tolist():
            if number not in self._kind_of:
                name = self._kind_of[number] = self._kind_of_partition(number)
                self._kinds.setdefault(name, self._new_kind())
                self._groups = {}
            found.setdefault(self._kind_of[number], []).append(number)
        return found

    def _new_kind(self) -> KindIndex:
        return KindIndex(self._dimension, codes_above=self._codes_above, wide_up_to=self._wide_up_to)

    def _replace(self, name: Hashable, kind: KindIndex) -> None:
        self._kinds[name] = kind
        self._groups, self._gathered = {}, []

    def _held(self, memories: Integers) -> Held:
        """Returns those of the memories, which ascend, that have a live passage."""
        found = [kind.scored(kind.rows_of(memories), NO_SCORES) for kind in self._kinds.values()]
        columns = ([getattr(each, name) for each in found] for name in ("memories", "partitions", "ties"))
        return Held.of(*(np.concatenate([_NO_ROWS, *column]) for column in columns))

    def _recount(self, gone: Held, held: Held) -> None:
        for partitions, sign in ((gone.partitions, -1), (held.partitions, 1)):
            for number, count in zip(*(each.tolist() for each in np.unique(partitions, return_counts=True)), strict=True):
                self._memories[number] = self._memories.get(number, 0) + sign * count
        self._samples = {key: sample for key, sample in self._samples.items() if sample.outlasts(gone, held)}
        kept = {id(sample.memories) for sample in self._samples.values()}
        self._gathered = [each for each in self._gathered if id(each[0]) in kept]

    def compact(self) -> None:
        """Releases the memory of removed passages."""
        with self._lock.writing():
            for name, kind in self._kinds.items():
                self._replace(name, kind.compacted())

    def search(self, query: Vector, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """Returns the `limit` live passages of *each* kind in these partitions with the greatest cosine: kinds in the given order of partitions,
        best first within each, equal scores by smaller tie, then newer passage. Unknown partitions are left out."""
        return self._search(query, partitions, limit, copies=True)

    def nearest(self, query: Vector, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        """As `search`, but only the newest of copies, which leaves room for others."""
        return self._search(query, partitions, limit, copies=False)

    def _search(self, query: Vector, partitions: Sequence[int], limit: int, *, copies: bool) -> PassageScores:
        query = self._checked_query(query)
        if limit < 0:
            raise ValidationError(f"limit must not be negative: {limit}")
        with self._lock.reading():
            found = []
            for kind, own in self._grouped(partitions):
                comparison = kind.compare(query)
                contents, scores = kind.nearest(comparison, own, limit)
                rows = kind.newest.values[contents]
                if copies and kind.has_copies:
                    rows = kind.rows_with(contents)
                    order = np.argsort(contents)
                    scores = scores[order[contents.searchsorted(kind.content.values[rows], sorter=order)]]
                    best = np.lexsort((-kind.passage.values[rows], kind.tie.values[kind.content.values[rows]], -scores))[:limit]
                    rows, scores = rows[best], scores[best]
                found.append(kind.scored(rows, scores))
        self._begin_codes()
        return joined(found)

    def score(self, query: Vector, /, *, memories: Integers) -> PassageScores:
        """Returns all live passages of the given memories with the cosine that `search` gives. Unknown memories are left out."""
        query = self._checked_query(query)
        with self._lock.reading():
            if not memories.flags.writeable:
                return joined(
                    [
                        replace(one.passages, scores=np.vecdot(one.vectors, query)[one.places])
                        for one in self._gather_sample(memories)
                    ]
                )
            wanted = ascending(memories)
            found = [(kind, rows) for kind in self._kinds.values() if len(rows := kind.rows_of(wanted))]
            return joined([kind.scored(rows, kind.compare(query).at(kind.content.values[rows])) for kind, rows in found])

    def _gather_sample(self, memories: Integers) -> list[Gathered]:
        """Returns the passages of a sample with their vectors side by side. Cached for the very array."""
        with self._sampling:
            found = next((found for known, found in self._gathered if known is memories), None)
            if found is None:
                found, wanted = [], ascending(memories)
                for kind in self._kinds.values():
                    if len(rows := kind.rows_of(wanted)):
                        contents, places = np.unique(kind.content.values[rows], return_inverse=True)
                        found.append(Gathered(kind.scored(rows, NO_SCORES), kind.vectors_at(contents), places))
                if any(sample.memories is memories for sample in self._samples.values()):
                    self._gathered = [(memories, found), *self._gathered][:GATHERED]
            return found

    def ties(self, memories: Integers, /) -> tuple[Integers, Integers]:
        """Returns those of the memories, which ascend, that have a live passage, and the tie of each."""
        with self._lock.reading():
            held = self._held(memories)
            return held.memories, held.ties

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
            return _NO_ROWS

    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple[Integers, int]:
        """Returns a sample of the memories of the partitions, by ascending tie, and the number of all their memories.

        The sample is all of them if there are at most `all_up_to`; else the `otherwise` ones with the smallest tie, equal ones by smaller
        number. The array is shared and must not be written to. `score` is faster for this very array, since its vectors are kept side by
        side.
        """
        key = (tuple(partitions), all_up_to, otherwise)
        with self._lock.reading(), self._sampling:
            count = sum(self._memories.get(number, 0) for number in dict.fromkeys(partitions))
            wanted = count if count <= all_up_to else min(otherwise, count)
            sample = self._samples.get(key)
            if sample is None or len(sample.memories) != wanted:
                members = [(kind, kind.members(own)) for kind, own in self._grouped(key[0])]
                memories = np.concatenate([_NO_ROWS, *(kind.memory.values[rows] for kind, rows in members)])
                ties = np.concatenate([_NO_ROWS, *(kind.tie.values[kind.content.values[rows]] for kind, rows in members)])
                if len(self._samples) >= SCOPES_KEPT:
                    self._samples.clear()
                sample = self._samples[key] = Sample.of(memories, ties, wanted)
            return sample.memories, count

    def _grouped(self, partitions: Sequence[int]) -> list[tuple[KindIndex, tuple[int, ...]]]:
        """Returns the kinds of known partitions, each with its own. Cached by the partitions asked for."""
        key = tuple(partitions)
        found = self._groups.get(key)
        if found is None:
            groups: dict[Hashable, list[int]] = {}
            for number in dict.fromkeys(key):
                if number in self._kind_of:
                    groups.setdefault(self._kind_of[number], []).append(number)
            if len(self._groups) >= SCOPES_KEPT:
                self._groups = {}
            found = self._groups[key] = [(self._kinds[name], tuple(own)) for name, own in groups.items()]
        return found

    def large(self) -> list[Hashable]:
        """Returns the kinds that a snapshot is worth for."""
        with self._lock.reading():
            return [name for name, kind in self._kinds.items() if kind.is_large]

    def saved(self, name: Hashable, held: Integers) -> tuple[int, SavedKind] | None:
        """Returns `upto`, and a large kind as a snapshot holds it, whose partitions are `held`. Codes that are left are made, while the index is
        locked. `None` if it can have none."""
        with self._lock.writing():
            saved = self._kinds[name].saved(held)
            return None if saved is None else (self._upto, saved)

    def restore(self, name: Hashable, saved: SavedKind, fetch: Fetch) -> bool:
        """Takes a kind from a snapshot, in place of all that it holds of it. Its vectors are fetched when they are needed, and after
        `QUIET_SEARCHES` searches the rest of them, by `run`. False, and nothing is taken in, if its codes do not fit."""
        with self._lock.writing():
            kind = self._kinds.get(name) or self._new_kind()
            if (made := kind.restored(saved, fetch)) is None:
                return False
            rows = np.arange(len(kind.passage))
            touched = ascending(np.concatenate([kind.memory.values[rows], saved.memories]))
            gone = self._held(touched)
            self._kind_of.update(dict.fromkeys(saved.held.tolist(), name))
            self._replace(name, made)
            self._recount(gone, self._held(touched))
            self._is_unfinished, self._quiet = True, QUIET_SEARCHES
            return True

    def stop(self) -> None:
        """Makes no more codes. What another thread has begun ends within milliseconds."""
        self._is_stopped = True

    def _begin_codes(self) -> None:
        """Has the missing codes made, and vectors read, after a search: a process that only writes needs none."""
        if not self._is_unfinished or self._is_stopped:
            return
        if self._quiet and not any(kind.is_slow for kind in list(self._kinds.values())):
            self._quiet -= 1
        elif self._encoding.acquire(blocking=False):
            self._run(self._encode)

    def _encode(self) -> None:
        """Finishes all kinds, some of each at a time: searches go on beside it, and writes wait for a few milliseconds."""
        try:
            while not self._is_stopped:
                with delaying_forks():
                    if not self._encode_some():
                        return
        except MissingDependencyError as error:
            self._is_stopped = True
            _LOG.warning("searches compare all vectors of a large kind of memory: %s", error)
        finally:
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

    def _checked_query(self, query: Vector) -> Vector:
        query = np.ascontiguousarray(query, dtype=np.float32)
        if query.shape != (self._dimension,):
            raise ValidationError(f"the query has shape {query.shape}, the index holds vectors of {self._dimension} numbers")
        if not np.isfinite(query).all():
            raise ValidationError("the query has a number that is not finite")
        return query


def joined(parts: Sequence[PassageScores]) -> PassageScores:
    """Returns all of these passages, one part behind the other."""
    if len(parts) == 1:
        return parts[0]
    empty = PassageScores(_NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_ROWS, np.empty(0, dtype=np.bool_), NO_SCORES)
    names = [field.name for field in fields(PassageScores)]
    return PassageScores(*(np.concatenate([getattr(part, name) for part in (empty, *parts)]) for name in names))
