"""What is forecast of a bag of tools from judged ones."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma_learning.forecasts import LEAST_JUDGED, Bag, Foreseen, JudgedBag, doubt, forecast, likeness, surprise

SEARCH, BOOK, REFUND = ("search", True), ("book", True), ("refund", True)
FAILED_BOOK = ("book", False)

steps = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([True, False, None])), max_size=12)
bags = steps.map(Bag.of)
judged_bags = st.builds(JudgedBag, bags, st.sampled_from([0.0, 0.5, 1.0]))


def _judged(*given: tuple[list[tuple[str, bool | None]], float, int]) -> list[JudgedBag]:
    return [JudgedBag(Bag.of(tools), worth) for tools, worth, times in given for _ in range(times)]


def _forecast(*tools: tuple[str, bool | None], judged: list[JudgedBag]) -> Foreseen:
    found = forecast(Bag.of(tools), judged)
    assert found is not None
    return found


def test_with_too_few_judged_there_is_no_forecast() -> None:
    judged = _judged(([SEARCH], 1.0, LEAST_JUDGED - 1))
    assert forecast(Bag.of([SEARCH]), judged) is None
    assert forecast(Bag.of([SEARCH]), [*judged, judged[0]]) is not None


def test_what_used_the_tools_of_successes_is_forecast_above_what_used_those_of_failures() -> None:
    judged = _judged(([SEARCH, BOOK], 1.0, 8), ([SEARCH, REFUND], 0.0, 8))
    assert _forecast(SEARCH, BOOK, judged=judged).lower > 0.5
    assert _forecast(SEARCH, REFUND, judged=judged).upper < 0.5


def test_the_same_tool_that_failed_is_another_sign() -> None:
    judged = _judged(([BOOK], 1.0, 6), ([FAILED_BOOK], 0.0, 6))
    assert _forecast(BOOK, judged=judged).rate > 0.5 > _forecast(FAILED_BOOK, judged=judged).rate


def test_what_is_like_nothing_is_forecast_at_the_usual_rate_and_lies_anywhere() -> None:
    judged = _judged(([SEARCH], 1.0, 6), ([BOOK], 0.0, 2))
    found = _forecast(("sing", True), judged=judged)
    assert found.rate == pytest.approx((6 + 2) / (8 + 4))
    assert (found.lower, found.upper, found.judged) == (0.0, 1.0, 8)


def test_each_further_retry_of_a_tool_says_less() -> None:
    once, twice, ten, eleven = (Bag.of([SEARCH] * times + [BOOK]) for times in (1, 2, 10, 11))
    assert likeness(once, twice) < likeness(ten, eleven) < 1
    assert likeness(ten, Bag.of([SEARCH] * 20 + [BOOK])) > 0.75


def test_more_of_the_same_evidence_narrows_the_interval() -> None:
    few, many = (_forecast(SEARCH, judged=_judged(([SEARCH], 1.0, n), ([SEARCH], 0.0, n))) for n in (4, 40))
    assert many.upper - many.lower < (few.upper - few.lower) / 2


def test_a_partial_success_counts_half() -> None:
    assert _forecast(SEARCH, judged=_judged(([SEARCH], 0.5, 20))).rate == pytest.approx(0.5)


@given(one=bags, other=bags)
def test_likeness_is_even_and_one_for_the_same(one: Bag, other: Bag) -> None:
    assert 0 <= likeness(one, other) <= 1 + 1e-9
    assert likeness(one, other) == pytest.approx(likeness(other, one))
    assert likeness(one, one) == pytest.approx(1)


@pytest.mark.slow
@given(bag=bags, judged=st.lists(judged_bags, min_size=LEAST_JUDGED, max_size=30))
def test_the_rate_lies_in_its_interval_whatever_was_judged(bag: Bag, judged: list[JudgedBag]) -> None:
    found = forecast(bag, judged)
    assert found is not None
    assert 0 <= found.lower <= found.rate <= found.upper <= 1


@pytest.mark.slow
@given(bag=bags, judged=st.lists(judged_bags, min_size=LEAST_JUDGED, max_size=30), better=st.integers(0))
def test_a_better_verdict_never_lowers_the_forecast(bag: Bag, judged: list[JudgedBag], better: int) -> None:
    place = better % len(judged)
    raised = [JudgedBag(one.bag, 1.0) if number == place else one for number, one in enumerate(judged)]
    before, after = forecast(bag, judged), forecast(bag, raised)
    assert before is not None
    assert after is not None
    assert after.rate >= before.rate - 1e-9


@pytest.mark.parametrize(
    ("rate", "lower", "upper", "expected"),
    [(0.9, 0.7, 1.0, 0.3), (0.1, 0.0, 0.2, 0.2), (0.5, 0.4, 0.6, 0.6), (0.9, 0.0, 1.0, 1.0)],
)
def test_doubt_is_the_most_that_the_verdict_may_be_another(rate: float, lower: float, upper: float, expected: float) -> None:
    assert doubt(Foreseen(rate=rate, lower=lower, upper=upper, judged=9)) == pytest.approx(expected)


def test_without_a_forecast_doubt_is_whole_and_nothing_surprises() -> None:
    assert (doubt(None), surprise(None, 1.0)) == (1.0, 0.0)


def test_a_verdict_surprises_only_if_the_whole_interval_speaks_against_it() -> None:
    sure = Foreseen(rate=0.9, lower=0.7, upper=1.0, judged=9)
    unsure = Foreseen(rate=0.9, lower=0.4, upper=1.0, judged=9)
    assert surprise(sure, 0.0) == pytest.approx(0.9)
    assert [surprise(sure, 1.0), surprise(sure, 0.5), surprise(unsure, 0.0)] == [0.0, 0.0, 0.0]


def _made_world(seed: int, *, kinds: int, judged: int) -> tuple[Bag, list[JudgedBag], float]:
    """A bag, judged ones, and the rate of its kind: each kind of attempt uses some tools more than others, and succeeds at a rate of its own."""
    chance = random.Random(seed)
    profiles = [[chance.random() ** 4 for _ in "abcdefghijkl"] for _ in range(kinds)]
    rates = [chance.random() for _ in range(kinds)]

    def attempt() -> tuple[int, Bag]:
        kind = chance.randrange(kinds)
        tools = chance.choices("abcdefghijkl", profiles[kind], k=chance.randint(3, 14))
        return kind, Bag.of((tool, True) for tool in tools)

    known = [JudgedBag(bag, float(chance.random() < rates[kind])) for kind, bag in (attempt() for _ in range(judged))]
    kind, bag = attempt()
    return bag, known, rates[kind]


@pytest.mark.parametrize(("kinds", "judged"), [(3, 20), (3, 80), (8, 80)])
def test_the_interval_holds_the_rate_of_made_worlds(kinds: int, judged: int) -> None:
    held = 0
    for seed in range(200):
        bag, known, rate = _made_world(seed, kinds=kinds, judged=judged)
        found = forecast(bag, known)
        assert found is not None
        held += found.lower <= rate <= found.upper
    assert held / 200 >= 0.92
