"""Random histories: the index and a dictionary of passages must tell the same.

The vectors hold small whole numbers, so that every inner product is exact and equal scores are frequent.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma.protocols import PassageScores, VectorChanges
from alma.vectors import ProjectIndex

DIMENSION = 4
PARTITIONS = 3

vector = st.tuples(*[st.integers(-2, 2)] * DIMENSION)
write = st.tuples(st.integers(0, 25), st.integers(-3, 3), st.lists(st.tuples(vector, st.booleans()), min_size=0, max_size=4))
step = st.one_of(
    st.tuples(st.just("write"), st.lists(write, max_size=8)),
    st.tuples(st.just("drop a passage"), st.integers(0, 60)),
    st.tuples(st.just("compact"), st.none()),
)


@dataclass(frozen=True, slots=True)
class Passage:
    memory: int
    is_own: bool
    tie: int
    vector: tuple[int, ...]

    @property
    def partition(self) -> int:
        return self.memory % PARTITIONS

    def score(self, query: tuple[int, ...]) -> float:
        return float(sum(a * b for a, b in zip(self.vector, query, strict=True)))


@dataclass(slots=True)
class History:
    index: ProjectIndex
    passages: dict[int, Passage] = field(default_factory=dict)
    upto: int = 0
    free: list[int] = field(default_factory=list)
    next_passage: int = 0

    def take(self, kind: str, what: object) -> None:
        if kind == "write":
            self.write(what)
        elif kind == "drop a passage":
            self.apply({}, [what])
        else:
            self.index.compact()

    def write(self, writes: list[tuple[int, int, list[tuple[tuple[int, ...], bool]]]]) -> None:
        """Each write replaces all passages of a memory; every second passage number is one that was free again."""
        added: dict[int, Passage] = {}
        latest = {memory: (tie, pieces) for memory, tie, pieces in writes}
        removed = [number for number, passage in self.passages.items() if passage.memory in latest]
        for memory, (tie, pieces) in latest.items():
            for piece, is_own in pieces:
                added[self.number()] = Passage(memory, is_own, tie, piece)
        self.apply(added, removed)

    def number(self) -> int:
        self.next_passage += 1
        return self.free.pop() if self.free and self.next_passage % 2 else 1000 + self.next_passage

    def apply(self, added: dict[int, Passage], removed: list[int]) -> None:
        self.upto += 1
        new = list(added.values())
        self.index.apply(
            VectorChanges(
                upto=self.upto,
                passages=np.array(list(added), dtype=np.int64),
                memories=np.array([passage.memory for passage in new], dtype=np.int64),
                partitions=np.array([passage.partition for passage in new], dtype=np.int64),
                is_own=np.array([passage.is_own for passage in new], dtype=np.bool_),
                ties=np.array([passage.tie for passage in new], dtype=np.int64),
                vectors=np.array([passage.vector for passage in new], dtype=np.float16).reshape(-1, DIMENSION),
                removed=np.array(removed, dtype=np.int64),
            )
        )
        self.passages.update(added)
        for number in removed:
            if self.passages.pop(number, None):
                self.free.append(number)


def rows_of(scores: PassageScores) -> list[tuple[int, int, int, int, bool, float]]:
    columns = (scores.passages, scores.memories, scores.partitions, scores.ties, scores.is_own, scores.scores)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def assert_true(rows: list[tuple[int, int, int, int, bool, float]], history: History, query: tuple[int, ...]) -> None:
    for number, memory, partition, tie, is_own, score in rows:
        passage = history.passages[number]
        assert (memory, partition, tie, is_own) == (passage.memory, passage.partition, passage.tie, passage.is_own)
        assert score == passage.score(query)
    assert len({row[0] for row in rows}) == len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("wide_up_to", [0, 6, 20_000])
def test_every_answer_is_that_of_a_search_through_all_passages(wide_up_to: int) -> None:
    @settings(max_examples=120, deadline=None)
    @given(steps=st.lists(step, max_size=12), query=vector, limit=st.integers(0, 6), count=st.integers(0, 12))
    def holds(steps: list[tuple[str, object]], query: tuple[int, ...], limit: int, count: int) -> None:
        history = History(ProjectIndex(DIMENSION, wide_up_to=wide_up_to))
        for kind, what in steps:
            history.take(kind, what)
            same_search(history, query, limit)
            same_scores(history, query)
            same_sample(history, query, count)
            assert len(history.index) == len(history.passages)

    holds()


def same_search(history: History, query: tuple[int, ...], limit: int) -> None:
    found = rows_of(history.index.search(np.array(query, dtype=np.float32), partitions=[2, 0, 99, 1], limit=limit))
    assert_true(found, history, query)
    expected = []
    for partition in (2, 0, 1):
        ranked = sorted((-p.score(query), p.tie) for p in history.passages.values() if p.partition == partition)
        expected += [(partition, *key) for key in ranked[:limit]]
    assert [(partition, -score, tie) for _, _, partition, tie, _, score in found] == expected


def same_scores(history: History, query: tuple[int, ...]) -> None:
    wanted = np.array([25, 3, 4, 3, 7, 1, 777], dtype=np.int64)
    found = rows_of(history.index.score(np.array(query, dtype=np.float32), memories=wanted))
    assert_true(found, history, query)
    assert {row[0] for row in found} == {number for number, p in history.passages.items() if p.memory in wanted}
    folded = history.index.nearest(np.array(query, dtype=np.float32), partitions=[1, 2], limit=2)
    same_folded(history, rows_of(folded), query, limit=2)


def same_folded(
    history: History, found: list[tuple[int, int, int, int, bool, float]], query: tuple[int, ...], *, limit: int
) -> None:
    """Of copies the newest stands for all, unless a memory says something twice; the best contents are there."""
    assert_true(found, history, query)
    for partition in (1, 2):
        contents = {(p.tie, p.vector) for p in history.passages.values() if p.partition == partition}
        best = sorted((-sum(a * b for a, b in zip(v, query, strict=True)), tie) for tie, v in contents)[:limit]
        here = [(-score, tie) for _, _, of, tie, _, score in found if of == partition]
        assert len(here) <= limit
        assert set(here) <= set(best)
        says_twice = len({(p.memory, p.vector) for p in history.passages.values()}) < len(history.passages)
        assert says_twice or sorted(here) == best
    for number, _, partition, tie, _, _ in found:
        same = [
            n
            for n, p in history.passages.items()
            if (p.partition, p.tie, p.vector) == (partition, tie, history.passages[number].vector)
        ]
        assert number == max(same) or len({history.passages[n].memory for n in same}) < len(same)


def same_sample(history: History, query: tuple[int, ...], count: int) -> None:
    memories = {p.memory: p.tie for p in history.passages.values() if p.partition in (0, 2)}
    for all_up_to, otherwise in ((count, count // 2), (100, 1)):
        sample, total = history.index.sample(partitions=[0, 2], all_up_to=all_up_to, otherwise=otherwise)
        assert total == len(memories)
        size = len(memories) if len(memories) <= all_up_to else otherwise
        assert [memories[memory] for memory in sample.tolist()] == sorted(memories.values())[:size]
        assert len(set(sample.tolist())) == size
        for asked in (sample, sample, sample.copy()):  # what is known of the shared array from now on, and what is not
            found = rows_of(history.index.score(np.array(query, dtype=np.float32), memories=asked))
            assert_true(found, history, query)
            assert {row[0] for row in found} == {number for number, p in history.passages.items() if p.memory in sample}
