"""Copies, passages of one partition with one tie and one vector, share that vector: a thousand take the room and the time of one."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from alma.vectors import ProjectIndex
from alma.vectors.arrays import MERGE_ABOVE, Lookup

Make = Callable[..., Any]
NEVER = 10**9

same = np.eye(8)[[0]]


@pytest.fixture(params=[0, 6, NEVER], ids=["float16", "either", "float32"])
def index(request: pytest.FixtureRequest) -> ProjectIndex:
    return ProjectIndex(8, wide_up_to=request.param)


def test_copies_are_found_each_and_only_the_newest_where_they_are_folded(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(1, np.repeat(same, 5, axis=0), ties=[3] * 5))
    index.apply(make_changes(2, np.repeat(same, 2, axis=0), first=5, ties=[3, 4]))
    assert index.search(same[0], partitions=[0], limit=9).passages.tolist() == [5, 4, 3, 2, 1, 0, 6]
    assert index.search(same[0], partitions=[0], limit=3).passages.tolist() == [5, 4, 3]
    assert sorted(index.nearest(same[0], partitions=[0], limit=9).passages.tolist()) == [5, 6]
    assert index.copies(np.arange(7)).tolist() == [0, 0, 0, 0, 0, 6, 1]
    assert [index.copies_of(memory).tolist() for memory in (2, 6, 77)] == [[0, 1, 2, 3, 4, 5], [6], []]


def test_what_differs_in_tie_vector_or_partition_is_no_copy(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(1, np.eye(8)[[0, 0, 1, 0]], ties=[1, 2, 1, 1], partitions=[0, 0, 0, 1]))
    assert index.copies(np.arange(4)).tolist() == [1, 1, 1, 1]


def test_a_memory_that_says_something_twice_is_no_copy_of_itself(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(1, np.repeat(same, 3, axis=0), memories=[0, 0, 1], ties=[5] * 3))
    assert index.copies(np.arange(2)).sum() == 2
    assert len(index.score(same[0], memories=np.array([0])).passages) == 2


def test_when_the_newest_copy_goes_the_one_before_it_stands_for_the_rest(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(1, np.repeat(same, 6, axis=0), ties=[3] * 6))
    index.apply(make_changes(2, np.eye(8)[1:5], first=10, removed=[5, 1]))
    assert index.nearest(same[0], partitions=[0], limit=1).passages.tolist() == [4]
    assert index.search(same[0], partitions=[0], limit=4).passages.tolist() == [4, 3, 2, 0]
    index.apply(make_changes(3, same, first=20, ties=[3]))
    assert index.copies(np.array([0, 2, 3, 4, 20])).tolist() == [0, 0, 0, 0, 5]
    index.apply(make_changes(4, removed=[0, 2, 3, 4, 20]))
    assert sorted(index.nearest(same[0], partitions=[0], limit=9).passages.tolist()) == [10, 11, 12, 13]


def test_a_memory_that_was_removed_since_it_was_found_represents_no_copies(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(1, np.repeat(same, 4, axis=0), ties=[3] * 4))
    index.apply(make_changes(2, np.eye(8)[1:2], first=10, removed=[0, 2]))
    assert index.copies(np.array([0, 1, 2, 3, 10, 11])).tolist() == [0, 0, 0, 2, 1, 0]
    assert index.copies(np.array([0, 2])).tolist() == [0, 0]


def test_copies_stay_together_when_rows_get_other_numbers(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(1, np.concatenate([np.repeat(same, 3, axis=0), np.eye(8)[1:5]]), ties=[3, 3, 3, 4, 5, 6, 7]))
    index.apply(make_changes(2, removed=[3, 4]))
    index.compact()
    index.apply(make_changes(3, np.eye(8)[[0, 3]], first=30, ties=[3, 6]))
    assert index.copies(np.array([0, 1, 2, 5, 30, 31])).tolist() == [0, 0, 0, 0, 4, 2]


def test_ten_thousand_copies_take_the_room_of_one_vector(make_changes: Make) -> None:
    changes = make_changes(1, np.tile(np.eye(256)[0], (10_000, 1)), ties=np.zeros(10_000), dimension=256)
    tracemalloc.start()
    try:
        index = ProjectIndex(256)
        index.apply(changes)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 10_000 * 256
    assert len(index) == 10_000


def test_a_key_finds_all_of_its_entries_however_they_came() -> None:
    lookup, known, random = Lookup(), dict[int, list[int]](), np.random.default_rng(5)
    for step in range(60):
        keys = random.integers(0, 3 * MERGE_ABOVE, 1 if step % 3 else 200)
        if step % 4 == 0:
            keys = np.sort(keys) + 4 * MERGE_ABOVE
        entries = np.arange(len(keys)) + 1_000 * step
        lookup.add(keys, entries)
        for key, entry in zip(keys.tolist(), entries.tolist(), strict=True):
            known.setdefault(key, []).append(entry)
        asked = np.unique(random.integers(0, 7 * MERGE_ABOVE, 1 + 50 * (step % 2)))
        expected = sorted(entry for key in asked.tolist() for entry in known.get(key, []))
        assert sorted(lookup.find(asked).tolist()) == expected
