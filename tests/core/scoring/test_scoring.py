"""The four factors, with their documented values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.config.settings import ScoringWeights
from alma.errors import ValidationError
from alma.scoring import FACTORS, RECALL_WEIGHTS, Profile, recency, success

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("days", "half_life", "expected"),
    [(0, 30, 1.0), (30, 30, 0.5), (60, 30, 0.25), (15, 30, 0.5**0.5), (7, 7, 0.5), (-5, 30, 1.0), (10**6, 30, 0.0)],
)
def test_recency_halves_with_every_half_life(days: int, half_life: float, expected: float) -> None:
    now = 1_800_000_000_000_000
    assert recency(now - days * DAY, now, half_life) == pytest.approx(expected)


@given(st.integers(-(10**17), 10**17), st.integers(-(10**17), 10**17), st.floats(0.01, 36_500))
def test_recency_lies_between_0_and_1(seen_at: int, now: int, half_life: float) -> None:
    assert 0 <= recency(seen_at, now, half_life) <= 1


@pytest.mark.parametrize(
    ("successes", "trials", "expected"), [(0, 0, 0.5), (1, 1, 2 / 3), (8, 10, 0.75), (0, 3, 0.2), (100, 100, 101 / 102)]
)
def test_the_success_of_a_heuristic_is_the_mean_after_its_record(successes: float, trials: float, expected: float) -> None:
    assert success("heuristic", successes, trials) == pytest.approx(expected)


def test_the_success_of_an_outcome_is_1_and_what_failed_counts_for_less() -> None:
    assert success("outcome", 1.0, 1.0) == 1.0
    assert success("outcome", 0.0, 1.0) == pytest.approx(0.7)
    assert success("outcome", 0.5, 1.0) == pytest.approx(0.85)


def test_an_outcome_that_nobody_judged_lies_between_success_and_failure() -> None:
    assert success("outcome", None, None) == success("outcome", 0.5, 1.0)


@pytest.mark.parametrize(("trials", "expected"), [(1, 0.5), (2, 2 / 3), (9, 0.9)])
def test_the_success_of_an_anti_pattern_is_how_established_it_is(trials: float, expected: float) -> None:
    assert success("anti_pattern", 0.0, trials) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["domain_knowledge", "user_preference", "a kind of tomorrow"])
def test_what_has_no_record_succeeds_fully(kind: str) -> None:
    assert success(kind, None, None) == 1.0


def test_the_usual_weights_are_those_that_are_documented() -> None:
    usual = ScoringWeights().model_dump()
    assert usual == {"similarity": 0.4, "recency": 0.3, "success": 0.2, "confidence": 0.1}
    assert RECALL_WEIGHTS == {"similarity": 1.0, "recency": 0.0, "success": 0.0, "confidence": 0.0}
    assert set(FACTORS) == set(usual)


def test_a_factor_that_is_not_named_weighs_nothing() -> None:
    assert Profile.of({"recency": 3, "success": 1}).weights == {
        "similarity": 0.0,
        "recency": 0.75,
        "success": 0.25,
        "confidence": 0.0,
    }


weights = st.dictionaries(st.sampled_from(FACTORS), st.floats(0, 1e6), min_size=1).filter(
    lambda given: sum(given.values()) > 1e-9
)
factors = st.fixed_dictionaries({factor: st.floats(0, 1) for factor in FACTORS})


@given(weights, factors)
def test_weights_add_up_to_1_and_a_score_lies_between_its_least_and_its_greatest_factor(
    given_weights: dict[str, float], values: dict[str, float]
) -> None:
    profile = Profile.of(given_weights)
    assert math.isclose(sum(profile.weights.values()), 1.0, abs_tol=1e-9)
    assert min(values.values()) - 1e-9 <= profile.score(values) <= max(values.values()) + 1e-9


@given(weights, factors, st.sampled_from(FACTORS), st.floats(0, 1))
def test_more_of_a_factor_never_lowers_a_score(
    given_weights: dict[str, float], values: dict[str, float], factor: str, more: float
) -> None:
    profile = Profile.of(given_weights)
    assert profile.score({**values, factor: max(values[factor], more)}) >= profile.score(values) - 1e-12


@pytest.mark.parametrize(
    "bad",
    [{}, {"similarity": 0}, {"similarity": -1}, {"similarity": math.nan}, {"recency": math.inf}, {"speed": 1}, {"recency": True}],
)
def test_bad_weights_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="weigh"):
        Profile.of(bad)
