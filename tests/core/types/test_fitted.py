"""What is shown and what the prompt says are the same, whether they are made at once or one after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.types import MemorySlice
from memory_strategies import slices


@pytest.mark.slow
@given(slices(), st.integers(0, 400) | st.just(10**9))
def test_what_is_shown_is_what_fits_and_the_notes_are_its_prompt(found: MemorySlice, budget: int) -> None:
    shown, notes = found.fitted(budget)

    assert (shown, notes) == (found.fitting(budget), found.to_prompt(budget))
    assert (shown is found) is (len(shown) == len(found))
