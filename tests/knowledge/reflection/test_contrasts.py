"""The exact test agrees with known values, and retries of a task are compared among themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma_knowledge.reflection.contrasts import Run, compute_p, find_differences

COUNT = st.integers(0, 12)


def runs(*rows: tuple[str, bool, bool]) -> list[Run]:
    """Returns runs of a task, with an action or without, good or bad."""
    return [
        Run(str(number), task, task, (), frozenset({"act"} if has else ()), good) for number, (task, has, good) in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("table", "p"), [((8, 8, 0, 8), 2 / 12870), ((3, 4, 1, 4), 2 * 17 / 70), ((5, 5, 5, 5), 1.0), ((0, 0, 3, 6), 1.0)]
)
def test_one_stratum_is_fishers_exact_test(table: tuple[int, int, int, int], p: float) -> None:
    assert compute_p([table])[0] == pytest.approx(p)


def test_strata_of_one_run_say_nothing() -> None:
    assert compute_p([(1, 1, 0, 0), (0, 0, 0, 1)] * 20) == (1.0, 1.0)


@given(st.lists(st.tuples(COUNT, COUNT, COUNT, COUNT), min_size=1, max_size=5))
def test_p_is_between_its_least_value_and_one(strata: list[tuple[int, int, int, int]]) -> None:
    p, least = compute_p([(min(a, n), n, min(b, m), m) for a, n, b, m in strata])
    assert 0 < least <= p * (1 + 1e-9) <= 1 + 1e-6


def test_a_difference_between_tasks_is_not_one_within_them() -> None:
    between = runs(*[("easy", True, True)] * 10, *[("hard", False, False)] * 10)
    within = runs(*[("easy", True, True), ("easy", False, False)] * 10)

    assert find_differences([between]) == [[]]
    assert [each.key for each in find_differences([within])[0]] == ["act"]
