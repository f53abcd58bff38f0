"""Codes select what is compared exactly: they follow every change, and hardly anything near is missed."""

from collections.abc import Callable
from threading import Thread
from typing import Any

import faiss
import numpy as np
import pytest

from alma.errors import StorageError
from alma.vectors import ProjectIndex
from alma.vectors.codes import DISTORTION, LEVELS, Codes, rotate

Make = Callable[..., Any]

DIMENSION = 64
MANY = 6_000
FIRST = np.array([[-0.125, -0.17672345, -0.17656375], [-0.125, -0.17629771, -0.17486335]])
"""Of the rotation of 64 dimensions, which is the same in every process."""


def rounded(vectors: Any, query: Any) -> Any:
    """The products of a query with the rounded vectors, one by one, lengthened by what rounding shortens them."""
    padding = ((0, 0), (0, vectors.shape[1] % 2))
    levels = LEVELS / np.sqrt(vectors.shape[1] + vectors.shape[1] % 2)
    turned = rotate(np.pad(vectors.astype(np.float32), padding))
    nearest = levels[np.abs(turned[:, :, np.newaxis] - levels).argmin(axis=2)]
    return nearest @ rotate(np.pad(query[np.newaxis], padding))[0] / (1 - DISTORTION)


def assert_codes_of(codes: Codes, vectors: Any, query: Any) -> None:
    products, positions = codes.nearest(query, len(vectors), None)
    assert len(codes) == len(vectors)
    assert sorted(positions.tolist()) == list(range(len(vectors)))
    assert products == pytest.approx(rounded(vectors, query)[positions], abs=0.01)


@pytest.fixture(autouse=True)
def scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each scan by codes."""
    usual, done = Codes.nearest, list[int]()

    def nearest(codes: Codes, *given: Any) -> Any:
        done.append(len(codes))
        return usual(codes, *given)

    monkeypatch.setattr(Codes, "nearest", nearest)
    return done


@pytest.mark.parametrize("dimension", [7, 33, 64])
def test_codes_follow_what_is_appended_and_are_the_same_when_they_were_saved(dimension: int, unit_vectors: Make) -> None:
    vectors, query = unit_vectors(300, dimension).astype(np.float16), unit_vectors(1, dimension, seed=9)[0]
    codes = Codes(dimension)
    codes.append(vectors[:290])
    assert_codes_of(Codes(dimension, codes.packed()), vectors[:290], query)
    codes.append(vectors[290:])
    assert_codes_of(codes, vectors, query)
    codes = Codes(dimension, codes.packed())
    codes.append(vectors[:20])
    assert_codes_of(codes, np.concatenate([vectors, vectors[:20]]), query)


def test_only_codes_whose_bits_are_set_are_found(unit_vectors: Make) -> None:
    vectors, codes = unit_vectors(500, DIMENSION), Codes(DIMENSION)
    codes.append(vectors)
    among = np.arange(500) % 7 == 3
    _, found = codes.nearest(vectors[0], 400, np.packbits(among, bitorder="little"))
    assert sorted(found.tolist()) == np.flatnonzero(among).tolist()


def test_estimates_deviate_as_is_stated(unit_vectors: Make) -> None:
    vectors, query = unit_vectors(4_000, DIMENSION).astype(np.float16), unit_vectors(1, DIMENSION, seed=9)[0]
    codes = Codes(DIMENSION)
    codes.append(vectors)
    products, positions = codes.nearest(query, 4_000, None)
    errors = products - vectors.astype(np.float32)[positions] @ query
    assert errors.std() == pytest.approx(codes.deviation, rel=0.1)
    near = vectors[:500] + query
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    codes = Codes(DIMENSION)
    codes.append(near.astype(np.float16))
    products, positions = codes.nearest(query, 500, None)
    assert (products - near[positions] @ query).mean() == pytest.approx(0, abs=codes.deviation)


def test_the_rotation_keeps_lengths_and_is_the_same_in_every_process() -> None:
    turn = rotate(np.eye(DIMENSION, dtype=np.float32))
    assert turn @ turn.T == pytest.approx(np.eye(DIMENSION), abs=1e-5)
    assert turn[:2, :3] == pytest.approx(FIRST, abs=1e-6)


def clustered(unit_vectors: Make, count: int, *, seed: int = 0) -> Any:
    """Unit vectors around a hundred centres, as sentences lie around topics."""
    centres, around = unit_vectors(100, DIMENSION, seed=seed), unit_vectors(count, DIMENSION, seed=seed + 1)
    vectors = centres[np.arange(count) % 100] + 0.8 * around
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def new_index(run: Callable[[Callable[[], object]], object] = lambda call: call(), codes_above: int = MANY // 2) -> ProjectIndex:
    return ProjectIndex(DIMENSION, codes_above=codes_above, wide_up_to=100, run=run)


def filled(vectors: Any, make_changes: Make, codes_above: int = 10**9) -> ProjectIndex:
    index = new_index(codes_above=codes_above)
    index.apply(make_changes(1, vectors, dimension=DIMENSION))
    return searched(index)


def searched(index: ProjectIndex, *, dimension: int = DIMENSION) -> ProjectIndex:
    """The index after a search, which has codes made."""
    index.search(np.ones(dimension, dtype=np.float32), partitions=[0], limit=1)
    return index


def has_codes(index: ProjectIndex, scans: list[int], *, dimension: int = DIMENSION) -> bool:
    """Whether a search scans codes."""
    before = len(scans)
    searched(index, dimension=dimension)
    return len(scans) > before


def test_nearly_all_of_the_nearest_are_found_with_the_scores_of_an_exact_search(
    make_changes: Make, unit_vectors: Make, scans: list[int]
) -> None:
    vectors = clustered(unit_vectors, MANY)
    exact, coded = filled(vectors, make_changes), filled(vectors, make_changes, codes_above=MANY // 2)
    assert (has_codes(exact, scans), has_codes(coded, scans)) == (False, True)
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


def test_more_candidates_are_compared_where_many_are_equally_near(
    make_changes: Make, unit_vectors: Make, scans: list[int]
) -> None:
    """Two thousand passages that the codes cannot tell apart: the first candidates are any of them."""
    near, query = unit_vectors(2_000, DIMENSION, seed=3), unit_vectors(1, DIMENSION)[0]
    vectors = np.concatenate([unit_vectors(MANY * 10, DIMENSION, seed=1), query + 0.02 * near])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    exact, coded = filled(vectors, make_changes), filled(vectors, make_changes, codes_above=MANY)
    wanted, found = (each.search(query, partitions=[0], limit=20) for each in (exact, coded))
    assert has_codes(coded, scans)
    assert found.passages.tolist() == wanted.passages.tolist()


def test_what_is_removed_is_never_found_and_what_is_added_is(make_changes: Make, unit_vectors: Make, scans: list[int]) -> None:
    vectors = clustered(unit_vectors, MANY)
    index = filled(vectors, make_changes, codes_above=MANY // 2)
    best = index.search(vectors[7], partitions=[0], limit=30).passages
    index.apply(make_changes(2, removed=best, dimension=DIMENSION))
    assert has_codes(index, scans)
    assert not set(best.tolist()) & set(index.search(vectors[7], partitions=[0], limit=100).passages.tolist())
    index.apply(make_changes(3, vectors[7], first=MANY, dimension=DIMENSION))
    assert index.search(vectors[7], partitions=[0], limit=1).passages.tolist() == [MANY]


def test_a_kind_that_shrank_is_searched_exactly(make_changes: Make, unit_vectors: Make, scans: list[int]) -> None:
    vectors = clustered(unit_vectors, MANY)
    index = filled(vectors, make_changes, codes_above=MANY // 2)
    index.apply(make_changes(2, removed=np.arange(MANY - MANY // 4), dimension=DIMENSION))
    assert not has_codes(index, scans)
    index.compact()
    index.apply(make_changes(3, vectors[: MANY - MANY // 4], first=MANY, dimension=DIMENSION))
    searched(index)
    assert has_codes(index, scans)


def test_vectors_of_other_lengths_are_compared_exactly(make_changes: Make, unit_vectors: Make, scans: list[int]) -> None:
    vectors = clustered(unit_vectors, MANY)
    index = filled(vectors, make_changes, codes_above=MANY // 2)
    index.apply(make_changes(2, 2 * vectors[5], first=MANY, dimension=DIMENSION))
    assert not has_codes(index, scans)
    assert index.search(vectors[5], partitions=[0], limit=2).passages.tolist() == [MANY, 5]


@pytest.mark.parametrize("place", [0, 700, 2_999])
def test_among_vectors_that_were_there_before_one_of_another_length_is_noticed(
    make_changes: Make, unit_vectors: Make, place: int, scans: list[int]
) -> None:
    vectors = unit_vectors(3_000, DIMENSION)
    vectors[place] *= 1.2
    index = filled(vectors, make_changes, codes_above=100)
    assert index.search(vectors[place], partitions=[0], limit=1).passages.tolist() == [place]
    assert not has_codes(index, scans)


def test_codes_tell_units_from_other_vectors() -> None:
    codes = Codes(DIMENSION)
    assert codes.append(np.full((1, DIMENSION), DIMENSION**-0.5, dtype=np.float16))
    assert not codes.append(np.full((1, DIMENSION), 1.1 * DIMENSION**-0.5, dtype=np.float16))
    assert len(codes) == 1


def test_short_vectors_are_compared_exactly(make_changes: Make, unit_vectors: Make, scans: list[int]) -> None:
    index = ProjectIndex(16, codes_above=100, wide_up_to=100)
    index.apply(make_changes(1, unit_vectors(MANY, 16), dimension=16))
    searched(index, dimension=16)
    assert not has_codes(index, scans, dimension=16)


def test_a_small_partition_beside_a_large_one_is_searched_exactly(make_changes: Make, unit_vectors: Make) -> None:
    vectors = clustered(unit_vectors, MANY)
    index = new_index()
    index.apply(make_changes(1, vectors, dimension=DIMENSION, partitions=np.arange(MANY) % 10 == 0))
    found = index.search(vectors[10], partitions=[1], limit=50)
    expected = sorted(
        range(0, MANY, 10), key=lambda row: -float(vectors[row].astype(np.float16).astype(np.float32) @ vectors[10])
    )
    assert set(found.passages.tolist()) == set(expected[:50])


def test_codes_are_searched_in_one_thread_and_the_setting_is_put_back(
    make_changes: Make, unit_vectors: Make, scans: list[int]
) -> None:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)
    try:
        index = filled(unit_vectors(MANY, DIMENSION), make_changes, codes_above=MANY // 2)
        assert has_codes(index, scans)
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_of_many_small_partitions_of_a_large_kind_those_asked_for_are_searched(make_changes: Make, unit_vectors: Make) -> None:
    """By codes where they are many, exactly where they are few: neither finds a passage of another."""
    vectors = clustered(unit_vectors, MANY)
    index = ProjectIndex(DIMENSION, kind_of=lambda _: "outcome", codes_above=1_000, wide_up_to=100)
    index.apply(make_changes(1, vectors, dimension=DIMENSION, partitions=np.arange(MANY) % 50))
    searched(index)
    products = vectors.astype(np.float16).astype(np.float32) @ vectors[:5].T
    for asked, share in ((range(50), 0.9), (range(25), 0.9), ([7], 1.0), ([3, 99], 1.0)):
        inside = np.flatnonzero(np.isin(np.arange(MANY) % 50, list(asked)))
        for number, query in enumerate(vectors[:5]):
            found = index.search(query, partitions=asked, limit=10).passages
            nearest = inside[np.argsort(-products[inside, number])[:10]]
            assert np.isin(found, inside).all()
            assert np.isin(nearest, found).mean() >= share


def test_until_the_codes_are_made_a_search_is_exact(make_changes: Make, unit_vectors: Make, scans: list[int]) -> None:
    vectors, later = clustered(unit_vectors, MANY), list[Callable[[], object]]()
    index = new_index(later.append)
    index.apply(make_changes(1, vectors, dimension=DIMENSION))
    exact = filled(vectors, make_changes)
    wanted, found = (each.search(vectors[3], partitions=[0], limit=50) for each in (exact, index))
    assert (found.passages.tolist(), found.scores.tolist()) == (wanted.passages.tolist(), wanted.scores.tolist())
    index.apply(make_changes(2, vectors[:50], first=MANY, dimension=DIMENSION))
    assert (len(later), has_codes(index, scans)) == (1, False)
    later.pop()()
    assert has_codes(index, scans)
    index.apply(make_changes(3, vectors[:50], first=2 * MANY, dimension=DIMENSION))
    assert (len(later), has_codes(index, scans)) == (0, True)
    index.apply(make_changes(4, vectors, first=3 * MANY, ties=np.arange(MANY) + MANY, dimension=DIMENSION))
    assert (has_codes(index, scans), len(later)) == (False, 1)
    later.pop()()
    assert has_codes(index, scans)


def test_where_no_thread_could_be_started_a_later_search_asks_again(
    make_changes: Make, unit_vectors: Make, scans: list[int]
) -> None:
    asked = list[int]()

    def run(call: Callable[[], object]) -> None:
        asked.append(len(asked))
        if len(asked) == 1:
            raise StorageError("no thread could be started")
        call()

    index = new_index(run)
    index.apply(make_changes(1, clustered(unit_vectors, MANY), dimension=DIMENSION))
    searched(searched(index))
    assert has_codes(index, scans)
    assert len(asked) == 2


def test_no_codes_are_made_after_the_end(make_changes: Make, unit_vectors: Make, scans: list[int]) -> None:
    later = list[Callable[[], object]]()
    index = new_index(later.append)
    index.apply(make_changes(1, unit_vectors(MANY, DIMENSION), dimension=DIMENSION))
    searched(index).stop()
    later.pop()()
    assert not has_codes(index, scans)
    assert later == []


def test_a_process_that_only_writes_makes_no_codes(make_changes: Make, unit_vectors: Make) -> None:
    later = list[Callable[[], object]]()
    index = new_index(later.append)
    index.apply(make_changes(1, unit_vectors(MANY, DIMENSION), dimension=DIMENSION))
    index.score(np.ones(DIMENSION, dtype=np.float32), memories=np.array([1, 2]))
    assert later == []


def test_a_forked_child_makes_codes_anew(make_changes: Make, unit_vectors: Make, scans: list[int]) -> None:
    later, vectors = list[Callable[[], object]](), clustered(unit_vectors, MANY)
    index = new_index(later.append)
    index.apply(make_changes(1, vectors, dimension=DIMENSION))
    searched(index)
    index.renew_locks()
    searched(index)
    assert len(later) == 2
    later[1]()
    assert has_codes(index, scans)


def test_writes_and_searches_go_on_while_codes_are_made(make_changes: Make, unit_vectors: Make, scans: list[int]) -> None:
    vectors, threads = clustered(unit_vectors, MANY), list[Thread]()

    def run(call: Callable[[], object]) -> None:
        threads.append(Thread(target=call))
        threads[-1].start()

    index = new_index(run)
    index.apply(make_changes(1, vectors, dimension=DIMENSION))
    for upto in range(2, 40):
        index.apply(make_changes(upto, vectors[upto], first=MANY + upto, ties=[-upto], removed=[10 * upto], dimension=DIMENSION))
        assert index.search(vectors[upto], partitions=[0], limit=1).passages.tolist() == [MANY + upto]
    for thread in threads:
        thread.join()
    assert has_codes(index, scans)
    found = {index.search(vectors[upto], partitions=[0], limit=1).passages.tolist()[0] for upto in range(2, 40)}
    assert found == {MANY + upto for upto in range(2, 40)}


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
