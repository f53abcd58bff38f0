"""The sample that stands for all memories of a scope."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from alma.vectors import ProjectIndex

Make = Callable[..., Any]


def ties_of(memories: Any) -> Any:
    """A fixed shuffle: distinct, spread over 64 bits."""
    return (np.asarray(memories, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)


def changes(
    make_changes: Make, upto: int, memories: Any, *, partitions: Any = 0, first: int | None = None, removed: Any = ()
) -> Any:
    memories = np.asarray(memories, dtype=np.int64)
    vectors = np.zeros((len(memories), 8))
    first = int(memories[0]) if first is None else first
    return make_changes(
        upto, vectors, first=first, memories=memories, ties=ties_of(memories), partitions=partitions, removed=removed
    )


def sample(index: ProjectIndex, partitions: list[int]) -> list[int]:
    memories, _ = index.sample(partitions=partitions, all_up_to=200, otherwise=100)
    return list(memories.tolist())


def smallest(memories: Any, count: int = 100) -> list[int]:
    memories = np.asarray(memories)
    return list(memories[np.argsort(ties_of(memories))][:count].tolist())


def test_a_small_scope_is_its_own_sample(make_changes: Make) -> None:
    index = ProjectIndex(8)
    index.apply(changes(make_changes, 1, np.arange(200)))
    assert sample(index, [0]) == smallest(np.arange(200), 200)
    index.apply(changes(make_changes, 2, [200]))
    assert sample(index, [0]) == smallest(np.arange(201), 100)


def test_new_memories_enter_the_sample_only_with_smaller_ties(make_changes: Make) -> None:
    index = ProjectIndex(8)
    index.apply(changes(make_changes, 1, np.arange(5_000)))
    before = sample(index, [0])
    for step in range(50):
        added = np.arange(5_000 + 10 * step, 5_010 + 10 * step)
        index.apply(changes(make_changes, 2 + step, added))
        after = sample(index, [0])
        assert after == smallest(np.concatenate([before, added]))
        before = after
    assert before == smallest(np.arange(5_500))


def test_memories_of_other_partitions_leave_the_sample_alone(make_changes: Make) -> None:
    index = ProjectIndex(8)
    index.apply(changes(make_changes, 1, np.arange(1_000)))
    before = sample(index, [0])
    index.apply(changes(make_changes, 2, np.arange(1_000, 9_000), partitions=1))
    assert sample(index, [0]) == before
    assert sample(index, [0, 1, 0]) == smallest(np.arange(9_000))


def test_removed_memories_make_room_until_the_partition_must_be_read_again(make_changes: Make) -> None:
    index, held = ProjectIndex(8), np.arange(3_000)
    index.apply(changes(make_changes, 1, held))
    for step in range(12):
        gone = np.array(smallest(held, 60)[::2] + smallest(held, 3_000)[-20:])
        held = np.setdiff1d(held, gone)
        index.apply(make_changes(2 + step, removed=gone))
        assert sample(index, [0]) == smallest(held)
    assert index.sample(partitions=[0], all_up_to=10, otherwise=5)[1] == len(held)


def test_copies_at_the_edge_of_a_sample_are_chosen_alike_by_an_old_index_and_by_a_new_one(make_changes: Make) -> None:
    index, held, rng = ProjectIndex(8), np.arange(0, 1_200, 2), np.random.default_rng(7)
    index.apply(make_changes(1, np.zeros((600, 8)), passages=held, memories=held, ties=held % 4))
    for upto in range(2, 40):
        before = sample(index, [0])
        if upto % 3:
            come = np.setdiff1d(rng.integers(0, 1_800, 7), held)
            index.apply(make_changes(upto, np.zeros((len(come), 8)), passages=come, memories=come, ties=come % 4))
            held = np.concatenate([held, come])
        else:
            gone = np.array(before[:: upto % 5 + 3])
            index.apply(make_changes(upto, removed=gone))
            held = np.setdiff1d(held, gone)
        anew = ProjectIndex(8)
        anew.apply(make_changes(1, np.zeros((len(held), 8)), passages=held, memories=held, ties=held % 4))
        assert sample(index, [0]) == sample(anew, [0]) == sorted(held.tolist(), key=lambda memory: (memory % 4, memory))[:100]


def test_a_memory_counts_once_and_until_its_last_passage_is_gone(make_changes: Make) -> None:
    index = ProjectIndex(8)
    index.apply(changes(make_changes, 1, [1, 1, 1, 2], first=10))
    index.apply(changes(make_changes, 2, [1], first=14))
    counts = []
    for step, passage in enumerate([10, 14, 11, 12]):
        index.apply(make_changes(3 + step, removed=[passage]))
        counts.append(index.sample(partitions=[0], all_up_to=9, otherwise=9)[1])
    assert counts == [2, 2, 2, 1]


def test_the_shared_answer_cannot_be_written_to(make_changes: Make) -> None:
    index = ProjectIndex(8)
    index.apply(changes(make_changes, 1, [1, 2]))
    memories, _ = index.sample(partitions=[0], all_up_to=9, otherwise=9)
    with pytest.raises(ValueError, match="read-only"):
        memories[0] = 5


def test_more_scopes_than_are_remembered_are_still_answered(make_changes: Make) -> None:
    index = ProjectIndex(8)
    index.apply(changes(make_changes, 1, np.arange(300), partitions=np.arange(300) % 150))
    counts = [index.sample(partitions=[0, number], all_up_to=9, otherwise=9)[1] for number in range(1, 150)]
    assert counts == [4] * 149


@pytest.mark.parametrize("wide_up_to", [20_000, 100])
def test_the_sample_is_scored_as_any_other_memories_are_whatever_came_and_went(make_changes: Make, wide_up_to: int) -> None:
    index = ProjectIndex(8, wide_up_to=wide_up_to)
    vectors = np.random.default_rng(0).standard_normal((600, 8)) / 4
    query = np.ones(8, dtype=np.float32)
    for upto, step in enumerate(np.split(np.arange(600), 6), start=1):
        removed = [int(step[0]) - 7] if upto > 1 else []
        index.apply(make_changes(upto, vectors[step], first=int(step[0]), ties=ties_of(step), removed=removed))
        chosen, _ = index.sample(partitions=[0], all_up_to=50, otherwise=40)
        for _ in range(2):
            kept, anew = index.score(query, memories=chosen), index.score(query, memories=chosen.copy())
            assert kept.memories.tolist() == anew.memories.tolist()
            assert kept.passages.tolist() == anew.passages.tolist()
            assert kept.scores.tolist() == anew.scores.tolist()
    index.apply(make_changes(7, removed=[int(chosen[0])]))
    assert chosen[0] not in index.score(query, memories=chosen).memories
    index.compact()
    assert sorted(index.score(query, memories=chosen).memories.tolist()) == sorted(chosen[1:].tolist())


@pytest.mark.parametrize("passages_each", [1, 30])
def test_the_background_is_the_sample_as_the_index_scores_it_whatever_comes_and_goes(
    make_changes: Make, passages_each: int
) -> None:
    index, rng = ProjectIndex(8, wide_up_to=900, codes_above=10**6), np.random.default_rng(5)
    query = rng.standard_normal(8).astype(np.float32)
    upto = first = 0
    for _ in range(6):
        memories = np.repeat(np.arange(first, first + 300), passages_each)
        vectors = rng.standard_normal((len(memories), 8)).astype(np.float16)
        passages = np.arange(passages_each * first, passages_each * (first + 300))
        index.apply(make_changes(upto + 1, vectors, passages=passages, memories=memories, ties=ties_of(memories)))
        index.apply(make_changes(upto + 2, removed=rng.choice(passages, 40, replace=False)))
        upto, first = upto + 2, first + 300
        found, count = index.background(query, partitions=[0], all_up_to=200, otherwise=100)
        chosen, population = index.sample(partitions=[0], all_up_to=200, otherwise=100)
        scored = index.score(query, memories=chosen)
        one, other = (np.lexsort([part.passages]) for part in (found, scored))
        assert count == population
        assert found.passages[one].tolist() == scored.passages[other].tolist()
        assert found.scores[one].tobytes() == scored.scores[other].tobytes()
        assert found.memories[one].tolist() == scored.memories[other].tolist()
