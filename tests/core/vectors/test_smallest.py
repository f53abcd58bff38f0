"""A partition's memories with the smallest ties, as memories come, go and change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.vectors.smallest import SmallestTies, smallest

memories_with_ties = st.dictionaries(st.integers(0, 60), st.integers(-6, 6), max_size=25)


def columns(memories: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(list(memories), dtype=np.int64), np.array(list(memories.values()), dtype=np.int64)


@pytest.mark.slow
@given(
    first=memories_with_ties,
    updates=st.lists(st.tuples(st.sets(st.integers(0, 60)), memories_with_ties), max_size=8),
    capacity=st.integers(0, 12),
)
def test_what_it_holds_is_always_the_beginning_of_all_memories_by_tie_and_number(
    first: dict[int, int], updates: list[tuple[set[int], dict[int, int]]], capacity: int
) -> None:
    held = dict(first)
    nearest = SmallestTies(*columns(first), capacity=capacity)
    for gone, come in updates:
        leaving = [memory for memory in held if memory in gone or memory in come]
        nearest.update(np.array(leaving, dtype=np.int64), *columns(come))
        held = {memory: tie for memory, tie in held.items() if memory not in leaving} | come
        count = len(nearest.ties)
        assert nearest.memories.tolist() == sorted(held, key=lambda memory: (held[memory], memory))[:count]
        assert [held[memory] for memory in nearest.memories.tolist()] == nearest.ties.tolist()
        assert nearest.suffices(count)
        assert nearest.is_complete == nearest.suffices(count + 1)
        if nearest.is_complete:
            assert count == len(held)
        assert count <= max(2 * capacity, capacity)


@given(memories=memories_with_ties, count=st.integers(0, 30))
def test_of_equal_ties_the_smaller_numbers_are_chosen_in_whatever_order_they_come(memories: dict[int, int], count: int) -> None:
    chosen, ties = smallest(*columns(memories), count=count)
    assert chosen.tolist() == sorted(memories, key=lambda memory: (memories[memory], memory))[:count]
    assert ties.tolist() == sorted(memories.values())[:count]
