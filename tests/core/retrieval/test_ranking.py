"""From similarities to a slice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.protocols import Candidate
from alma.retrieval.fusion import Contender, Ranked, rank_contenders, select_contenders
from alma.scoring import Profile

DAY = 86_400_000_000
ALL_OF_SIMILARITY = Profile.of({"similarity": 1})
KINDS = {1: "outcome", 2: "outcome", 3: "heuristic"}

Row = tuple[float, int, int, int]
"""Similarity, memory, group, tie."""


def _contenders(rows: list[Row], limit: int) -> list[Contender]:
    similarities, memories, groups, ties = zip(*sorted(rows, key=lambda row: row[1]), strict=True) if rows else ((), (), (), ())
    return select_contenders(
        np.array(similarities, dtype=np.float64),
        memories=np.array(memories, dtype=np.int64),
        groups=np.array(groups, dtype=np.int64),
        ties=np.array(ties, dtype=np.int64),
        limit=limit,
    )


def test_the_most_similar_of_each_group_are_taken() -> None:
    rows = [(0.9, 1, 0, 11), (0.8, 2, 0, 12), (0.7, 3, 0, 13), (0.1, 4, 1, 14), (0.2, 5, 1, 15)]
    assert sorted(item.memory for item in _contenders(rows, 2)) == [1, 2, 4, 5]


def test_copies_of_one_content_do_not_crowd_out_the_rest_however_many_they_are() -> None:
    copies = [(0.9, memory, 0, 7) for memory in range(50)]
    found = _contenders([*copies, (0.2, 60, 0, 8), (0.1, 61, 0, 9)], 2)
    assert found == [Contender(49, 0.9, 50), Contender(60, 0.2, 1)]


def test_a_single_memory_is_its_own_contender() -> None:
    assert _contenders([(0.5, 9, 0, 1)], 5) == [Contender(9, 0.5, 1)]


def test_nothing_gives_nothing() -> None:
    assert _contenders([], 5) == []


def test_equal_content_is_folded_into_the_newest_and_counted() -> None:
    found = _contenders([(0.5, 1, 0, 7), (0.5, 4, 0, 7), (0.5, 2, 0, 7), (0.4, 3, 0, 8)], 5)
    assert found == [Contender(4, 0.5, 3), Contender(3, 0.4, 1)]


def test_equal_content_of_two_kinds_is_not_folded() -> None:
    found = _contenders([(0.5, 1, 0, 7), (0.5, 2, 1, 7)], 5)
    assert sorted((item.memory, item.copies) for item in found) == [(1, 1), (2, 1)]


def test_equal_similarities_are_ordered_by_content() -> None:
    found = _contenders([(0.5, 1, 0, 30), (0.5, 2, 0, 10), (0.5, 3, 0, 20)], 2)
    assert [item.memory for item in found] == [2, 3]


rows = st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.integers(0, 2), st.integers(-3, 3)), min_size=1, max_size=30).map(
    lambda rows: [(similarity, memory, group, tie) for memory, (similarity, group, tie) in enumerate(rows)]
)


@given(rows, st.integers(1, 5))
def test_contenders_are_distinct_contents_no_more_than_the_limit_and_none_better_is_left_out(rows: list[Row], limit: int) -> None:
    similar = {(group, tie): max(row[0] for row in rows if row[2:] == (group, tie)) for _, _, group, tie in rows}
    of_memory = {memory: (group, tie) for _, memory, group, tie in rows}
    found = _contenders(rows, limit)
    taken = [of_memory[item.memory] for item in found]
    assert len(set(taken)) == len(taken)
    for group in {row[2] for row in rows}:
        best = sorted((value for (of_group, _), value in similar.items() if of_group == group), reverse=True)
        assert [item.similarity for item in found if of_memory[item.memory][0] == group] == best[:limit]
    for item in found:
        assert item.copies == sum(row[2:] == of_memory[item.memory] for row in rows)


def _candidate(memory: int, partition: int = 1, **given: object) -> Candidate:
    usual: dict[str, object] = {
        "confidence": 1.0,
        "successes": 1.0,
        "trials": 1.0,
        "seen_at": 0,
        "content_hash": bytes([memory]),
        "used": 0,
        "ignored": 0,
        "thumbs_up": 0,
        "thumbs_down": 0,
        "credited_successes": 0.0,
        "credited_trials": 0.0,
    }
    return Candidate(memory=memory, partition=partition, **{**usual, **given})  # type: ignore[arg-type]


def _ranked(
    similarities: dict[int, float],
    candidates: list[Candidate],
    *,
    profile: Profile = ALL_OF_SIMILARITY,
    top_k: int = 5,
    now: int = 0,
) -> list[Ranked]:
    found = [Contender(memory, similarity, 1) for memory, similarity in similarities.items()]
    return rank_contenders(found, candidates, kinds=KINDS, profile=profile, now=now, top_k=top_k)


def test_the_score_is_the_weighted_sum_of_the_factors() -> None:
    profile = Profile.of({"similarity": 0.4, "recency": 0.3, "success": 0.2, "confidence": 0.1})
    candidate = _candidate(1, partition=3, confidence=0.5, successes=8.0, trials=10.0, seen_at=-30 * DAY)
    (item,) = _ranked({1: 0.9}, [candidate], profile=profile)
    assert item.factors == pytest.approx({"similarity": 0.9, "recency": 0.5, "success": 9 / 12, "confidence": 0.5})
    assert item.score == pytest.approx(0.4 * 0.9 + 0.3 * 0.5 + 0.2 * 9 / 12 + 0.1 * 0.5, abs=1e-12)
    assert item.kind == "heuristic"


def test_there_are_at_most_top_k_of_each_kind_over_all_its_partitions() -> None:
    candidates = [_candidate(memory, partition=1 + memory % 3) for memory in range(12)]
    found = _ranked({memory: memory / 20 for memory in range(12)}, candidates, top_k=2)
    assert [item.memory for item in found] == [11, 10, 9, 8]
    assert [item.kind for item in found] == ["heuristic", "outcome", "outcome", "heuristic"]


def test_a_contender_that_is_gone_is_left_out() -> None:
    assert [item.memory for item in _ranked({1: 0.9, 2: 0.8}, [_candidate(2)])] == [2]


def _keeping(kept: set[int], *, top_k: int) -> list[int]:
    found = [Contender(memory, 1 - memory / 20, 1, is_kept=memory in kept) for memory in range(1, 8)]
    candidates = [_candidate(memory, partition=3 if memory in (2, 4) else 1) for memory in range(1, 8)]
    return [
        item.memory for item in rank_contenders(found, candidates, kinds=KINDS, profile=ALL_OF_SIMILARITY, now=0, top_k=top_k)
    ]


def test_a_contender_that_is_kept_takes_the_place_of_the_worst_of_its_kind() -> None:
    assert KINDS[1] != KINDS[3]
    assert _keeping(set(), top_k=2) == [1, 2, 3, 4]
    assert _keeping({7}, top_k=2) == [1, 2, 4, 7]
    assert _keeping({3, 7}, top_k=2) == [2, 3, 4, 7]
    assert _keeping({1, 7}, top_k=9) == [1, 2, 3, 4, 5, 6, 7]
    assert _keeping({4}, top_k=1) == [1, 4]


def test_of_more_that_are_kept_than_there_are_places_the_best_are_returned() -> None:
    assert _keeping({5, 6, 7}, top_k=2) == [2, 4, 5, 6]
    assert _keeping({5, 6, 7}, top_k=0) == []


def test_equal_scores_are_ordered_by_content_not_by_row() -> None:
    candidates = [_candidate(1, content_hash=b"z"), _candidate(2, content_hash=b"a"), _candidate(3, content_hash=b"m")]
    assert [item.memory for item in _ranked({1: 0.5, 2: 0.5, 3: 0.5}, candidates, top_k=2)] == [2, 3]


@given(st.permutations(range(6)))
def test_the_order_of_contenders_and_candidates_does_not_matter(order: list[int]) -> None:
    candidates = [_candidate(memory, content_hash=bytes([6 - memory])) for memory in range(6)]
    similarities = {memory: (0.5, 0.7)[memory % 2] for memory in range(6)}
    shuffled = _ranked({memory: similarities[memory] for memory in order}, [candidates[memory] for memory in order])
    assert shuffled == _ranked(similarities, candidates)
