"""Arrays that grow at their end."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alma.learning.growing_array import GrowingArray


@given(st.lists(st.integers(0, 40), max_size=12))
def test_rows_are_those_that_were_appended_however_they_are_read_between(counts: list[int]) -> None:
    array, appended = GrowingArray(2, dtype=np.float32), list[tuple[float, float]]()
    for count in counts:
        for _ in range(count):
            appended.append((float(len(appended)), 0.5))
            array.append(appended[-1])
        assert len(array) == len(appended)
        assert [tuple(row) for row in array.rows.tolist()] == appended


def test_a_row_that_was_changed_stays_changed() -> None:
    array = GrowingArray(dtype=np.intp)
    array.append(1)
    array.rows[0] = 7
    array.append(2)
    assert array.rows.tolist() == [7, 2]
