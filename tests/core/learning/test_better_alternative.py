"""What to do instead: only what is known to do better, on tasks as near."""

from dataclasses import fields

import numpy as np
import pytest

from alma.learning.better_alternative import better_alternative, least_tasks_with_success
from alma.learning.experience import Advice

SURE = 1
"""The strategy that does better: the second."""


def advice(**changed: tuple[float, ...]) -> Advice:
    """A failing strategy, one that is known to do better, and one that is as good but hardly known."""
    known = {
        "expected": (0.2, 0.8, 0.85),
        "successes": (2.0, 16.0, 2.0),
        "trials": (12.0, 20.0, 2.0),
        "whole_successes": (2.0, 16.0, 2.0),
        "whole_trials": (12.0, 20.0, 2.0),
        "whole_tasks": (8.0, 9.0, 1.0),
        "lift": (-0.5, 0.45, 0.3),
        "others": (22.0, 14.0, 32.0),
        "better": (0.01, 0.99, 0.8),
        "near_successes": (0.7, 0.8, 0.8),
        "near_failures": (0.9, 0.7, -1.0),
    } | changed
    blank = (0.0, 0.0, 0.0)
    arrays = {field.name: np.array(known.get(field.name, blank)) for field in fields(Advice) if field.name != "base"}
    return Advice(**arrays, base=0.5)


def instead(of: Advice, *, same: float = 0.1, corroborated: bool = True) -> int | None:
    return better_alternative(
        of,
        0,
        same=np.array([1.0, same, 0.1]),
        corroborated=np.array([True, corroborated, True]),
    )


def test_what_is_known_to_do_better_is_named_before_what_may_do_better_still() -> None:
    assert instead(advice()) == SURE


def test_one_task_with_success_is_not_enough() -> None:
    assert instead(advice(whole_tasks=(8.0, 5.0, 1.0))) is None


def test_the_same_way_in_other_words_is_no_alternative() -> None:
    assert instead(advice(), same=0.5) is None


def test_an_agents_own_word_alone_makes_no_alternative() -> None:
    assert instead(advice(), corroborated=False) is None


@pytest.mark.parametrize(("nearest", "found"), [(0.76, SURE), (0.74, None)])
def test_its_success_is_about_as_near_as_the_failure(nearest: float, found: int | None) -> None:
    assert instead(advice(near_successes=(0.7, nearest, 0.8))) == found


def test_a_lift_that_may_be_none_is_not_enough() -> None:
    assert instead(advice(better=(0.01, 0.94, 0.8))) is None


def test_a_difference_to_the_failing_one_that_may_be_chance_is_not_enough() -> None:
    assert instead(advice(expected=(0.4, 0.8, 0.85), successes=(0.8, 1.6, 2.0), trials=(2.0, 2.0, 2.0))) is None


def test_nothing_does_better_than_itself() -> None:
    alone = advice(better=(1.0, 0.1, 0.1), expected=(0.9, 0.1, 0.1))
    assert instead(alone) is None


def test_of_several_the_one_with_the_highest_rate_is_named() -> None:
    successes, trials = (2.0, 16.0, 17.0), (12.0, 20.0, 20.0)
    plain = {"whole_successes": successes, "whole_trials": trials, "whole_tasks": (8.0, 9.0, 9.0)}
    two = advice(better=(0.01, 0.99, 0.99), successes=successes, trials=trials, **plain)
    assert better_alternative(two, 0, same=np.zeros(3), corroborated=np.ones(3, bool)) == 2


def test_tasks_with_success_are_bounded_by_tasks_and_failures() -> None:
    assert least_tasks_with_success(advice()).tolist() == [1.0, 5.0, 1.0]
