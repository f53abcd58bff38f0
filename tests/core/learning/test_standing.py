"""What evidence amounts to: never both a heuristic and an anti-pattern, and the same again as long as little changes."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from alma.evidence import Tally, observed, rest
from alma.learning.standing import Needed, Standing, as_anti_pattern, as_heuristic, changed, steady

LEAST = Needed(successes=1, failures=1)
verdicts = st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=40)
rates = st.floats(0.02, 0.98)


def counted(seen: list[float]) -> tuple[Tally, Tally]:
    """Lifetime and operative counts of verdicts at one time."""
    lifetime = operative = Tally()
    for worth in seen:
        lifetime, operative = lifetime.plus(worth), observed(operative, worth, elapsed=0)
    return lifetime, operative


def mirrored(counts: Tally) -> Tally:
    return Tally(counts.failures, counts.trials)


@given(verdicts, rates)
def test_no_strategy_is_both_a_heuristic_and_an_anti_pattern(seen: list[float], others: float) -> None:
    lifetime, operative = counted(seen)
    works = as_heuristic(lifetime, operative, others, LEAST)
    fails = as_anti_pattern(lifetime, operative, others, LEAST)
    assert works is None or fails is None


@given(verdicts, rates)
def test_failing_is_the_mirror_of_working(seen: list[float], others: float) -> None:
    lifetime, operative = counted(seen)
    edges = [operative.lower(0.8), operative.upper(0.8), operative.lower(0.95), operative.upper(0.95)]
    assume(all(abs(edge - turn) > 1e-6 for edge in edges for turn in (0.5, others)))
    assert as_anti_pattern(lifetime, operative, others, LEAST) == as_heuristic(
        mirrored(lifetime), mirrored(operative), 1 - others, LEAST
    )


@given(verdicts, rates, rates)
def test_inside_the_steady_interval_the_standing_stays_what_it_is(seen: list[float], others: float, share: float) -> None:
    lifetime, operative = counted(seen)

    def judged(others: float) -> tuple[Standing | None, Standing | None]:
        return (
            as_heuristic(lifetime, operative, others, Needed()),
            as_anti_pattern(lifetime, operative, others, Needed()),
        )

    interval = steady(operative, others, judged(others))
    assert interval.lower <= others < interval.upper
    low, high = max(interval.lower, 0.0), min(interval.upper, 1.0)
    inside = low + share * (high - low)
    assume(interval.lower < inside < interval.upper)
    assert judged(inside) == judged(others)


@given(verdicts, rates, rates)
def test_a_rule_works_no_less_when_the_others_do_worse(seen: list[float], one: float, other: float) -> None:
    lifetime, operative = counted(seen)
    worse, better = sorted((one, other))
    order = [None, Standing.CANDIDATE, Standing.PROVEN]
    if worse >= 0.5:  # below that the rest is the bar itself, above it a half is
        assert order.index(as_heuristic(lifetime, operative, worse, LEAST)) >= order.index(
            as_heuristic(lifetime, operative, better, LEAST)
        )


@pytest.mark.parametrize("successes", range(12))
def test_successes_alone_make_a_heuristic_from_the_third_on(successes: int) -> None:
    lifetime, operative = counted([1.0] * successes)
    assert (as_heuristic(lifetime, operative, rest(0, 0), Needed()) is not None) is (successes >= 3)
    assert as_anti_pattern(lifetime, operative, rest(0, 0), Needed()) is None


@pytest.mark.parametrize("failures", range(12))
def test_failures_alone_make_an_anti_pattern_from_the_second_on(failures: int) -> None:
    lifetime, operative = counted([0.0] * failures)
    assert (as_anti_pattern(lifetime, operative, rest(0, 0), Needed()) is not None) is (failures >= 2)
    assert as_heuristic(lifetime, operative, rest(0, 0), Needed()) is None


def test_fifty_successes_are_no_heuristic_any_more_after_exactly_five_failures() -> None:
    held = [as_heuristic(*counted([1.0] * 50 + [0.0] * failures), rest(0, 0), Needed()) is not None for failures in range(7)]
    assert held == [True, True, True, True, True, False, False]


def test_a_rule_that_no_longer_holds_is_demoted_and_what_never_was_one_is_none() -> None:
    assert changed(None, None) is None
    assert changed("candidate", None) is changed("demoted", None) is Standing.DEMOTED
    assert changed("demoted", Standing.CANDIDATE) is Standing.CANDIDATE
    assert changed(None, Standing.PROVEN) is Standing.PROVEN
