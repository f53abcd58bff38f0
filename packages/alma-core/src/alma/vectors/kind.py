"""The passages of one kind: contents with their vectors, and the passages that have them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma.protocols import PassageScores, VectorChanges
from alma.vectors.arrays import NO_ROWS, NO_SCORES, Column, Flags, Halves, Integers, Lookup, Matrix, Vector, content_keys, widen
from alma.vectors.codes import LEAST_DIMENSION, Bits, Codes

SCANNED_FOR = 50
"""A scope of at most one in this many contents of a kind is compared exactly: gathering so few takes less time than a scan by codes."""
RESCORED = 4
"""At least this many candidates for each place are compared exactly."""
MARGIN = 2.0
"""The last place must be better than the estimate of the last candidate by this many deviations of an estimate. With 3, a search of 100,000 took
5.9 ms at p95 instead of 3.5, and none found more (29 November 2026, MiniLM vectors of `benchmarks.nearest`, 60 questions)."""
MOST_RESCORED = 16
"""If more than one in this many contents had to be compared exactly, all are."""
AT_ONCE = 1_024
"""Vectors that are widened, encoded or fetched at once. Takes some milliseconds at most, for which a write may wait."""
SCOPES_KEPT = 64
FEW = 20_000
"""Numbers of at most this many contents are cached with their scope."""

Fetch = Callable[[Integers], tuple[Integers, Halves]]
"""Returns those of the passages that the store has a vector for, in any order, and these vectors."""

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Scope:
    """The contents of some partitions. `inside` and `bits` say which of the first contents they are, `numbers` too where they are few."""

    inside: Flags
    bits: Bits
    count: int
    numbers: Integers | None


class KindIndex:
    """Passages of one kind in rows, and their distinct contents (partition, tie and vector), which are numbered. Not thread-safe.

    Copies are passages of different memories with one content: a thousand take the room and the time of one. Up to `wide_up_to` contents vectors are
    float32, which are compared fastest, above float16. A kind of more than `codes_above` unit vectors may have codes. Vectors of a kind from a
    snapshot are fetched when they are compared; one that the store does not have counts as zeros, and is asked for again.
    """

    def __init__(self, dimension: int, *, codes_above: int, wide_up_to: int) -> None:
        self._dimension, self._codes_above, self._wide_up_to = dimension, codes_above, wide_up_to
        self.passage, self.memory, self.content = Column(np.int64), Column(np.int64), Column(np.int64)
        self.is_own, self._live = Column(np.bool_), Column(np.bool_)
        self.partition, self.tie, self._key = Column(np.int64), Column(np.int64), Column(np.int64)
        self.newest, self.copies = Column(np.int64), Column(np.int64)
        self._vectors, self._is_held = Column(np.float32, dimension), Column(np.bool_)
        self._by_passage, self._by_memory, self._by_key = Lookup(), Lookup(), Lookup()
        self.codes: Codes | None = None
        self._made: Codes | None = None
        self._is_codable = dimension >= LEAST_DIMENSION
        self._fetch: Fetch | None = None
        self._fetched = 0
        self._dead = 0
        self.unsaved = inf
        """Passages that came or left since the kind was read from a snapshot."""
        self._scopes: dict[tuple[int, ...], Scope] = {}

    def __len__(self) -> int:
        """Returns the number of live passages."""
        return len(self.passage) - self._dead

    @property
    def has_copies(self) -> bool:
        """True when any passage is a copy of another."""
        return len(self) > int(np.count_nonzero(self.copies.values))

    @property
    def is_large(self) -> bool:
        """True when reading a snapshot is worth its time: vectors are float16, and have codes or will have."""
        return self._vectors.values.dtype == np.float16 and self._is_codable

    @property
    def is_slow(self) -> bool:
        """True when it is large, and all of its vectors have to be compared."""
        return self.is_large and self.codes is None

    @property
    def is_wasteful(self) -> bool:
        """True when a quarter of the rows, or more, are of removed passages."""
        return self._dead > max(AT_ONCE, len(self.passage) // 4)

    def rows_of_passages(self, passages: Integers) -> Integers:
        """Returns the live rows of passages, which ascend; unknown ones are left out."""
        return self._select_live(self._by_passage.find(passages))

    def rows_of(self, memories: Integers) -> Integers:
        """Returns the live rows of memories, which ascend; unknown ones are left out."""
        return self._select_live(self._by_memory.find(memories))

    def _select_live(self, rows: Integers) -> Integers:
        return rows[self._live.values[rows]] if self._dead else rows

    def add(self, new: VectorChanges) -> None:
        """Adds passages, of which none is live."""
        rows = np.arange(len(self.passage), len(self.passage) + len(new.passages))
        contents = self._contents_of(new)
        self._add_rows(new.passages, new.memories, new.is_own, contents)
        np.add.at(self.copies.values, contents, 1)
        self._note_newest(rows)
        self.unsaved += len(rows)
        if self.codes is not None and len(self._key) - len(self.codes) > AT_ONCE:
            self.codes, self._made = None, self.codes  # so many are left to `finish_some`
        elif self.codes is not None:
            self._encode(self.codes, len(self._key))

    def _add_rows(self, passages: Integers, memories: Integers, is_own: Flags, contents: Integers) -> None:
        rows = np.arange(len(self.passage), len(self.passage) + len(passages))
        columns = (self.passage, self.memory, self.is_own, self.content, self._live)
        for column, values in zip(
            columns, (passages, memories, is_own, contents, np.ones(len(rows), dtype=np.bool_)), strict=True
        ):
            column.append(values)
        self._by_passage.add(passages, rows)
        self._by_memory.add(memories, rows)

    def _contents_of(self, new: VectorChanges) -> Integers:
        """Returns the content of each passage. One that is not there yet is added; so is another of one memory that says something twice."""
        keys = content_keys(new.partitions, new.ties, new.vectors)
        distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        known = np.full(len(distinct), -1)
        found = self._by_key.find(distinct)
        found = found[self.copies.values[found] > 0]
        known[distinct.searchsorted(self._key.values[found])] = found
        contents = known[inverse]
        alone = _mark_repeats(keys, new.memories) if len(distinct) < len(keys) else np.zeros(len(keys), dtype=np.bool_)
        at = np.flatnonzero(contents >= 0)
        same = contents[at]
        alone[at] |= self.memory.values[self.newest.values[same]] == new.memories[at]
        alone[at] |= (self.partition.values[same] != new.partitions[at]) | (self.tie.values[same] != new.ties[at])
        begins = alone.copy()
        begins[first[known < 0]] = True
        contents[begins] = len(self._key) + np.arange(np.count_nonzero(begins))
        contents = np.where(contents < 0, contents[first[inverse]], contents)
        self._add_contents(keys[begins], new.partitions[begins], new.ties[begins])
        self._put(new.vectors[begins])
        return contents

    def _add_contents(self, keys: Integers, partitions: Integers, ties: Integers) -> None:
        numbers = np.arange(len(self._key), len(self._key) + len(keys))
        self._by_key.add(keys, numbers)
        columns = (self._key, self.partition, self.tie, self.newest, self.copies)
        for column, values in zip(columns, (keys, partitions, ties, np.full(len(keys), -1), np.zeros_like(keys)), strict=True):
            column.append(values)

    def _put(self, vectors: Halves) -> None:
        if len(self._vectors) + len(vectors) > self._wide_up_to and self._vectors.values.dtype != np.float16:
            self._store(self._vectors.values.astype(np.float16))
        is_wide = self._vectors.values.dtype == np.float32
        self._vectors.append(widen(vectors) if is_wide else vectors)
        self._is_held.append(np.ones(len(vectors), dtype=np.bool_))

    def _store(self, vectors: Halves | Matrix) -> None:
        self._vectors = Column(vectors.dtype, self._dimension)
        self._vectors.replace(vectors)

    def _note_newest(self, rows: Integers) -> None:
        """Has each content of these rows represented by its newest passage."""
        rows = rows[np.argsort(self.passage.values[rows], kind="stable")]
        contents = self.content.values[rows]
        former = self.newest.values[contents]
        is_newer = (former < 0) | (self.passage.values[former] < self.passage.values[rows])
        self.newest.values[contents[is_newer]] = rows[is_newer]

    def remove(self, rows: Integers) -> None:
        """Removes live rows, and contents that no passage has any more."""
        self._live.values[rows] = False
        self._dead += len(rows)
        self.unsaved += len(rows)
        contents = self.content.values[rows]
        np.subtract.at(self.copies.values, contents, 1)
        contents = contents[self.newest.values[contents] == rows]
        self.newest.values[contents] = -1
        left = contents[self.copies.values[contents] > 0]
        if len(left):
            self._note_newest(np.flatnonzero(self._live.values & np.isin(self.content.values, left)))
        if len(left) < len(contents):
            self._scopes = {}

    def scope(self, partitions: tuple[int, ...]) -> Scope:
        """Returns the live contents of partitions. Cached by the partitions, and extended by contents that are new."""
        scope = self._scopes.get(partitions)
        start = 0 if scope is None else len(scope.inside)
        if scope is None or start < len(self._key):
            inside = np.isin(self.partition.values[start:], partitions) & (self.copies.values[start:] > 0)
            inside = inside if scope is None else np.concatenate([scope.inside, inside])
            count = int(np.count_nonzero(inside))
            few = np.flatnonzero(inside) if count <= FEW else None
            scope = Scope(inside, np.packbits(inside, bitorder="little"), count, few)
            if len(self._scopes) >= SCOPES_KEPT:
                self._scopes = {}
            self._scopes[partitions] = scope
        return scope

    def members(self, partitions: tuple[int, ...]) -> Integers:
        """Returns the live rows of partitions."""
        return np.flatnonzero(self._live.values & self.scope(partitions).inside[self.content.values])

    def rows_with(self, contents: Integers) -> Integers:
        """Returns the live rows that have these contents: all copies."""
        if (self.copies.values[contents] == 1).all():
            return self.newest.values[contents]
        return np.flatnonzero(self._live.values & np.isin(self.content.values, contents))

    def passages_at(self, rows: Integers, scores: Vector) -> PassageScores:
        """Returns rows as passages with their scores."""
        contents = self.content.values[rows]
        return PassageScores(
            passages=self.passage.values[rows],
            memories=self.memory.values[rows],
            partitions=self.partition.values[contents],
            ties=self.tie.values[contents],
            is_own=self.is_own.values[rows],
            scores=scores,
        )

    def products(self, query: Vector, contents: Integers) -> Vector:
        """Returns the inner products of a query with vectors, each computed alone, so that it is the same whatever the kind holds."""
        vectors = self._vectors.values
        if vectors.dtype == np.float32 and 2 * len(contents) > len(vectors):  # this takes less time than gathering
            return np.asarray(np.vecdot(vectors, query)[contents])
        starts = range(0, len(contents), AT_ONCE)
        parts = [np.vecdot(self.vectors_at(contents[start : start + AT_ONCE]), query) for start in starts]
        return np.concatenate([NO_SCORES, *parts])

    def vectors_at(self, contents: Integers) -> Matrix:
        """Returns a copy of the vectors of contents, as float32."""
        if self._fetch is not None:
            self._take(contents[~self._is_held.values[contents]])
        vectors = widen(self._vectors.values[contents])
        if self._fetch is not None:
            vectors[~self._is_held.values[contents]] = 0
        return vectors

    def _take(self, contents: Integers) -> None:
        """Fetches vectors. Of threads that fetch the same, each writes the same."""
        rows = self.newest.values[contents]
        contents, rows = contents[rows >= 0], rows[rows >= 0]
        if not len(contents) or self._fetch is None:
            return
        passages = self.passage.values[rows]
        found, vectors = self._fetch(passages)
        order = np.argsort(passages)
        contents = contents[order[passages.searchsorted(found, sorter=order)]]
        self._vectors.values[contents] = vectors
        self._is_held.values[contents] = True

    def nearest(self, query: Vector, partitions: tuple[int, ...], limit: int) -> tuple[Integers, Vector]:
        """Returns the `limit` contents of partitions with the greatest products, and these: best first, equal ones by smaller tie, then newer
        passage."""
        scope = self.scope(partitions)
        found = self._best_by_codes(query, scope, limit) if limit else (NO_ROWS, NO_SCORES)
        if found is None:
            numbers = np.flatnonzero(scope.inside) if scope.numbers is None else scope.numbers
            found = _select_best(numbers, self.products(query, numbers), limit)
        numbers, scores = found
        order = np.lexsort((-self.passage.values[self.newest.values[numbers]], self.tie.values[numbers], -scores))[:limit]
        return numbers[order], scores[order]

    def _best_by_codes(self, query: Vector, scope: Scope, limit: int) -> tuple[Integers, Vector] | None:
        """Returns the best of the candidates that the codes select; `None` where all are compared instead: there are no codes, or few contents,
        or too many candidates are equally near."""
        if self.codes is None or scope.count <= max(self._codes_above // 2, len(self.codes) // SCANNED_FOR):
            return None
        among = None if scope.count == len(self.codes) else scope.bits
        margin = MARGIN * self.codes.deviation * float(np.linalg.norm(query))
        fetched = RESCORED * limit
        while MOST_RESCORED * fetched <= scope.count:
            estimates, candidates = self.codes.nearest(query, fetched, among)
            candidates.sort()
            numbers, scores = _select_best(candidates, self.products(query, candidates), limit)
            if len(scores) >= limit and scores.min() >= estimates[-1] + margin:
                return numbers, scores
            fetched *= 4
        return None

    @property
    def is_unfinished(self) -> bool:
        """True when codes are not made yet, or vectors not read, that would make later searches faster."""
        lacks_codes = self.codes is None and self._is_codable and len(self._key) > self._codes_above
        return lacks_codes or (self._fetch is not None and self._fetched < len(self._is_held))

    def finish_some(self) -> bool:
        """Makes or reads some of it and returns True while some is left. Other threads may search meanwhile, none may change the kind."""
        if self._fetch is not None and self._fetched < len(self._is_held):
            start, self._fetched = self._fetched, min(self._fetched + AT_ONCE, len(self._is_held))
            self._take(start + np.flatnonzero(~self._is_held.values[start : self._fetched]))
            return self.is_unfinished
        return self.is_unfinished and self._code_some()

    def finish(self) -> None:
        """Makes or reads what is left. The next search uses it."""
        while self.finish_some():
            pass
        if self._made is not None:
            self.codes, self._made = self._made, None

    def _code_some(self) -> bool:
        made = self._made = Codes(self._dimension) if self._made is None else self._made
        self._encode(made, len(made) + AT_ONCE)
        return self._is_codable and len(made) < len(self._key)

    def drop_unfinished(self) -> None:
        """Drops codes that are not all made: in a forked child, where the thread that made them does not go on."""
        self._made = None

    def _encode(self, codes: Codes, until: int) -> None:
        """Appends codes up to a content. From a vector on that is no unit vector the kind has none."""
        until = min(until, len(self._key))
        self._is_codable = codes.append(self.vectors_at(np.arange(len(codes), until)))
        if not self._is_codable:
            self.codes = self._made = None

    def compact(self) -> "KindIndex":
        """Returns a kind of the live passages only. Its codes are made again."""
        made = KindIndex(self._dimension, codes_above=self._codes_above, wide_up_to=self._wide_up_to)
        contents = np.flatnonzero(self.copies.values)
        numbers = np.cumsum(self.copies.values > 0) - 1
        made._add_contents(self._key.values[contents], self.partition.values[contents], self.tie.values[contents])
        is_wide = len(contents) <= self._wide_up_to // 2 and self._fetch is None
        made._store(self.vectors_at(contents) if is_wide else self._vectors.values[contents])
        made._is_held.append(self._is_held.values[contents])
        made._fetch, made.unsaved = self._fetch, self.unsaved
        passages, memories, is_own, content = self._live_rows()
        made._hold(passages, memories, is_own, numbers[content])
        return made

    def _live_rows(self) -> list[NDArray[Any]]:
        rows = np.flatnonzero(self._live.values)
        return [column.values[rows] for column in (self.passage, self.memory, self.is_own, self.content)]

    def _hold(self, passages: Integers, memories: Integers, is_own: Flags, contents: Integers) -> None:
        """Adds the rows of contents that are there."""
        order = np.argsort(passages, kind="stable")
        self._add_rows(passages[order], memories[order], is_own[order], contents[order])
        self.copies.values[:] = np.bincount(contents, minlength=len(self._key))
        self.newest.values[contents[order]] = np.arange(len(order))

    def save(self) -> Arrays | None:
        """Returns the arrays that a snapshot holds: passages, the contents that they have by number, and the codes of these, without vectors. Makes
        the codes that are left; `None` if it can have none."""
        if self.codes is None and self._is_codable:
            while self._code_some():
                pass
            self.codes, self._made = self._made, None
        if self.codes is None:
            return None
        self.unsaved = 0
        rows = zip(("passages", "memories", "is_own", "contents"), self._live_rows(), strict=True)
        columns = {"keys": self._key.values, "partitions": self.partition.values, "ties": self.tie.values}
        return {**dict(rows), **columns, "codes": self.codes.packed()}

    def restore(self, saved: Arrays, fetch: Fetch) -> "KindIndex":
        """Returns a kind of the arrays that `save` returned."""
        made = KindIndex(self._dimension, codes_above=self._codes_above, wide_up_to=self._wide_up_to)
        count = len(saved["keys"])
        made.codes, made._fetch, made.unsaved = Codes(self._dimension, saved["codes"]), fetch, 0
        made._add_contents(saved["keys"], saved["partitions"], saved["ties"])
        made._store(np.empty((count, self._dimension), dtype=np.float16))  # memory that is not written to is not used
        made._is_held.append(np.zeros(count, dtype=np.bool_))
        made._hold(saved["passages"], saved["memories"], saved["is_own"], saved["contents"])
        return made


def _select_best(numbers: Integers, scores: Vector, limit: int) -> tuple[Integers, Vector]:
    """Returns the numbers whose scores fewer than `limit` others beat, and these scores."""
    count = len(scores)
    if count <= limit:
        return numbers, scores
    kept = np.flatnonzero(scores >= np.partition(scores, count - limit)[count - limit])
    return numbers[kept], scores[kept]


def _mark_repeats(keys: Integers, memories: Integers) -> Flags:
    """Marks the passages that repeat an earlier passage of their own memory. They are not copies: copies belong to different memories."""
    order = np.lexsort((memories, keys))
    keys, memories = keys[order], memories[order]
    again = np.zeros(len(keys), dtype=np.bool_)
    again[order[1:]] = (keys[1:] == keys[:-1]) & (memories[1:] == memories[:-1])
    return again
