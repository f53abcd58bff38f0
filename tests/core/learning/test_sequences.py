"""Steps that a text puts in an order: what does them in another order does something else."""

import pytest

from alma import ALMA
from alma.learning.matching import same_strategy
from alma.learning.sequences import MOST_STEPS, is_out_of_order, steps_in

SEARCH, TESTS = "search → open_page", "run the tests, then push"


@pytest.mark.parametrize(
    ("named", "taken"),
    [
        (SEARCH, "open_page → search"),
        (SEARCH, "open_page -> search"),
        (SEARCH, "open_page → search → click"),
        ("search → open_page → extract", "search → extract → open_page"),
        ("search → open_page → extract", SEARCH),
        (TESTS, "push, then run the tests"),
        (TESTS, "Push and then run the tests again"),
        ("deploy then migrate then restart", "deploy then restart then migrate"),
    ],
)
def test_another_order_is_something_else(named: str, taken: str) -> None:
    assert is_out_of_order(steps_in(named), steps_in(taken))


@pytest.mark.parametrize(
    ("named", "taken"),
    [
        (SEARCH, "search => open_page"),
        (SEARCH, "search → click → open_page"),
        (SEARCH, "open_page → search → open_page"),
        (SEARCH, "open_page"),
        (SEARCH, "search(q='x') → open_page(1)"),
        (TESTS, "run the tests and then push to main"),
        (TESTS, "execute the test suite then push"),
        (TESTS, "push"),
        ("push", "run the tests, then push"),
    ],
)
def test_the_same_order_and_no_order_contradict_nothing(named: str, taken: str) -> None:
    assert not is_out_of_order(steps_in(named), steps_in(taken))


def test_a_text_of_very_many_steps_is_no_sequence() -> None:
    assert len(steps_in(" then ".join("ab" * (MOST_STEPS // 2)))) == MOST_STEPS
    assert steps_in(" then ".join("x" * 100_000)) == ()


def test_two_orders_of_the_same_tools_are_two_strategies() -> None:
    assert not same_strategy(SEARCH, "open_page → search", 1.0)
    assert same_strategy(SEARCH, "search -> open_page", 1.0)


@pytest.mark.parametrize("pattern", [SEARCH, "search -> open_page"])
def test_check_warns_of_a_sequence_in_its_order_alone(alma: ALMA, pattern: str) -> None:
    alma.add_anti_pattern("dev", pattern, "the page is stale by then")
    warned = [
        action
        for action in (SEARCH, "search -> open_page", "open_page → search", "open_page -> search")
        if alma.check("dev", action).warnings
    ]
    assert warned == [SEARCH, "search -> open_page"]


def test_both_orders_have_counts_of_their_own(alma: ALMA) -> None:
    for number in range(4):
        alma.learn("dev", f"Find page {number}", "success", SEARCH, task_type="browsing")
        alma.learn("dev", f"Find page {number}", "failure", "open_page → search", task_type="browsing")
    rows = {row.strategy: (row.successes, row.trials) for row in alma.strategies("Find page 9", "dev", task_type="browsing")}
    assert rows == {SEARCH: (4, 4), "open_page → search": (0, 4)}
    assert [one.anti_pattern.pattern for one in alma.check("dev", "open_page → search").warnings] == ["open_page → search"]
    assert not alma.check("dev", SEARCH).warnings
