"""Sums over strategies that are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.learning.sums import summed


@given(st.integers(0, 6), st.integers(0, 30), st.floats(0, 1), st.randoms(use_true_random=False))
def test_sums_are_those_of_a_matrix_product_however_few_cells_there_are(
    strategies: int, tasks: int, share: float, random: object
) -> None:
    draw = np.random.default_rng(int(random.random() * 2**32))  # type: ignore[attr-defined] # a `random.Random`
    same = draw.random((strategies, strategies)).round(1)
    counts = draw.integers(1, 9, (strategies, tasks)) * (draw.random((strategies, tasks)) < share) * 0.37
    assert summed(same, counts) == pytest.approx(same @ counts, rel=1e-14, abs=0)


def test_a_task_that_saw_one_strategy_is_summed_to_the_last_bit() -> None:
    draw = np.random.default_rng(7)
    same, counts = draw.random((40, 40)), np.zeros((40, 500))
    counts[draw.integers(0, 40, 500), np.arange(500)] = draw.random(500)
    assert (summed(same, counts) == same @ counts).all()
