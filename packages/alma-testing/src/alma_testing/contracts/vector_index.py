"""The contract of vector indexes."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.protocols import VectorChanges, VectorIndex
from alma_testing.builders import make_vector_changes
from alma_testing.contracts.brute_force import BruteForce, by_partition
from alma_testing.contracts.texts import few_examples

NewIndex = Callable[[int], VectorIndex]

DIMENSION = 8
CLOSE = 1e-3
"""Tolerance of a score against the product of the stored numbers in 64 bits."""


def directions(count: int, *, seed: int = 0) -> Any:
    """Returns `count` unit vectors, as float16 stores them."""
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSION))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def changes(upto: int, vectors: Any = (), **given: Any) -> VectorChanges:
    """Returns changes of the contract's dimension."""
    return make_vector_changes(upto, vectors, dimension=DIMENSION, **given)


def query(seed: int = 99) -> Any:
    """Returns a query vector."""
    return directions(1, seed=seed)[0].astype(np.float32)


def numbers(*values: int) -> Any:
    """Returns row numbers as an array."""
    return np.array(values, dtype=np.int64)


class VectorIndexTakesChanges:
    """`apply` and `upto`."""

    def test_an_empty_index_is_at_0_and_finds_nothing(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        assert index.upto == 0
        assert len(index.search(query(), partitions=[0, 1], limit=5).passages) == 0
        assert len(index.score(query(), memories=numbers(0, 1)).passages) == 0
        assert [found.tolist() for found in index.ties(numbers(0, 1))] == [[], []]
        assert index.sample(partitions=[0], all_up_to=5, otherwise=2)[1] == 0

    def test_it_is_at_the_newest_change_even_if_that_held_nothing(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        index.apply(changes(3, directions(2)))
        assert index.upto == 3
        index.apply(changes(7))
        assert index.upto == 7
        index.apply(changes(8, removed=[0, 1]))
        assert index.upto == 8

    def test_changes_at_or_before_where_it_is_are_ignored(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        index.apply(changes(3, directions(2)))
        index.apply(changes(3, directions(1, seed=1), first=10))
        index.apply(changes(2, directions(1, seed=2), first=20, removed=[0]))
        assert index.upto == 3
        assert sorted(index.search(query(), partitions=[0], limit=9).passages.tolist()) == [0, 1]

    def test_changes_that_do_not_fit_are_refused_and_leave_no_half(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        index.apply(changes(1, directions(3)))
        wanted = changes(2, directions(4, seed=1), first=10, removed=[0])
        for bad in (replace(wanted, vectors=wanted.vectors[:, :4]), replace(wanted, memories=wanted.memories[:2])):
            with pytest.raises(Exception) as refused:  # noqa: PT011 - which one is the implementation's choice
                index.apply(bad)
            assert isinstance(refused.value, Exception)
            held = sorted(index.search(query(), partitions=[0], limit=99).passages.tolist())
            assert (index.upto, held) in [(1, [0, 1, 2]), (0, [])]

    def test_removed_passages_are_never_found_again(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        index.apply(changes(1, directions(6), partitions=[0, 0, 0, 1, 1, 1]))
        index.apply(changes(2, removed=[1, 4, 77]))
        assert sorted(index.search(query(), partitions=[0, 1], limit=9).passages.tolist()) == [0, 2, 3, 5]
        assert sorted(index.score(query(), memories=numbers(0, 1, 4, 5)).passages.tolist()) == [0, 5]
        assert index.ties(numbers(0, 1, 4, 5))[0].tolist() == [0, 5]
        assert sorted(index.sample(partitions=[0, 1], all_up_to=9, otherwise=9)[0].tolist()) == [0, 2, 3, 5]

    def test_a_passage_both_added_and_removed_is_removed(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        index.apply(changes(1, directions(3), removed=[1]))
        assert sorted(index.search(query(), partitions=[0], limit=9).passages.tolist()) == [0, 2]

    def test_a_passage_that_was_removed_can_come_back(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        vectors = directions(3)
        index.apply(changes(1, vectors))
        index.apply(changes(2, removed=[1]))
        index.apply(changes(3, vectors[1:2], first=1))
        assert sorted(index.search(query(), partitions=[0], limit=9).passages.tolist()) == [0, 1, 2]

    def test_changes_in_one_piece_or_in_many_make_the_same_index(self, new_index: NewIndex) -> None:
        vectors = directions(30)
        whole, piecewise = new_index(DIMENSION), new_index(DIMENSION)
        whole.apply(changes(30, vectors))
        for at in range(30):
            piecewise.apply(changes(at + 1, vectors[at : at + 1], first=at))
        for limit in (1, 7, 99):
            one, other = (index.search(query(), partitions=[0], limit=limit) for index in (whole, piecewise))
            assert one.passages.tolist() == other.passages.tolist()


class VectorIndexSearches:
    """`search` and `score`."""

    def test_the_best_come_first_with_their_cosines(self, new_index: NewIndex) -> None:
        index, truth = filled(new_index, changes(1, directions(40)))
        for limit in (1, 5, 40, 99):
            assert_best(index, truth, query(), partitions=[0], limit=limit)

    def test_equal_scores_are_ordered_by_tie_never_by_row(self, new_index: NewIndex) -> None:
        ties = [5, -3, 9, -8, 0, 2**62, -(2**62), 7]
        index = new_index(DIMENSION)
        index.apply(changes(1, np.repeat(directions(1), len(ties), axis=0), ties=ties))
        for limit in (1, 3, 8):
            found = index.search(query(), partitions=[0], limit=limit)
            assert found.ties.tolist() == sorted(ties)[:limit]
            assert len(set(found.scores.tolist())) == 1

    def test_a_small_partition_does_not_starve_beside_a_large_one(self, new_index: NewIndex) -> None:
        near, far = np.eye(DIMENSION)[0], np.eye(DIMENSION)[1]
        vectors = np.vstack([np.repeat([near], 200, axis=0), [far]])
        index = new_index(DIMENSION)
        index.apply(changes(1, vectors, partitions=[*[1] * 200, 2]))
        found = by_partition(index.search(near.astype(np.float32), partitions=[1, 2], limit=3))
        assert {partition: len(hits) for partition, hits in found.items()} == {1: 3, 2: 1}

    def test_only_the_partitions_asked_for_are_searched(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        index.apply(changes(1, directions(9), partitions=[0, 1, 2] * 3))
        assert set(index.search(query(), partitions=[2, 0, 77], limit=9).partitions.tolist()) == {0, 2}
        assert len(index.search(query(), partitions=[], limit=9).passages) == 0

    def test_what_is_found_is_told_as_it_was_given(self, new_index: NewIndex) -> None:
        given_changes = changes(
            1, directions(3), first=5, memories=[8, 8, 9], partitions=[4, 4, 3], ties=[1, 1, 2], is_own=[True, False, True]
        )
        index = new_index(DIMENSION)
        index.apply(given_changes)
        found = index.search(query(), partitions=[3, 4], limit=9)
        columns = ("passages", "memories", "partitions", "ties", "is_own")
        hits, wanted = (
            sorted(zip(*(getattr(source, name).tolist() for name in columns), strict=True)) for source in (found, given_changes)
        )
        assert hits == wanted

    def test_all_passages_of_given_memories_are_scored_as_a_search_scores_them(self, new_index: NewIndex) -> None:
        index, _ = filled(new_index, changes(1, directions(12), memories=np.arange(12) // 3, partitions=np.arange(12) // 6))
        searched = index.search(query(), partitions=[0, 1], limit=99)
        wanted = dict(zip(searched.passages.tolist(), searched.scores.tolist(), strict=True))
        found = index.score(query(), memories=numbers(1, 3, 999))
        assert sorted(found.passages.tolist()) == [3, 4, 5, 9, 10, 11]
        for passage, value in zip(found.passages.tolist(), found.scores.tolist(), strict=True):
            assert value == pytest.approx(wanted[passage], abs=1e-5)

    def test_any_history_gives_what_a_search_from_end_to_end_gives(self, new_index: NewIndex) -> None:
        @few_examples
        @given(seed=st.integers(0, 2**32), steps=st.lists(st.integers(0, 8), min_size=1, max_size=8), limit=st.integers(1, 12))
        def check(seed: int, steps: list[int], limit: int) -> None:
            index, truth = filled(new_index, *history(seed, steps))
            assert index.upto == truth.upto
            assert_best(index, truth, query(seed), partitions=[0, 1, 2], limit=limit)
            memories = np.array(sorted({held.memory for held in truth.live.values()} | {3}), dtype=np.int64)
            found = index.score(query(seed), memories=memories[::2])
            assert sorted(found.passages.tolist()) == sorted(truth.of_memories(memories[::2].tolist()))
            held = {held.memory: held.tie for held in truth.live.values()}
            assert [found.tolist() for found in index.ties(memories)] == [sorted(held), [held[memory] for memory in sorted(held)]]
            assert_sample(index, truth, [0, 1, 2], all_up_to=4, otherwise=3)

        check()


class VectorIndexSamples:
    """`ties` and `sample`."""

    def test_memories_that_are_held_have_their_ties(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        index.apply(changes(1, directions(4), memories=[3, 3, 5, 9], partitions=[0, 0, 1, 2], ties=[-7, -7, 4, 0]))
        assert [found.tolist() for found in index.ties(numbers(1, 3, 9))] == [[3, 9], [-7, 0]]
        assert [found.tolist() for found in index.ties(numbers())] == [[], []]

    def test_a_sample_of_few_is_all_of_them(self, new_index: NewIndex) -> None:
        index, truth = filled(new_index, changes(1, directions(6), memories=[0, 0, 1, 2, 3, 4], ties=[4, 4, 3, 2, 1, 0]))
        assert_sample(index, truth, [0], all_up_to=5, otherwise=2)

    def test_a_sample_of_many_are_those_with_the_smallest_ties(self, new_index: NewIndex) -> None:
        ties = np.random.default_rng(3).permutation(60) - 30
        index, truth = filled(new_index, changes(1, directions(60), ties=ties, partitions=np.arange(60) % 3))
        assert_sample(index, truth, [0, 2], all_up_to=5, otherwise=10)

    def test_a_sample_stays_the_same_when_memories_with_greater_ties_come(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        index.apply(changes(1, directions(10)))
        before, _ = index.sample(partitions=[0], all_up_to=3, otherwise=4)
        kept = sorted(before.tolist())
        index.apply(changes(2, directions(10, seed=1), first=100))
        after, count = index.sample(partitions=[0], all_up_to=3, otherwise=4)
        assert (sorted(after.tolist()), count) == (kept, 20)


class VectorIndexServesThreads:
    """Threads."""

    @pytest.fixture(autouse=True)
    def _threads_change_often(self) -> Iterator[None]:
        usual = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        yield
        sys.setswitchinterval(usual)

    def test_a_search_meets_a_change_whole_or_not_at_all(self, new_index: NewIndex) -> None:
        index = new_index(DIMENSION)
        vectors = directions(2)

        def write() -> None:
            for step in range(150):
                removed = [2 * step - 20, 2 * step - 19] if step >= 10 else []
                index.apply(changes(step + 1, vectors, first=2 * step, partitions=[0, 1], removed=removed))

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            seen = 0
            while not writing.done():
                found = by_partition(index.search(vectors[0].astype(np.float32), partitions=[0, 1], limit=999))
                pairs = [sorted(row // 2 for _, _, row in found.get(partition, [])) for partition in (0, 1)]
                assert pairs[0] == pairs[1]
                assert index.upto >= seen
                seen = index.upto
            writing.result()
        assert index.upto == 150

    def test_threads_that_apply_the_same_changes_apply_them_once(self, new_index: NewIndex) -> None:
        index, made = new_index(DIMENSION), changes(1, directions(50))
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(index.apply, [made] * 16))
        assert sorted(index.search(query(), partitions=[0], limit=99).passages.tolist()) == list(range(50))


class VectorIndexContract(VectorIndexTakesChanges, VectorIndexSearches, VectorIndexSamples, VectorIndexServesThreads):
    """Promises of an `alma.protocols.VectorIndex`.

    A test class that inherits this defines a fixture `new_index`: a callable that takes a dimension and returns an empty index for it.
    """


def filled(new_index: NewIndex, *given_changes: VectorChanges) -> tuple[VectorIndex, BruteForce]:
    """Returns an index that took the changes, and the reference that took the same."""
    index, truth = new_index(DIMENSION), BruteForce()
    for each in given_changes:
        index.apply(each)
        truth.apply(each)
    return index, truth


def history(seed: int, steps: Sequence[int]) -> list[VectorChanges]:
    """Returns changes with the given numbers of passages, which also remove earlier ones. A memory has one tie, and one partition for all
    its passages."""
    random = np.random.default_rng(seed)
    made: list[VectorChanges] = []
    first = 0
    for number, count in enumerate(steps):
        memories = first + np.arange(count) // 2
        removed = random.permutation(first)[: int(random.integers(0, 4))]
        vectors = directions(max(count, 1), seed=int(random.integers(0, 6)))[:count]
        places = {"memories": memories, "partitions": memories % 3, "ties": memories * 37 % 1009 - 500}
        made.append(changes(number + 1, vectors, first=first, removed=removed, **places))
        first += count
    return made


def assert_best(index: VectorIndex, truth: BruteForce, question: Any, *, partitions: Sequence[int], limit: int) -> None:
    """Fails unless the index finds what the reference finds, in its order. Scores that differ by rounding may change places."""
    found = by_partition(index.search(question, partitions=partitions, limit=limit))
    for partition in partitions:
        wanted, hits = truth.best(question, partition), found.get(partition, [])
        scores = {row: value for value, _, row in wanted}
        assert [value for value, _, _ in hits] == sorted((value for value, _, _ in hits), reverse=True)
        assert [value for value, _, _ in hits] == pytest.approx([value for value, _, _ in wanted[:limit]], abs=CLOSE)
        assert len({row for _, _, row in hits}) == len(hits) == min(limit, len(wanted))
        for value, _, row in hits:
            assert value == pytest.approx(scores[row], abs=CLOSE)
        assert hits == sorted(hits, key=lambda each: (-each[0], each[1]))


def assert_sample(index: VectorIndex, truth: BruteForce, partitions: Sequence[int], *, all_up_to: int, otherwise: int) -> None:
    """Fails unless the sample has the smallest ties."""
    wanted = truth.ties(partitions)
    found, count = index.sample(partitions=partitions, all_up_to=all_up_to, otherwise=otherwise)
    assert count == len(wanted)
    chosen = wanted if count <= all_up_to else wanted[:otherwise]
    assert sorted(found.tolist()) == sorted(memory for _, memory in chosen)
