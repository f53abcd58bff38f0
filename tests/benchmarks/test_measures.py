import math
import random

import pytest
from benchmarks.measures import all_at, any_at, interval, mean, ndcg_at, percentile, reciprocal_rank

RANKING = [7, 3, 9, 1, 4, 8]


@pytest.mark.parametrize(("gold", "at_1", "at_3"), [({7}, 1, 1), ({9, 5}, 0, 1), ({5}, 0, 0), ({1}, 0, 0)])
def test_any_is_one_when_some_gold_item_is_among_the_first(gold: set[int], at_1: float, at_3: float) -> None:
    assert (any_at(RANKING, gold, 1), any_at(RANKING, gold, 3)) == (at_1, at_3)


@pytest.mark.parametrize(("gold", "at_2", "at_5"), [({7}, 1, 1), ({7, 3}, 1, 1), ({3, 4}, 0, 1), ({7, 5}, 0, 0)])
def test_all_is_one_only_when_every_gold_item_is_among_the_first(gold: set[int], at_2: float, at_5: float) -> None:
    assert (all_at(RANKING, gold, 2), all_at(RANKING, gold, 5)) == (at_2, at_5)


def test_gain_is_discounted_by_rank_and_measured_against_the_ideal() -> None:
    found = 1 / math.log2(3) + 1 / math.log2(5)  # ranks 2 and 4
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)

    assert ndcg_at(RANKING, {3, 1, 100}, 10) == pytest.approx(found / ideal)


def test_gold_items_that_were_not_retrieved_are_part_of_the_ideal() -> None:
    assert ndcg_at([1], {1, 2}, 10) == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_the_ideal_holds_no_more_items_than_places() -> None:
    assert ndcg_at([1, 2], {1, 2, 3, 4}, 2) == 1


@pytest.mark.parametrize(("gold", "expected"), [({7}, 1), ({1, 9}, 1 / 3), ({5}, 0)])
def test_the_reciprocal_rank_is_that_of_the_first_gold_item(gold: set[int], expected: float) -> None:
    assert reciprocal_rank(RANKING, gold) == pytest.approx(expected)


def test_an_interval_holds_the_mean_and_narrows_with_more_values() -> None:
    few = [float(number % 4 == 0) for number in range(40)]
    low, high = interval(few)
    narrow_low, narrow_high = interval(few * 16)

    assert low < mean(few) < high
    assert (narrow_high - narrow_low) == pytest.approx((high - low) / 4, rel=0.25)


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    chance = random.Random(3)
    samples = [[chance.gauss(0, 1) for _ in range(60)] for _ in range(150)]
    covered = sum(low <= 0 <= high for low, high in (interval(sample, resamples=300) for sample in samples))

    assert 0.88 <= covered / len(samples) <= 0.99


def test_an_interval_is_the_same_for_the_same_seed() -> None:
    values = [0.0, 1.0, 1.0, 0.0, 1.0]

    assert interval(values, seed=5) == interval(values, seed=5)


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.5, 50), (0.95, 95), (1.0, 100)])
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: float) -> None:
    assert percentile([float(number) for number in range(100, 0, -1)], share) == expected


def test_without_values_there_is_no_figure() -> None:
    assert math.isnan(mean([]))
    assert math.isnan(percentile([], 0.5))
    assert all(map(math.isnan, interval([])))
