"""How far a rule is believed, in words: no more than its figures say."""

from dataclasses import replace

import pytest

from alma.evidence import Tally
from alma.learning.level_words import anti_pattern_name, anti_pattern_words, heuristic_words
from alma.learning.levels import Level, Row, Than, anti_pattern_level, discounted
from alma.learning.standing import Needed
from alma.types.kinds import Standing


def seen(successes: float, trials: float, tasks: int, *, rest: float | None = 0.4, better: float = 0.5) -> Row:
    weight = discounted(trials)
    rate = successes / trials
    recent = Tally(rate * weight, weight)
    return Row(Tally(successes, trials), recent, tasks, float(tasks), rest, better)


EIGHT = seen(8, 10, 5)


def test_a_candidate_is_told_with_its_counts() -> None:
    level = Level(Standing.CANDIDATE, Than.OTHERS, 0.85, 5)
    assert heuristic_words(EIGHT, level) == "worked 8 of 10 times on 5 tasks; candidate"


def test_what_is_likely_is_told_with_how_sure_it_is_and_over_how_many_tasks() -> None:
    level = Level(Standing.LIKELY, Than.OTHERS, 0.93, 5)
    assert heuristic_words(EIGHT, level) == (
        "worked 8 of 10 times on 5 tasks; likely: better than the others on such tasks (93 % sure, 5 tasks)"
    )
    assert anti_pattern_words(seen(1, 6, 4), replace(level, tasks=4)) == (
        "failed 5 of 6 times on 4 tasks; likely: worse than the others on such tasks (93 % sure, 4 tasks)"
    )


def test_what_was_compared_with_nothing_else_claims_to_be_better_than_nothing() -> None:
    level = Level(Standing.LIKELY, Than.HALF, 0.98, 5)
    assert heuristic_words(EIGHT, level).endswith("likely: works more often than not (98 % sure, 5 tasks)")
    assert anti_pattern_words(EIGHT, level).endswith("likely: fails more often than not (98 % sure, 5 tasks)")


def test_nothing_likely_is_told_as_certain() -> None:
    assert "(99 % sure" in heuristic_words(EIGHT, Level(Standing.LIKELY, Than.OTHERS, 1.0, 5))


def test_what_is_proven_is_told_with_its_tasks() -> None:
    assert heuristic_words(EIGHT, Level(Standing.PROVEN, Than.OTHERS, 1.0, 24)).endswith("; proven over 24 tasks")


def test_what_is_proven_for_one_task_says_so() -> None:
    level = Level(Standing.PROVEN, Than.OTHERS, 1.0, 24, alone=True)
    assert heuristic_words(seen(23, 24, 1), level) == "worked 23 of 24 times on 1 task; proven for this task alone, over 24 runs"


def test_one_time_is_told_in_the_singular() -> None:
    assert heuristic_words(seen(1, 1, 1), Level(Standing.CANDIDATE, Than.HALF, 0.8, 1)).startswith(
        "worked 1 of 1 time on 1 task;"
    )


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (seen(0, 2, 1, rest=None), "Avoid"),
        (seen(1, 6, 4, rest=0.8, better=0.01), "Avoid"),
        (seen(40, 51, 30, rest=0.97, better=0.001), "Fails more often than the others on such tasks"),
        (seen(4, 10, 10, rest=0.7, better=0.02), "Fails more often than the others on such tasks"),
    ],
)
def test_what_mostly_succeeds_is_never_avoid(row: Row, name: str) -> None:
    level = anti_pattern_level(row, Needed())
    assert level
    assert anti_pattern_name(row, level) == name


def test_what_may_succeed_half_the_time_and_has_no_comparison_fails_more_often_than_not() -> None:
    assert (
        anti_pattern_name(seen(4, 10, 5, rest=None), Level(Standing.CANDIDATE, Than.HALF, 0.8, 5)) == "Fails more often than not"
    )
