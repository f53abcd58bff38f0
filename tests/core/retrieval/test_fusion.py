"""Two arms become one similarity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.protocols import PassageScores
from alma.retrieval import fusion
from alma.retrieval.fusion import DENSE, TEXT, Arm, Background

Numbers = np.ndarray


def _passages(*scored: tuple[int, float]) -> PassageScores:
    """Passages as (memory, score), in the order given."""
    memories = np.array([memory for memory, _ in scored], dtype=np.int64)
    return PassageScores(
        passages=np.arange(len(scored), dtype=np.int64),
        memories=memories,
        partitions=np.zeros_like(memories),
        ties=memories,
        is_own=np.ones(len(scored), dtype=np.bool_),
        scores=np.array([score for _, score in scored], dtype=np.float32),
    )


def _pooled(memories: list[int], *scored: tuple[int, float]) -> list[float]:
    return fusion.pooled(_passages(*scored), np.array(memories, dtype=np.int64)).tolist()


def _z(scores: list[float], background: list[float], arm: Arm = DENSE) -> Numbers:
    return fusion.standardised(np.array(scores), Background.of(np.array(background), arm))


def test_a_memory_of_one_passage_scores_as_its_passage() -> None:
    assert _pooled([3, 7], (7, 0.25), (3, 0.5)) == [0.5, 0.25]


def test_a_memory_without_a_passage_scores_nothing() -> None:
    assert _pooled([1, 2, 3], (1, 0.5), (3, 0.25)) == pytest.approx([0.5, 0.0, 0.25])
    assert _pooled([1, 2]) == [0.0, 0.0]


def test_a_memory_without_a_passage_scores_nothing_also_beside_one_of_two() -> None:
    assert _pooled([1, 2, 3], (1, 0.5), (3, 0.25), (3, 0.0)) == pytest.approx([0.5, 0.0, 0.25])


def test_the_second_and_third_passage_add_a_damped_share_of_what_is_beyond_the_usual() -> None:
    usual = DENSE.usual_mean
    expected = 0.75 + 0.3 * (0.5 - usual) + 0.1 * (0.25 - usual)
    assert _pooled([1, 2], (1, 0.25), (1, 0.75), (2, 0.5), (1, 0.5), (1, 0.2)) == pytest.approx([expected, 0.5])


def test_unrelated_further_passages_add_nothing() -> None:
    assert _pooled([1, 2], (1, 0.5), (1, 0.1), (1, -0.5), (2, 0.5)) == pytest.approx([0.5, 0.5])


def test_no_memories_pool_to_nothing() -> None:
    assert _pooled([]) == []


@given(st.permutations([(1, 0.5), (1, 0.25), (1, 0.125), (1, 0.75), (2, 0.5), (3, 0.25), (3, 0.5)]))
def test_the_order_of_passages_does_not_matter(scored: list[tuple[int, float]]) -> None:
    assert _pooled([1, 2, 3], *scored) == _pooled([1, 2, 3], *sorted(scored))


@given(st.lists(st.tuples(st.integers(0, 6), st.floats(-1, 1, width=32)), max_size=20))
def test_each_memory_is_pooled_as_if_it_were_alone(scored: list[tuple[int, float]]) -> None:
    alone = [sorted((score for memory, score in scored if memory == number), reverse=True) for number in range(7)]
    expected = [
        sum((share * max(score - DENSE.usual_mean, 0) for share, score in zip((0.3, 0.1), rest, strict=False)), first)
        for first, *rest in (scores or [0.0] for scores in alone)
    ]
    assert _pooled(list(range(7)), *scored) == pytest.approx(expected)


def test_an_empty_background_is_what_is_usual_in_the_arm() -> None:
    for arm in (DENSE, TEXT):
        background = Background.of(np.array([]), arm)
        assert (background.mean, background.deviation) == pytest.approx((arm.usual_mean, arm.usual_deviation))


def test_a_single_memory_is_judged_by_what_is_usual() -> None:
    near, far = (float(_z([score], [score])[0]) for score in (0.8, 0.12))
    assert near > 2
    assert far == pytest.approx(0, abs=1e-9)


def test_two_identical_memories_keep_a_finite_and_equal_standing() -> None:
    first, second = _z([0.8, 0.8], [0.8, 0.8])
    assert first == second
    assert 1.5 < first < 10


def test_many_equal_memories_do_not_divide_by_nothing() -> None:
    z = _z([0.5, 0.9], [0.5] * 100_000)
    assert np.isfinite(z).all()
    assert z[0] == pytest.approx(0, abs=0.01)
    assert z[1] > 5


def test_in_a_large_background_the_usual_counts_for_little() -> None:
    scores = np.random.default_rng(0).normal(0.4, 0.2, 50_000)
    background = Background.of(scores, DENSE)
    assert (background.mean, background.deviation) == pytest.approx((0.4, 0.2), abs=0.005)


def test_ten_thousand_unrelated_memories_leave_the_near_one_ahead() -> None:
    unrelated = np.random.default_rng(1).normal(0.1, 0.08, 10_000).tolist()
    before = _z([0.8, 0.1], [0.8, 0.1])
    after = _z([0.8, 0.1], [0.8, 0.1, *unrelated])
    assert after[0] > before[0] > after[1]


scores = st.lists(st.floats(-1, 1), min_size=1, max_size=50)


@given(scores, st.sampled_from([DENSE, TEXT]))
def test_standardising_keeps_the_order_and_is_finite(values: list[float], arm: Arm) -> None:
    z = _z(values, values, arm)
    assert np.isfinite(z).all()
    assert (np.diff(z[np.argsort(values)]) >= 0).all()


@given(scores, st.floats(0.3, 1))
def test_a_score_beyond_the_mean_is_worth_less_the_more_the_background_scatters(values: list[float], score: float) -> None:
    narrow = Background.of(np.full(len(values), 0.1), DENSE)
    assert narrow.deviation <= Background.of(np.array([*values, score, -score]), DENSE).deviation + 0.12


def test_fusing_is_the_weighted_mean() -> None:
    first, second = np.array([1.0, 2.0]), np.array([3.0, -2.0])
    assert fusion.fused([(first, 1.0)]).tolist() == [1.0, 2.0]
    assert fusion.fused([(first, 1.0), (second, 1.0)]).tolist() == [2.0, 0.0]
    assert fusion.fused([(first, 3.0), (second, 1.0)]).tolist() == [1.5, 1.0]


def test_similarity_is_a_half_at_the_middle_and_lies_between_0_and_1() -> None:
    found = fusion.similarity(np.array([-700.0, 0.0, fusion.MIDDLE, 5.0, 700.0]))
    assert found[2] == 0.5
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) > 0).all()


def test_similarity_is_the_logistic_function() -> None:
    assert fusion.similarity(np.array([fusion.MIDDLE + 1]))[0] == pytest.approx(0.7310585786300049)


def test_relevance_takes_evidence_from_either_arm() -> None:
    cosine, share = fusion.LEAST_COSINE, fusion.LEAST_SHARE
    cosines = np.array([cosine, cosine - 0.01, cosine - 0.01, 1.0, -1.0])
    shares = np.array([0.0, share, share - 0.01, 0.0, 1.0])
    assert fusion.relevant(cosines, shares).tolist() == [True, True, False, True, True]
    assert fusion.relevant(cosines, shares, least_cosine=0.9).tolist() == [False, True, False, True, True]
