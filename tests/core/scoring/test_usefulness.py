"""What becomes of a memory moves its score, within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.scoring import usefulness

counts = st.integers(0, 10**9)
shares = st.floats(0, 1e9)


def of(
    *,
    used: float = 0,
    ignored: float = 0,
    up: float = 0,
    down: float = 0,
    credited: tuple[float, float] = (0.0, 0.0),
) -> float:
    return usefulness(used, ignored, up, down, *credited)


def test_nothing_known_changes_nothing_to_the_last_bit() -> None:
    assert of() == 1.0


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"used": 2}, 1 + 0.25 * (2 * 3 / 5 - 1)),
        ({"ignored": 2}, 1 + 0.25 * (2 * 2 / 5 - 1)),
        ({"up": 1}, 1 + 0.25 * (2 * 5 / 7 - 1)),
        ({"down": 1}, 1 + 0.25 * (2 * 2 / 7 - 1)),
        ({"credited": (1.0, 1.0)}, 1 + 0.25 * (2 * 3 / 5 - 1)),
        ({"credited": (0.0, 1.0)}, 1 + 0.25 * (2 * 2 / 5 - 1)),
        ({"used": 8, "ignored": 2, "up": 1, "credited": (3.0, 4.0)}, 1 + 0.25 * (2 * 12 / 16 - 1)),
    ],
)
def test_the_values_are_those_that_are_documented(known: dict[str, float], expected: float) -> None:
    assert of(**known) == pytest.approx(expected, abs=1e-15)  # type: ignore[arg-type]


def test_a_thumb_outweighs_uses_and_failure_outweighs_the_use_it_came_from() -> None:
    assert of(up=1) > of(used=5)
    assert of(down=1, used=5) < 1
    assert of(used=1, credited=(0.0, 1.0)) < 1 < of(used=1, credited=(0.5, 1.0)) < of(used=1, credited=(1.0, 1.0))


@given(st.tuples(counts, counts, counts, counts, shares, shares))
def test_it_stays_within_a_quarter_whatever_is_counted(known: tuple[float, ...]) -> None:
    assert 0.75 <= usefulness(*known) <= 1.25


@given(counts, counts, counts, counts, st.floats(0, 1e6), st.floats(0, 1e6), st.integers(0, 5))
def test_more_of_what_is_good_never_lowers_it_and_of_what_is_bad_never_raises_it(
    used: int, ignored: int, up: int, down: int, succeeded: float, failed: float, which: int
) -> None:
    known = [used, ignored, up, down, succeeded, failed]
    more = [value + (which == place) for place, value in enumerate(known)]

    def value(given: list[float]) -> float:
        return usefulness(*given[:4], given[4], given[4] + given[5])

    is_good = which in (0, 2, 4)
    assert (value(more) - value(known)) * (1 if is_good else -1) >= -1e-12
