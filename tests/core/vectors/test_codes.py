"""Codes select what is compared exactly: they follow every change, and hardly anything near is missed."""

from collections.abc import Callable
from threading import Thread
from typing import Any

import faiss
import numpy as np
import pytest

from alma.vectors import ProjectIndex
from alma.vectors.codes import LEVELS, Codes, rotation
from alma.vectors.flat_faiss import FlatFaiss

Make = Callable[..., Any]

DIMENSION = 64
MANY = 6_000
FIRST = np.array([[-0.125, -0.17672345, -0.17656375], [-0.125, -0.17629771, -0.17486335]])
"""Of the rotation of 64 dimensions, which is the same in every process."""


def rounded(vectors: Any, query: Any) -> Any:
    """The products of a query with the rounded vectors, one by one."""
    padding = ((0, 0), (0, vectors.shape[1] % 2))
    turn = rotation(vectors.shape[1] + vectors.shape[1] % 2)
    levels = LEVELS / np.sqrt(len(turn))
    turned = np.pad(vectors.astype(np.float32), padding) @ turn
    nearest = levels[np.abs(turned[:, :, np.newaxis] - levels).argmin(axis=2)]
    return nearest @ (np.pad(query[np.newaxis], padding) @ turn)[0]


def assert_codes_of(codes: Codes, vectors: Any, query: Any) -> None:
    products, positions = codes.nearest(query, len(vectors))
    assert len(codes) == len(vectors)
    assert sorted(positions.tolist()) == list(range(len(vectors)))
    assert products == pytest.approx(rounded(vectors, query)[positions], abs=0.01)


@pytest.mark.parametrize("dimension", [7, 33, 64])
def test_codes_follow_what_is_appended_moved_and_dropped(dimension: int, unit_vectors: Make) -> None:
    vectors, query = unit_vectors(300, dimension).astype(np.float16), unit_vectors(1, dimension, seed=9)[0]
    codes = Codes(faiss, dimension)
    codes.append(vectors[:290])
    codes.append(vectors[290:])
    assert_codes_of(codes, vectors, query)
    holes, movers = np.array([3, 19, 35, 64]), np.array([270, 281, 298, 299])
    codes.refill(holes, movers, length=257)
    vectors[holes] = vectors[movers]
    assert_codes_of(codes, vectors[:257], query)
    codes.append(vectors[:20])
    assert_codes_of(codes, np.concatenate([vectors[:257], vectors[:20]]), query)
    codes.refill(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), length=0)
    codes.append(vectors[:33])
    assert_codes_of(codes, vectors[:33], query)


def test_estimates_deviate_as_is_stated(unit_vectors: Make) -> None:
    vectors, query = unit_vectors(4_000, DIMENSION).astype(np.float16), unit_vectors(1, DIMENSION, seed=9)[0]
    codes = Codes(faiss, DIMENSION)
    codes.append(vectors)
    products, positions = codes.nearest(query, 4_000)
    errors = products - vectors.astype(np.float32)[positions] @ query
    assert errors.std() == pytest.approx(codes.deviation, rel=0.1)


def test_the_rotation_keeps_lengths_and_is_the_same_in_every_process() -> None:
    turn = rotation(DIMENSION)
    assert turn @ turn.T == pytest.approx(np.eye(DIMENSION), abs=1e-5)
    assert turn[:2, :3] == pytest.approx(FIRST, abs=1e-6)


def clustered(unit_vectors: Make, count: int, *, seed: int = 0) -> Any:
    """Unit vectors around a hundred centres, as sentences lie around topics."""
    centres, around = unit_vectors(100, DIMENSION, seed=seed), unit_vectors(count, DIMENSION, seed=seed + 1)
    vectors = centres[np.arange(count) % 100] + 0.8 * around
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def filled(vectors: Any, make_changes: Make, **sizes: int) -> ProjectIndex:
    index = ProjectIndex(vectors.shape[1], faiss_above=100, **sizes)
    index.apply(make_changes(1, vectors, dimension=vectors.shape[1]))
    searched(index)
    return index


def searched(index: ProjectIndex) -> ProjectIndex:
    """The index after a search, which has codes made."""
    index.search(np.ones(index.dimension, dtype=np.float32), partitions=[0], limit=1)
    return index


def has_codes(index: ProjectIndex) -> bool:
    blocks = [partition.shelf.block for partition in index._contents.partitions.values()]
    return any(getattr(block, "codes", None) is not None for block in blocks)


def test_nearly_all_of_the_nearest_are_found_with_the_scores_of_an_exact_search(make_changes: Make, unit_vectors: Make) -> None:
    vectors = clustered(unit_vectors, MANY)
    exact, coded = filled(vectors, make_changes), filled(vectors, make_changes, codes_above=MANY // 2)
    assert (has_codes(exact), has_codes(coded)) == (False, True)
    shared = 0
    for query in clustered(unit_vectors, 40, seed=7):
        wanted, found = (each.search(query, partitions=[0], limit=50) for each in (exact, coded))
        of_each = dict(zip(wanted.passages.tolist(), wanted.scores.tolist(), strict=True))
        shared += sum(
            of_each.get(passage) == score for passage, score in zip(found.passages.tolist(), found.scores.tolist(), strict=True)
        )
        assert len(found.passages) == 50
        assert (np.diff(found.scores) <= 0).all()
    assert shared >= 0.99 * 40 * 50


def test_more_candidates_are_compared_where_many_are_equally_near(make_changes: Make, unit_vectors: Make) -> None:
    """Two thousand passages that the codes cannot tell apart: the first candidates are any of them."""
    near, query = unit_vectors(2_000, DIMENSION, seed=3), unit_vectors(1, DIMENSION)[0]
    vectors = np.concatenate([unit_vectors(MANY * 10, DIMENSION, seed=1), query + 0.02 * near])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    exact, coded = filled(vectors, make_changes), filled(vectors, make_changes, codes_above=MANY)
    wanted, found = (each.search(query, partitions=[0], limit=20) for each in (exact, coded))
    assert has_codes(coded)
    assert found.passages.tolist() == wanted.passages.tolist()


def test_what_is_removed_is_never_found_and_what_is_added_is(make_changes: Make, unit_vectors: Make) -> None:
    vectors = clustered(unit_vectors, MANY)
    index = filled(vectors, make_changes, codes_above=MANY // 2)
    best = index.search(vectors[7], partitions=[0], limit=30).passages
    index.apply(make_changes(2, removed=best, dimension=DIMENSION))
    assert has_codes(index)
    assert not set(best.tolist()) & set(index.search(vectors[7], partitions=[0], limit=100).passages.tolist())
    index.apply(make_changes(3, vectors[7], first=MANY, dimension=DIMENSION))
    assert index.search(vectors[7], partitions=[0], limit=1).passages.tolist() == [MANY]


def test_a_partition_that_shrank_is_searched_exactly(make_changes: Make, unit_vectors: Make) -> None:
    vectors = clustered(unit_vectors, MANY)
    index = filled(vectors, make_changes, codes_above=MANY // 2)
    index.apply(make_changes(2, removed=np.arange(MANY - MANY // 4), dimension=DIMENSION))
    assert not has_codes(index)
    index.compact()
    index.apply(make_changes(3, vectors[: MANY - MANY // 4], first=MANY, dimension=DIMENSION))
    assert has_codes(searched(index))


def test_vectors_of_other_lengths_are_compared_exactly(make_changes: Make, unit_vectors: Make) -> None:
    vectors = clustered(unit_vectors, MANY)
    index = filled(vectors, make_changes, codes_above=MANY // 2)
    index.apply(make_changes(2, 2 * vectors[5], first=MANY, dimension=DIMENSION))
    assert not has_codes(index)
    assert index.search(vectors[5], partitions=[0], limit=2).passages.tolist() == [MANY, 5]


@pytest.mark.parametrize("place", [0, 700, 2_999])
def test_among_vectors_that_were_there_before_one_of_another_length_is_noticed(unit_vectors: Make, place: int) -> None:
    vectors = unit_vectors(3_000, DIMENSION).astype(np.float16)
    vectors[place] *= np.float16(1.2)
    block = FlatFaiss(codes_above=100).new_block(DIMENSION)
    block.append(vectors)
    assert block.is_unfinished  # no one looked at the lengths yet

    block.finish()

    assert block.codes is None
    assert not block.is_unfinished
    assert not block.finish_some()
    assert block.scan(vectors[place].astype(np.float32)).best(1)[0].tolist() == [place]


def test_codes_tell_units_from_other_vectors() -> None:
    codes = Codes(faiss, DIMENSION)
    assert codes.append(np.full((1, DIMENSION), DIMENSION**-0.5, dtype=np.float16))
    assert not codes.append(np.full((1, DIMENSION), 1.1 * DIMENSION**-0.5, dtype=np.float16))
    assert len(codes) == 1


def test_short_vectors_are_compared_exactly(make_changes: Make, unit_vectors: Make) -> None:
    assert not has_codes(filled(unit_vectors(MANY, 16), make_changes, codes_above=MANY // 2))


def test_a_small_partition_beside_a_large_one_is_searched_exactly(make_changes: Make, unit_vectors: Make) -> None:
    vectors = clustered(unit_vectors, MANY)
    index = ProjectIndex(DIMENSION, faiss_above=100, codes_above=MANY // 2)
    index.apply(make_changes(1, vectors, dimension=DIMENSION, partitions=np.arange(MANY) % 10 == 0))
    found = index.search(vectors[10], partitions=[1], limit=50)
    expected = sorted(
        range(0, MANY, 10), key=lambda row: -float(vectors[row].astype(np.float16).astype(np.float32) @ vectors[10])
    )
    assert set(found.passages.tolist()) == set(expected[:50])


def test_codes_are_searched_in_one_thread_and_the_setting_is_put_back(unit_vectors: Make) -> None:
    method, before = FlatFaiss(codes_above=100), faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)
    try:
        block = method.new_block(DIMENSION)
        block.append(unit_vectors(MANY, DIMENSION).astype(np.float16))
        block.finish()
        positions, _ = block.scan(unit_vectors(1, DIMENSION)[0]).best(10)
        assert len(positions) == 10
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_codes_that_are_being_made_follow_changes_of_the_block(unit_vectors: Make) -> None:
    vectors, query = unit_vectors(MANY, DIMENSION).astype(np.float16), unit_vectors(1, DIMENSION, seed=9)[0]
    block = FlatFaiss(codes_above=100).new_block(DIMENSION)
    block.append(vectors[:4_000])
    assert block.finish_some()
    assert block.codes is None
    block.refill(np.array([5, 300, 3_000]), np.array([3_990, 3_998, 3_999]), length=3_900)
    assert block.finish_some()
    block.append(vectors[4_000:])
    assert block.is_unfinished
    block.finish()
    assert_codes_of(block.codes, block.stored(), query)
    block.append(vectors[:10])
    assert_codes_of(block.codes, block.stored(), query)
    assert not block.is_unfinished
    block.append(vectors[:2_000])
    assert block.is_unfinished
    block.finish()
    assert_codes_of(block.codes, block.stored(), query)


def test_until_the_codes_are_made_a_search_is_exact(make_changes: Make, unit_vectors: Make) -> None:
    vectors, later = clustered(unit_vectors, MANY), list[Callable[[], object]]()
    index = ProjectIndex(DIMENSION, faiss_above=100, codes_above=MANY // 2, run=later.append)
    index.apply(make_changes(1, vectors, dimension=DIMENSION))
    exact = filled(vectors, make_changes)
    wanted, found = (each.search(vectors[3], partitions=[0], limit=50) for each in (exact, index))
    assert (found.passages.tolist(), found.scores.tolist()) == (wanted.passages.tolist(), wanted.scores.tolist())
    index.apply(make_changes(2, vectors[:50], first=MANY, dimension=DIMENSION))
    assert (len(later), has_codes(index)) == (1, False)
    later.pop()()
    assert has_codes(index)
    index.apply(make_changes(3, vectors[:50], first=2 * MANY, dimension=DIMENSION))
    assert (len(later), has_codes(index)) == (0, True)
    index.apply(make_changes(4, vectors, first=3 * MANY, ties=np.arange(MANY) + MANY, dimension=DIMENSION))
    assert (len(later), has_codes(searched(index))) == (0, False)
    later.pop()()
    assert has_codes(index)


def test_no_codes_are_made_after_the_end(make_changes: Make, unit_vectors: Make) -> None:
    later = list[Callable[[], object]]()
    index = ProjectIndex(DIMENSION, faiss_above=100, codes_above=MANY // 2, run=later.append)
    index.apply(make_changes(1, unit_vectors(MANY, DIMENSION), dimension=DIMENSION))
    searched(index).stop()
    later.pop()()
    assert not has_codes(searched(index))
    assert later == []


def test_a_process_that_only_writes_makes_no_codes(make_changes: Make, unit_vectors: Make) -> None:
    later = list[Callable[[], object]]()
    index = ProjectIndex(DIMENSION, faiss_above=100, codes_above=MANY // 2, run=later.append)
    index.apply(make_changes(1, unit_vectors(MANY, DIMENSION), dimension=DIMENSION))
    index.score(np.ones(DIMENSION, dtype=np.float32), memories=np.array([1, 2]))
    assert later == []


def test_a_forked_child_makes_codes_anew(make_changes: Make, unit_vectors: Make) -> None:
    later, vectors = list[Callable[[], object]](), clustered(unit_vectors, MANY)
    index = ProjectIndex(DIMENSION, faiss_above=100, codes_above=MANY // 2, run=later.append)
    index.apply(make_changes(1, vectors, dimension=DIMENSION))
    block = next(searched(index)._contents.coded())
    block.finish_some()
    index.renew_locks()
    searched(index)
    assert len(later) == 2
    later[1]()
    assert_codes_of(block.codes, block.stored(), vectors[4].astype(np.float32))


def test_writes_and_searches_go_on_while_codes_are_made(make_changes: Make, unit_vectors: Make) -> None:
    vectors, threads = clustered(unit_vectors, MANY), list[Thread]()

    def run(call: Callable[[], object]) -> None:
        threads.append(Thread(target=call))
        threads[-1].start()

    index = ProjectIndex(DIMENSION, faiss_above=100, codes_above=MANY // 2, run=run)
    index.apply(make_changes(1, vectors, dimension=DIMENSION))
    for upto in range(2, 40):
        index.apply(make_changes(upto, vectors[upto], first=MANY + upto, ties=[-upto], removed=[10 * upto], dimension=DIMENSION))
        assert index.search(vectors[upto], partitions=[0], limit=1).passages.tolist() == [MANY + upto]
    for thread in threads:
        thread.join()
    assert has_codes(index)
    block = next(index._contents.coded())
    assert_codes_of(block.codes, block.stored(), vectors[0].astype(np.float32))


def test_threads_search_by_codes_side_by_side(make_changes: Make, unit_vectors: Make) -> None:
    vectors = clustered(unit_vectors, MANY)
    index = filled(vectors, make_changes, codes_above=MANY // 2)
    alone = [index.search(query, partitions=[0], limit=20).passages.tolist() for query in vectors[:20]]
    beside: dict[int, list[Any]] = {}

    def search(number: int) -> None:
        beside[number] = [index.search(query, partitions=[0], limit=20).passages.tolist() for query in vectors[:20]]

    threads = [Thread(target=search, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [beside[number] for number in range(4)] == [alone] * 4
