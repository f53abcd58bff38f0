"""How far a rule is believed, in words: no more than its figures say."""

from dataclasses import replace

import pytest

from alma.evidence import Tally
from alma.learning.level_words import anti_pattern_name, said_of
from alma.learning.levels import Level, Row, Than, anti_pattern_level, discounted
from alma.learning.standing import Needed
from alma.types.kinds import Standing


def seen(successes: float, trials: float, tasks: int, *, rest: float | None = 0.4, deviations: float = 0.0) -> Row:
    weight = discounted(trials)
    rate = successes / trials
    recent = Tally(rate * weight, weight)
    return Row(Tally(successes, trials), recent, tasks, float(tasks), rest, 0.1 * deviations, 0.1)


EIGHT = seen(8, 10, 5)


def words(row: Row, level: Level, *, works: bool = True) -> object:
    return said_of(row, level, works=works)["said"]


def test_a_candidate_is_told_as_one() -> None:
    assert words(EIGHT, Level(Standing.CANDIDATE, Than.OTHERS, 0.85, 5)) == "candidate"


def test_the_half_of_a_partial_success_is_kept_beside_whole_counts() -> None:
    assert said_of(seen(7.5, 10, 5), Level(Standing.CANDIDATE, Than.OTHERS, 0.85, 5), works=True)["successes"] == [7.5, 10]
    assert "successes" not in said_of(EIGHT, Level(Standing.CANDIDATE, Than.OTHERS, 0.85, 5), works=True)


def test_what_is_likely_is_told_with_how_sure_it_is_and_over_how_many_tasks() -> None:
    level = Level(Standing.LIKELY, Than.OTHERS, 0.93, 5)
    assert words(EIGHT, level) == "likely: better than the others on such tasks (93 % sure, 5 tasks)"
    assert words(EIGHT, replace(level, tasks=4), works=False) == (
        "likely: worse than the others on such tasks (93 % sure, 4 tasks)"
    )


def test_what_was_compared_with_nothing_else_claims_to_be_better_than_nothing() -> None:
    level = Level(Standing.LIKELY, Than.HALF, 0.98, 5)
    assert words(EIGHT, level) == "likely: works more often than not (98 % sure, 5 tasks)"
    assert words(EIGHT, level, works=False) == "likely: fails more often than not (98 % sure, 5 tasks)"


def test_nothing_likely_is_told_as_certain() -> None:
    assert "(99 % sure" in str(words(EIGHT, Level(Standing.LIKELY, Than.OTHERS, 1.0, 5)))


def test_what_is_proven_is_told_with_its_tasks() -> None:
    assert words(EIGHT, Level(Standing.PROVEN, Than.OTHERS, 1.0, 24)) == "proven over 24 tasks"


def test_one_task_is_told_in_the_singular() -> None:
    assert words(EIGHT, Level(Standing.PROVEN, Than.OTHERS, 1.0, 1)) == "proven over 1 task"


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (seen(0, 2, 1, rest=None), "Avoid"),
        (seen(1, 6, 4, rest=0.8, deviations=-2.3), "Avoid"),
        (seen(40, 51, 30, rest=0.97, deviations=-3.1), "Fails more often than the others on such tasks"),
        (seen(4, 10, 10, rest=0.7, deviations=-2.1), "Fails more often than the others on such tasks"),
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


def test_the_tasks_beside_the_counts_are_those_of_the_counts_also_where_the_proof_rests_on_more() -> None:
    said = said_of(EIGHT, Level(Standing.PROVEN, Than.OTHERS, 1.0, 24), works=True)
    assert (said["tasks"], said["said"]) == (5, "proven over 24 tasks")
