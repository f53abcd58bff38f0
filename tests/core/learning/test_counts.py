"""The arithmetic behind every rule: exact where a closed form is known, consistent everywhere else."""

import math
from itertools import product
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from alma.evidence import (
    DISCOUNT,
    HALF_LIFE_DAYS,
    Interval,
    Tally,
    beta_cdf,
    beta_quantile,
    fading,
    lift,
    observed,
    rest,
    wilson,
)

DAY = 86_400_000_000
wholes = st.integers(1, 60)
shapes = st.floats(0.5, 400.0)
shares = st.floats(0.001, 0.999)
tallies = st.builds(lambda trials, share: Tally(trials * share, trials), st.floats(0.0, 300.0), st.floats(0.0, 1.0))
confidences = st.floats(0.55, 0.99)


def binomial_tail(x: float, a: int, b: int) -> float:
    """I_x(a, b) for whole a and b: at least `a` of `a + b - 1` trials succeed (DLMF 8.17.5)."""
    n = a + b - 1
    return math.fsum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))


@given(wholes, wholes, shares)
def test_the_distribution_is_the_binomial_tail_where_both_parameters_are_whole(a: int, b: int, x: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(binomial_tail(x, a, b), rel=1e-9, abs=1e-12)


@given(shares)
def test_the_distribution_has_its_closed_forms(x: float) -> None:
    assert beta_cdf(x, 1, 1) == pytest.approx(x)
    assert beta_cdf(x, 0.5, 0.5) == pytest.approx(2 / math.pi * math.asin(math.sqrt(x)))
    assert beta_cdf(x, 7.5, 1) == pytest.approx(x**7.5)
    assert beta_cdf(x, 1, 7.5) == pytest.approx(1 - (1 - x) ** 7.5)


@given(shares, shapes, shapes)
def test_the_distribution_is_symmetric_and_obeys_its_recurrence(x: float, a: float, b: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(1 - beta_cdf(1 - x, b, a), abs=1e-9)
    log_term = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a + 1) - math.lgamma(b)
    assert beta_cdf(x, a, b) - beta_cdf(x, a + 1, b) == pytest.approx(math.exp(log_term), abs=1e-9)  # DLMF 8.17.20


def test_the_distribution_ends_where_its_variable_does() -> None:
    assert [beta_cdf(x, 2.0, 3.0) for x in (-1.0, 0.0, 1.0, 2.0)] == [0.0, 0.0, 1.0, 1.0]


@given(st.floats(0.005, 0.995), shapes, shapes)
def test_the_quantile_is_the_inverse_of_the_distribution(probability: float, a: float, b: float) -> None:
    assert beta_cdf(beta_quantile(probability, a, b), a, b) == pytest.approx(probability, abs=1e-8)


@given(confidences, tallies)
def test_bounds_enclose_the_posterior_median_and_hold_what_they_claim(confidence: float, counts: Tally) -> None:
    lower, upper = counts.lower(confidence), counts.upper(confidence)
    assert 0.0 <= lower <= upper <= 1.0
    a, b = counts.successes + 0.5, counts.failures + 0.5
    if counts.successes > 0:
        assert 1 - beta_cdf(lower, a, b) == pytest.approx(confidence, abs=1e-7)
    if counts.failures > 1e-9:
        assert beta_cdf(upper, a, b) == pytest.approx(confidence, abs=1e-7)


@given(confidences, confidences, tallies)
def test_more_confidence_makes_no_interval_narrower(one: float, other: float, counts: Tally) -> None:
    less, more = sorted((one, other))
    assert counts.lower(more) <= counts.lower(less) + 1e-9
    assert counts.upper(more) >= counts.upper(less) - 1e-9


@given(confidences, tallies)
def test_a_success_raises_both_bounds_and_a_failure_lowers_them(confidence: float, counts: Tally) -> None:
    assume(all(count == 0.0 or count > 1e-6 for count in (counts.successes, counts.failures)))
    better, worse = counts.plus(1.0), counts.plus(0.0)
    for bound in (Tally.lower, Tally.upper):
        assert bound(worse, confidence) - 1e-9 <= bound(counts, confidence) <= bound(better, confidence) + 1e-9


@given(confidences, st.integers(0, 40), st.integers(0, 40))
def test_successes_and_failures_mirror_each_other(confidence: float, successes: int, failures: int) -> None:
    counts = Tally(float(successes), float(successes + failures))
    mirrored = Tally(float(failures), float(successes + failures))
    assert counts.lower(confidence) == pytest.approx(1 - mirrored.upper(confidence), abs=1e-9)


def coverage(trials: int, rate: float, confidence: float) -> float:
    """How probable it is that the interval holds the rate that the trials were made with."""
    held = 0.0
    for successes in range(trials + 1):
        interval = Tally(float(successes), float(trials)).interval(confidence)
        if interval.lower <= rate <= interval.upper:
            held += math.comb(trials, successes) * rate**successes * (1 - rate) ** (trials - successes)
    return held


def test_the_interval_holds_the_true_rate_about_as_often_as_it_claims() -> None:
    found = [coverage(trials, rate / 50, 0.95) for trials, rate in product((5, 10, 20, 50), range(3, 48))]
    assert 0.94 < sum(found) / len(found) < 0.97
    assert min(found) > 0.86


@given(tallies, tallies)
def test_lift_changes_its_sign_when_the_two_change_places(one: Tally, other: Tally) -> None:
    value, interval = lift(one, other)
    mirrored, its_interval = lift(other, one)
    assert value == pytest.approx(-mirrored)
    assert (interval.lower, interval.upper) == (pytest.approx(-its_interval.upper), pytest.approx(-its_interval.lower))
    assert -1.0 <= interval.lower <= value <= interval.upper <= 1.0


def test_the_interval_of_a_lift_is_that_of_published_examples() -> None:
    """Newcombe 1998, table II, (a): 56/70 - 48/80 with Wilson's limits is .0524 to .3339; Jeffreys' are within .006 of those."""
    value, interval = lift(Tally(56.0, 70.0), Tally(48.0, 80.0))
    assert value == pytest.approx(0.2)
    assert (interval.lower, interval.upper) == (pytest.approx(0.0524, abs=0.006), pytest.approx(0.3339, abs=0.006))


def test_wilsons_interval_is_that_of_published_examples() -> None:
    """Newcombe 1998 (single proportion), table I, method 3."""
    examples = {(81, 263): (0.2553, 0.3662), (15, 148): (0.0624, 0.1605), (0, 20): (0.0, 0.1611), (1, 29): (0.0061, 0.1718)}
    for (successes, trials), (lower, upper) in examples.items():
        found = wilson(Tally(float(successes), float(trials)))
        assert (found.lower, found.upper) == (pytest.approx(lower, abs=1e-4), pytest.approx(upper, abs=1e-4))
    assert wilson(Tally()) == Interval(0.0, 1.0)


@given(st.floats(-1e18, 1e18), st.floats(0, 1e16))
def test_what_was_seen_fades_and_never_grows(elapsed: float, more: float) -> None:
    assert 0.0 <= fading(elapsed + more) <= fading(elapsed) <= 1.0


def test_after_a_half_life_half_is_left() -> None:
    assert fading(HALF_LIFE_DAYS * DAY) == pytest.approx(0.5)
    assert fading(2 * HALF_LIFE_DAYS * DAY) == pytest.approx(0.25)
    assert fading(0) == fading(-DAY) == 1.0


@given(tallies, st.floats(0.0, 1.0), st.floats(-1e16, 1e16))
def test_an_observation_moves_the_rate_towards_itself_and_weighs_at_most_one(
    before: Tally, success: float, elapsed: float
) -> None:
    after = observed(before, success, elapsed=elapsed)
    assert 0.0 <= after.successes <= after.trials + 1e-9
    assert after.trials <= before.trials + 1.0
    if before.trials > 1e-6:
        assert abs(after.rate - success) <= abs(before.rate - success) + 1e-9


def test_however_many_observations_there_are_ten_make_up_what_decides() -> None:
    operative = Tally()
    for _ in range(1_000):
        operative = observed(operative, 1.0, elapsed=0)
    assert operative.trials == pytest.approx(1 / (1 - DISCOUNT))


def test_an_old_observation_takes_nothing_from_newer_ones() -> None:
    before = Tally(3.0, 4.0)
    assert observed(before, 1.0, elapsed=-HALF_LIFE_DAYS * DAY) == Tally(3.5, 4.5)


def test_little_is_known_of_few_others() -> None:
    assert rest(0, 0) == 0.5
    assert rest(1, 1) == pytest.approx(0.6)
    assert rest(900, 1000) == pytest.approx(0.9, abs=0.002)


def test_bounds_agree_with_drawn_posteriors() -> None:
    chance = Random(7)
    drawn = sorted(chance.betavariate(8.5, 2.5) for _ in range(20_000))
    interval = Tally(8.0, 10.0).interval(0.9)
    assert (interval.lower, interval.upper) == (pytest.approx(drawn[1_000], abs=0.01), pytest.approx(drawn[19_000], abs=0.01))
