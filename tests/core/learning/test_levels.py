"""How far a rule is believed: never both sorts, mirrored, and with the counts that programs rely on."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.evidence import Tally
from alma.learning.experience import Advice
from alma.learning.levels import DISCOUNT, Level, Row, Than, anti_pattern_level, discounted, heuristic_level
from alma.learning.standing import Needed
from alma.types.kinds import Standing

shares = st.integers(0, 64).map(lambda part: part / 64)
rests = st.integers(0, 63).map(lambda part: (part + 0.5) / 64)
LEAST = Needed(successes=1, failures=1)
ERROR = 0.1


@st.composite
def rows(draw: st.DrawFn) -> Row:
    trials = draw(st.integers(0, 40))
    seen = Tally(draw(st.integers(0, 2 * trials)) / 2, trials)
    weight = discounted(trials)
    has_others = draw(st.booleans())
    return Row(
        lifetime=seen,
        recent=Tally(draw(shares) * weight, weight),
        tasks=draw(st.integers(0, trials)),
        effective_tasks=draw(st.floats(0, 40)),
        rest=draw(rests) if has_others else None,
        lift=draw(st.floats(-1, 1)) if has_others else 0.0,
        lift_error=draw(st.floats(0.02, 1)) if has_others else 1.0,
        is_proven_better=has_others and draw(st.booleans()),
    )


def told(outcomes: str, *, rest: float | None = None, deviations: float = 0.0, tasks: int | None = None) -> Row:
    """A row of outcomes in the order in which they came, S and F; each on a task of its own unless `tasks` says how many.

    It is above the rest by a number of standard errors of .1.
    """
    worth = [float(outcome == "S") for outcome in outcomes]
    weights = [DISCOUNT ** (len(worth) - 1 - place) for place in range(len(worth))]
    seen, trials = sum(worth), len(worth)
    own = Tally(seen, trials)
    return Row(
        lifetime=own,
        recent=Tally(sum(w * s for w, s in zip(weights, worth, strict=True)), sum(weights)),
        tasks=trials if tasks is None else tasks,
        effective_tasks=float(trials if tasks is None else tasks),
        rest=rest,
        lift=deviations * ERROR,
        lift_error=ERROR if rest is not None else 1.0,
    )


def standing(level: Level | None) -> Standing | None:
    return level.standing if level else None


@given(rows())
def test_no_strategy_is_both_a_heuristic_and_an_anti_pattern(row: Row) -> None:
    assert heuristic_level(row, LEAST) is None or anti_pattern_level(row, LEAST) is None


@given(rows())
def test_failing_is_the_mirror_of_working(row: Row) -> None:
    works, fails = heuristic_level(row, Needed()), anti_pattern_level(row.mirrored(), Needed(successes=2, failures=3))
    assert standing(works) == standing(fails)
    assert works is None or fails is None or works.sure == pytest.approx(fails.sure, abs=1e-9)


@pytest.mark.parametrize("successes", range(12))
def test_successes_alone_make_a_heuristic_from_the_third_on(successes: int) -> None:
    row = told("S" * successes, tasks=1)
    assert standing(heuristic_level(row, Needed())) is (Standing.CANDIDATE if successes >= 3 else None)
    assert anti_pattern_level(row, Needed()) is None


@pytest.mark.parametrize("failures", range(12))
def test_failures_alone_make_an_anti_pattern_from_the_second_on(failures: int) -> None:
    row = told("F" * failures, tasks=1)
    assert standing(anti_pattern_level(row, Needed())) is (Standing.CANDIDATE if failures >= 2 else None)
    assert heuristic_level(row, Needed()) is None


def test_fifty_successes_are_no_heuristic_any_more_after_exactly_five_failures() -> None:
    held = [heuristic_level(told("S" * 50 + "F" * failures), Needed()) is not None for failures in range(7)]
    assert held == [True, True, True, True, True, False, False]


def test_a_heuristic_that_was_demoted_returns_with_its_successes() -> None:
    held = [heuristic_level(told("S" * 50 + "F" * 5 + "S" * again), Needed()) is not None for again in range(9)]
    assert not held[0]
    assert held[-1]
    assert held == sorted(held)


@pytest.mark.parametrize("order", ["SSSSSSSSFF", "FFSSSSSSSS", "SFSSSSFSSS"])
def test_eight_of_ten_work_in_whatever_order(order: str) -> None:
    assert heuristic_level(told(order, rest=0.375, deviations=1.7, tasks=1), Needed()) is not None


@pytest.mark.parametrize("order", ["FFFS", "SFFF", "FSFF"])
def test_three_failures_of_four_are_warned_of_in_whatever_order(order: str) -> None:
    assert anti_pattern_level(told(order, rest=0.8, deviations=-1.9, tasks=1), Needed()) is not None


def test_where_most_succeeds_one_that_fails_a_little_more_often_is_an_anti_pattern() -> None:
    row = told("SSSSF" * 10, rest=0.97, deviations=-3)
    assert standing(anti_pattern_level(row, Needed())) is Standing.LIKELY
    assert heuristic_level(row, Needed()) is None


def test_where_most_fails_the_one_that_sometimes_works_is_a_heuristic() -> None:
    row = told("FFFSF" * 10, rest=0.05, deviations=3)
    assert standing(heuristic_level(row, Needed())) is Standing.LIKELY
    assert anti_pattern_level(row, Needed()) is None


def test_likely_needs_three_tasks_and_surety() -> None:
    enough = told("SSSSS", rest=0.4, deviations=3)
    assert heuristic_level(enough, Needed()) == Level(Standing.LIKELY, Than.OTHERS, pytest.approx(0.946, abs=0.001), 5)
    assert standing(heuristic_level(replace(enough, tasks=2), Needed())) is Standing.CANDIDATE
    assert standing(heuristic_level(replace(enough, effective_tasks=2.0), Needed())) is Standing.CANDIDATE
    assert standing(heuristic_level(replace(enough, lift=0.24), Needed())) is Standing.CANDIDATE


def test_where_nothing_else_was_tried_it_is_compared_with_a_half_and_never_likely_better_than_others() -> None:
    level = heuristic_level(told("S" * 12), Needed())
    assert level
    assert (level.standing, level.than) == (Standing.LIKELY, Than.HALF)
    assert 0.99 < level.sure < 1


def test_three_successes_on_three_tasks_are_no_more_sure_than_three_trials_make_it() -> None:
    level = heuristic_level(told("SSS"), Needed())
    assert level
    assert level.sure == pytest.approx(0.96, abs=0.01)


def test_what_is_sure_follows_the_newest_outcomes() -> None:
    before, after = (heuristic_level(told("S" * 50 + "F" * failures), Needed()) for failures in (0, 4))
    assert before
    assert after
    assert after.sure < 0.99 < before.sure


def test_proof_makes_it_proven_over_the_tasks_of_the_proof() -> None:
    row = replace(told("S" * 24, rest=0.3, deviations=6), is_proven_better=True, proven_tasks=24)
    assert heuristic_level(row, Needed()) == Level(Standing.PROVEN, Than.OTHERS, pytest.approx(1), 24)


def test_what_was_proven_and_then_failed_is_no_heuristic() -> None:
    row = replace(told("S" * 24 + "F" * 24, rest=0.3, deviations=1.3), is_proven_better=True, proven_tasks=24)
    assert heuristic_level(row, Needed()) is None


def test_a_row_is_read_off_the_advice() -> None:
    fields = {name: np.array([0.7, 0.4]) for name in Advice.__dataclass_fields__ if name != "base"}
    fields |= {
        "whole_successes": np.array([8.0, 1.0]),
        "whole_trials": np.array([10.0, 4.0]),
        "whole_tasks": np.array([5.0, 2.0]),
    }
    fields |= {
        "successes": np.array([7.0, 0.8]),
        "trials": np.array([8.75, 3.2]),
        "lift": np.array([0.5, -0.5]),
        "lift_error": np.array([0.2, 1.0]),
    }
    fields |= {"others": np.array([3.2, 0.0]), "others_rate": np.array([0.3, 0.5]), "better": np.array([0.97, np.nan])}
    advice = Advice(**fields, base=0.6)
    first, second = Row.of(advice, 0, better=True, proven_tasks=24), Row.of(advice, 1)
    assert (first.lifetime, first.tasks, first.proven_tasks) == (Tally(8, 10), 5, 24)
    assert first.recent.rate == pytest.approx(0.7)
    assert first.rest == pytest.approx(0.3)
    assert (first.lift, first.lift_error) == (0.5, 0.2)
    assert first.recent.trials == pytest.approx(sum(DISCOUNT**n for n in range(10)))
    assert second.rest is None


def sure(deviations: float, error: float = 0.1) -> float:
    level = heuristic_level(replace(told("SSSSSSSS", rest=0.4), lift=deviations * error, lift_error=error), LEAST)
    assert level
    return level.sure


def test_a_difference_that_chance_often_makes_is_not_called_likely() -> None:
    """At 1.645 standard errors a test at 95 % rejects. One strategy in two of those that look so does neither better nor worse."""
    assert sure(1.645) < 0.6
    assert sure(3) > 0.9


@given(st.floats(0, 4), st.floats(0, 4), st.floats(0.02, 0.5))
def test_the_larger_the_difference_the_surer(one: float, other: float, error: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= sure(low, error) <= sure(high, error) + 1e-12 <= 1 + 1e-12
