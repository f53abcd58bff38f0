"""What the vector index promises, example by example; each for float32 and for float16."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from alma.errors import ValidationError
from alma.vectors import ProjectIndex
from alma.vectors.index import WIDE_UP_TO

Make = Callable[..., Any]
NEVER = 10**9
ZERO = np.zeros(8, dtype=np.float32)


@pytest.fixture(params=[0, NEVER], ids=["float16", "float32"])
def index(request: pytest.FixtureRequest) -> ProjectIndex:
    return ProjectIndex(8, wide_up_to=request.param)


def test_an_empty_index_finds_nothing(index: ProjectIndex) -> None:
    assert index.upto == 0
    assert len(index.search(ZERO, partitions=[0], limit=5).passages) == 0
    assert len(index.score(ZERO, memories=np.array([1, 2])).passages) == 0
    memories, count = index.sample(partitions=[0], all_up_to=5, otherwise=2)
    assert (memories.tolist(), count) == ([], 0)


def test_a_removed_passage_never_comes_back(index: ProjectIndex, make_changes: Make, unit_vectors: Make) -> None:
    vectors = unit_vectors(100)
    index.apply(make_changes(1, vectors))
    index.apply(make_changes(2, removed=np.arange(0, 100, 2)))
    index.compact()
    index.apply(make_changes(3, removed=[1, 1, 5000]))
    found = index.search(vectors[0], partitions=[0], limit=100).passages
    assert sorted(found.tolist()) == list(range(3, 100, 2))
    assert index.score(vectors[0], memories=np.array([0, 1, 2, 3])).passages.tolist() == [3]
    assert index.sample(partitions=[0], all_up_to=100, otherwise=1)[0].tolist() == list(range(3, 100, 2))


def test_removed_passages_take_no_place_from_the_living(index: ProjectIndex, make_changes: Make, unit_vectors: Make) -> None:
    query = unit_vectors(1)[0]
    index.apply(make_changes(1, np.tile(query, (200, 1))))
    index.apply(make_changes(2, unit_vectors(50, seed=2), first=200, removed=np.arange(200)))
    assert sorted(index.search(query, partitions=[0], limit=50).passages.tolist()) == list(range(200, 250))


def test_a_passage_both_added_and_removed_is_removed(index: ProjectIndex, make_changes: Make, unit_vectors: Make) -> None:
    index.apply(make_changes(1, unit_vectors(3), removed=[1]))
    assert sorted(index.search(ZERO, partitions=[0], limit=9).passages.tolist()) == [0, 2]


def test_a_passage_that_is_held_already_is_replaced(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(1, np.eye(8)[:2]))
    index.apply(make_changes(2, np.eye(8)[[4, 5]], passages=[1, 1]))
    assert len(index) == 2
    assert index.search(np.eye(8, dtype=np.float32)[5], partitions=[0], limit=1).passages.tolist() == [1]
    assert index.score(np.eye(8, dtype=np.float32)[5], memories=np.array([1])).scores.tolist() == [1.0]


def test_a_passage_number_may_be_used_again_after_its_removal(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(1, np.eye(8)[:3]))
    index.apply(make_changes(2, removed=[2]))
    index.apply(make_changes(3, np.eye(8)[[7]], passages=[2], memories=[9]))
    assert index.search(np.eye(8, dtype=np.float32)[7], partitions=[0], limit=1).memories.tolist() == [9]
    assert len(index.score(ZERO, memories=np.array([2])).passages) == 0


def test_equal_scores_are_ordered_by_tie_wherever_the_passages_stand(
    index: ProjectIndex, make_changes: Make, unit_vectors: Make
) -> None:
    """Also those that share the last place: which of a thousand equals are returned must not depend on their numbers."""
    vector = unit_vectors(1)
    ties = np.random.default_rng(3).permutation(1_000) - 500
    index.apply(make_changes(1, unit_vectors(501, seed=5), first=10_000))
    index.apply(make_changes(2, np.tile(vector, (1_000, 1)), first=20_000, ties=ties))
    found = index.search(vector[0], partitions=[0], limit=300)
    assert found.ties.tolist() == list(range(-500, -200))
    assert len(set(found.scores.tolist())) == 1


def test_scores_do_not_change_when_other_passages_come_and_go(
    index: ProjectIndex, make_changes: Make, unit_vectors: Make
) -> None:
    vectors, query = unit_vectors(203), unit_vectors(1, seed=9)[0]
    index.apply(make_changes(1, vectors))
    memories = np.arange(100, 203)
    before = index.score(query, memories=memories).scores
    index.apply(make_changes(2, unit_vectors(37, seed=4), first=500, partitions=1, removed=np.arange(0, 100, 3)))
    after = index.score(query, memories=memories)
    order = np.argsort(after.passages)
    assert after.scores[order].tolist() == before.tolist()


def test_search_and_score_agree_to_the_bit(index: ProjectIndex, make_changes: Make, unit_vectors: Make) -> None:
    index.apply(make_changes(1, unit_vectors(5_000), partitions=np.arange(5_000) % 3))
    query = unit_vectors(1, seed=9)[0]
    searched = index.search(query, partitions=[0, 1, 2], limit=5_000)
    scored = index.score(query, memories=np.arange(5_000))
    assert dict(zip(searched.passages, searched.scores, strict=True)) == dict(zip(scored.passages, scored.scores, strict=True))


def test_of_more_copies_than_are_wanted_the_newest_are_found_wherever_they_stand(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(1, np.ones((300, 8)) / 4, ties=np.zeros(300)))
    index.apply(make_changes(2, removed=np.arange(0, 300, 7)))
    found = index.search(np.ones(8, dtype=np.float32), partitions=[0], limit=20)
    assert found.passages.tolist() == [passage for passage in range(299, 270, -1) if passage % 7][:20]


def test_float32_and_float16_give_the_same_ranking(make_changes: Make, unit_vectors: Make) -> None:
    changes = make_changes(1, unit_vectors(3_000, 64), dimension=64)
    query = unit_vectors(1, 64, seed=1)[0]
    found = []
    for wide_up_to in (0, NEVER):
        index = ProjectIndex(64, wide_up_to=wide_up_to)
        index.apply(changes)
        found.append(index.search(query, partitions=[0], limit=50))
    assert found[0].scores.tolist() == found[1].scores.tolist()
    exact = changes.vectors.astype(np.float64) @ query.astype(np.float64)
    for hits in found:
        np.testing.assert_allclose(hits.scores, np.sort(exact)[::-1][:50], atol=1e-5)
        np.testing.assert_allclose(exact[hits.passages], hits.scores, atol=1e-5)


def test_each_partition_gives_its_own_best(index: ProjectIndex, make_changes: Make, unit_vectors: Make) -> None:
    index.apply(make_changes(1, unit_vectors(1_000), partitions=7))
    index.apply(make_changes(2, unit_vectors(2, seed=2), first=1_000, partitions=-4, is_own=False))
    found = index.search(unit_vectors(1)[0], partitions=[-4, 7, 7, 5], limit=3)
    assert found.partitions.tolist() == [-4, -4, 7, 7, 7]
    assert found.is_own.tolist() == [False, False, True, True, True]


def test_changes_that_are_known_already_are_ignored(index: ProjectIndex, make_changes: Make, unit_vectors: Make) -> None:
    index.apply(make_changes(5, unit_vectors(4)))
    index.apply(make_changes(5, removed=[0, 1, 2, 3]))
    index.apply(make_changes(4, unit_vectors(4), first=10))
    assert (index.upto, len(index)) == (5, 4)


def test_changes_without_passages_only_move_upto(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(8))
    assert (index.upto, len(index)) == (8, 0)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda good: replace(good, vectors=good.vectors[:, :7]),
        lambda good: replace(good, vectors=good.vectors[:3]),
        lambda good: replace(good, ties=good.ties[:3]),
        lambda good: replace(good, removed=np.array([[0]])),
        lambda good: replace(good, passages=good.passages[:, np.newaxis]),
        lambda good: replace(good, is_own=good.is_own[:, np.newaxis]),
        lambda good: replace(good, vectors=np.where(np.arange(8) == 3, np.float16("nan"), good.vectors)),
        lambda good: replace(good, vectors=np.where(np.arange(8) == 3, np.float16("-inf"), good.vectors)),
    ],
)
def test_changes_that_do_not_fit_are_refused_whole(
    index: ProjectIndex, make_changes: Make, unit_vectors: Make, spoil: Make
) -> None:
    index.apply(make_changes(1, unit_vectors(2)))
    with pytest.raises(ValidationError):
        index.apply(spoil(make_changes(2, unit_vectors(4), first=10, removed=[0])))
    assert (index.upto, len(index)) == (1, 2)


@pytest.mark.parametrize("query", [np.zeros(7), np.zeros((1, 8)), np.full(8, np.nan), np.full(8, np.inf)])
def test_a_query_that_does_not_fit_is_refused(index: ProjectIndex, query: Any) -> None:
    with pytest.raises(ValidationError):
        index.search(query, partitions=[0], limit=1)
    with pytest.raises(ValidationError):
        index.score(query, memories=np.array([1]))


def test_a_negative_limit_is_refused(index: ProjectIndex) -> None:
    with pytest.raises(ValidationError, match="-1"):
        index.search(ZERO, partitions=[0], limit=-1)


def test_a_dimension_of_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="0"):
        ProjectIndex(0)


def test_many_small_partitions_are_told_apart(index: ProjectIndex, make_changes: Make, unit_vectors: Make) -> None:
    vectors = unit_vectors(4_000)
    index.apply(make_changes(1, vectors, partitions=np.arange(4_000) % 500))
    found = index.search(vectors[17], partitions=range(500), limit=3)
    assert found.partitions.tolist() == [partition for partition in range(500) for _ in range(3)]
    assert (found.passages % 500).tolist() == found.partitions.tolist()


def test_of_partitions_of_one_kind_the_best_of_all_are_found_and_other_kinds_do_not_starve(
    make_changes: Make, unit_vectors: Make
) -> None:
    index, vectors, query = ProjectIndex(8, kind_of=lambda number: number // 10), unit_vectors(300), unit_vectors(1, seed=1)[0]
    index.apply(make_changes(1, vectors, partitions=np.arange(300) % 3))
    index.apply(make_changes(2, unit_vectors(2, seed=2), first=300, partitions=10))
    exact = vectors.astype(np.float16).astype(np.float64) @ query
    found = index.search(query, partitions=[10, 2, 0], limit=20)
    expected = sorted((row for row in range(300) if row % 3 != 1), key=lambda row: -exact[row])[:20]
    assert found.passages[2:].tolist() == expected
    assert sorted(found.passages[:2].tolist()) == [300, 301]


def test_what_is_added_and_removed_between_two_questions_of_a_scope_is_seen(index: ProjectIndex, make_changes: Make) -> None:
    index.apply(make_changes(1, np.eye(8)[:4], partitions=[0, 1, 0, 1]))
    for upto in range(2, 30):
        index.search(ZERO, partitions=[0], limit=9)
        index.apply(make_changes(upto, np.eye(8)[[5, 6]], first=10 * upto, partitions=[0, 1], removed=[10 * (upto - 2)]))
        alive = {2, *(10 * number for number in range(upto - 1, upto + 1) if number > 1)} | ({0} - {10 * (upto - 2)})
        found = index.search(ZERO, partitions=[0], limit=9).passages.tolist()
        assert set(found) == alive - {0}


@pytest.mark.parametrize("large", [300, 4])
def test_what_a_partition_answers_does_not_depend_on_the_others(make_changes: Make, unit_vectors: Make, large: int) -> None:
    mine, theirs = unit_vectors(90, seed=1), unit_vectors(1_000, seed=2)
    query = unit_vectors(1, seed=3)[0]
    alone, beside = (ProjectIndex(8, wide_up_to=large) for _ in range(2))
    alone.apply(make_changes(1, mine, partitions=np.arange(90) % 2))
    beside.apply(make_changes(1, theirs[:500], first=1_000, partitions=7))
    beside.apply(make_changes(2, mine, partitions=np.arange(90) % 2))
    beside.apply(make_changes(3, theirs[500:], first=2_000, partitions=np.arange(500) % 40 + 3))
    for found in (
        lambda index: index.search(query, partitions=[1, 0], limit=30),
        lambda index: index.score(query, memories=np.arange(50)),
    ):
        one, other = found(alone), found(beside)
        assert one.passages.tolist() == other.passages.tolist()
        assert one.scores.tolist() == other.scores.tolist()


def test_answers_do_not_change_where_vectors_become_float16(make_changes: Make, unit_vectors: Make) -> None:
    index, vectors = ProjectIndex(8), unit_vectors(WIDE_UP_TO + 1)
    index.apply(make_changes(1, vectors[:WIDE_UP_TO]))
    before = index.search(vectors[3], partitions=[0], limit=20)
    index.apply(make_changes(2, -vectors[[3]], first=WIDE_UP_TO))
    after = index.search(vectors[3], partitions=[0], limit=20)
    assert after.passages.tolist() == before.passages.tolist()
    assert after.scores.tolist() == before.scores.tolist()


def test_removing_many_passages_gives_their_rows_back(index: ProjectIndex, make_changes: Make, unit_vectors: Make) -> None:
    for step in range(40):
        index.apply(
            make_changes(
                step + 1, unit_vectors(200, seed=step), first=200 * step, removed=np.arange(200 * (step - 1), 200 * step)
            )
        )
        assert index.search(ZERO, partitions=[0], limit=300).passages.tolist() == list(range(200 * step, 200 * step + 200))


def test_when_memory_runs_out_the_index_is_empty_and_can_be_filled_again(
    index: ProjectIndex, make_changes: Make, unit_vectors: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.apply(make_changes(1, unit_vectors(5)))
    with monkeypatch.context() as patch:
        patch.setattr("alma.vectors.arrays.Column.extend", lambda *_: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(MemoryError):
            index.apply(make_changes(2, unit_vectors(5), first=5, removed=[1]))
    assert (index.upto, len(index)) == (0, 0)
    index.apply(make_changes(2, unit_vectors(9)))
    assert len(index.search(ZERO, partitions=[0], limit=20).passages) == 9


@pytest.mark.slow
def test_the_vector_room_does_not_import_faiss_for_a_small_kind() -> None:
    code = """
import sys
import numpy as np
import alma.vectors
from alma.protocols import VectorChanges
count, searches = map(int, sys.argv[1:])
numbers = np.arange(count)
index = alma.vectors.ProjectIndex(32)
vectors = np.random.default_rng(0).standard_normal((count, 32))
vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
index.apply(VectorChanges(1, numbers, numbers, 0 * numbers, numbers > 0, numbers, vectors, numbers[:0]))
for _ in range(searches):
    index.search(np.ones(32, np.float32), partitions=[0, 1], limit=3)
print("faiss" in sys.modules)
"""
    said = [
        subprocess.run([sys.executable, "-c", code, *asked], capture_output=True, text=True, check=True).stdout
        for asked in (("8000", "20"), ("8001", "8"), ("8001", "9"), ("20001", "1"))
    ]
    assert said == ["False\n", "False\n", "True\n", "True\n"]
