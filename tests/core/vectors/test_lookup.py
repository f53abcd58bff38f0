"""Rows are found by key, whatever the order in which the keys came."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.vectors.lookup import MERGE_ABOVE, RowLookup


@given(st.lists(st.lists(st.integers(0, 40), max_size=10), max_size=10), st.sets(st.integers(0, 45)))
def test_every_row_of_the_wanted_keys_is_found_once(batches: list[list[int]], wanted: set[int]) -> None:
    lookup, rows_of, row = RowLookup(), defaultdict(set), 0
    for batch in batches:
        lookup.add(np.array(batch, dtype=np.int64), np.arange(row, row + len(batch)))
        for key in batch:
            rows_of[key].add(row)
            row += 1
    found = lookup.find(np.array(sorted(wanted), dtype=np.int64)).tolist()
    assert sorted(found) == sorted(row for key in wanted for row in rows_of[key])


@pytest.mark.parametrize("late", [MERGE_ABOVE - 1, MERGE_ABOVE, MERGE_ABOVE + 1, 3 * MERGE_ABOVE])
def test_many_late_keys_are_found_like_the_others(late: int) -> None:
    lookup = RowLookup()
    keys = np.concatenate([np.arange(10_000, 10_500), np.random.default_rng(1).permutation(late)])
    for start in range(0, len(keys), 100):
        part = keys[start : start + 100]
        lookup.add(part, np.arange(start, start + len(part)))
    found = lookup.find(np.sort(keys))
    assert sorted(keys[found].tolist()) == sorted(keys.tolist())


def test_rows_can_be_renumbered_and_forgotten() -> None:
    lookup = RowLookup()
    lookup.add(np.array([5, 6, 2]), np.array([0, 1, 2]))
    lookup.renumber(np.array([-1, 0, 1]))
    assert lookup.find(np.array([2, 5, 6])).tolist() == [1, 0]
