"""Distinct numbers and their places are those that sorting finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alma.distinct import distinct


@given(st.lists(st.integers(0, 40) | st.integers(0, 10_000), max_size=30))
def test_distinct_numbers_ascend_and_each_element_has_its_place(numbers: list[int]) -> None:
    occurring, places = distinct(np.array(numbers, np.intp))
    assert occurring.tolist() == sorted(set(numbers))
    assert occurring[places].tolist() == numbers
