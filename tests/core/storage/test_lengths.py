"""How long the texts of memories are, as it is remembered between questions."""

import numpy as np
import pytest

from alma.storage.lengths import PRIOR_COUNT, PRIOR_LENGTH, TextLengths


def told(lengths: TextLengths, *memories: int) -> list[float]:
    return [round(length, 6) for length in (lengths.relative(np.array(memories)) * lengths.mean).tolist()]


def test_the_parts_of_a_memory_add_up_in_whatever_order_memories_come() -> None:
    lengths = TextLengths()
    lengths.take([(3, 200.0), (7, 100.0), (7, 50.5), (5, 0.0), (7, 1.0)], upto=4)
    assert told(lengths, 3, 7, 5) == [200.0, 151.5, 0.0]
    assert (lengths.count, lengths.newest, lengths.upto) == (2, 7, 4)
    assert lengths.mean == pytest.approx((351.5 + PRIOR_COUNT * PRIOR_LENGTH) / (2 + PRIOR_COUNT))


def test_what_is_told_again_takes_the_place_of_what_was_and_a_text_that_is_gone_counts_no_more() -> None:
    lengths = TextLengths()
    lengths.take([(2_000, 80.0), (1, 40.0)], upto=1)
    lengths.take([(1, 0.0), (2_000, 90.0)], upto=2)
    lengths.take([], upto=3)
    assert told(lengths, 1, 2_000) == [0.0, 90.0]
    assert (lengths.count, lengths.newest, lengths.upto) == (1, 2_000, 3)
    assert lengths.mean == pytest.approx((90 + PRIOR_COUNT * PRIOR_LENGTH) / (1 + PRIOR_COUNT))
