"""What a person should judge first."""

import pytest

from alma import ALMA, ValidationError
from alma.types import ReviewReport
from attempts import BAD, GOOD, ended, judge
from facade import ManualClock, held, refused

NEW = ("sing", "dance")


def _ids(report: ReviewReport) -> tuple[list[str], list[str]]:
    return [item.episode.id for item in report.unjudged], [item.episode.id for item in report.surprising]


def test_an_empty_project_has_nothing_to_judge(alma: ALMA) -> None:
    assert alma.review() == ReviewReport(unjudged=(), surprising=(), unjudged_count=0, surprising_count=0)


def test_what_is_like_nothing_judged_comes_before_what_can_be_foreseen(alma: ALMA, clock: ManualClock) -> None:
    judge(alma, 8)
    strange = ended(alma, NEW)
    clock.advance(minutes=1)
    foreseen = ended(alma, GOOD)
    assert _ids(alma.review()) == ([strange, foreseen], [])


@pytest.mark.slow
def test_what_lies_between_successes_and_failures_comes_before_what_is_sure(alma: ALMA, clock: ManualClock) -> None:
    judge(alma, 20)
    between = ended(alma, (*GOOD, "refund"))
    clock.advance(minutes=1)
    sure = ended(alma, BAD)
    assert _ids(alma.review())[0] == [between, sure]


def test_without_enough_verdicts_the_newest_come_first_and_have_no_forecast(alma: ALMA, clock: ManualClock) -> None:
    ids = []
    for _ in range(3):
        ids.append(ended(alma, GOOD))
        clock.advance(minutes=1)
    report = alma.review()
    assert _ids(report)[0] == ids[::-1]
    assert [(item.forecast, item.priority) for item in report.unjudged] == [(None, 1.0)] * 3


def test_an_episode_to_judge_is_as_it_is_read_elsewhere(alma: ALMA) -> None:
    judge(alma, 3)
    unjudged = ended(alma, GOOD)
    (item,) = alma.review().unjudged
    assert item.episode == alma.get_episode(unjudged)
    assert item.forecast == item.episode.forecast


def test_what_was_judged_otherwise_than_forecast_is_listed_with_the_forecast_made_without_it(alma: ALMA) -> None:
    judge(alma, 8)
    odd = ended(alma, GOOD, "failure")
    (item,) = alma.review().surprising
    assert (item.episode.id, item.episode.outcome, item.episode.forecast) == (odd, "failure", None)
    assert item.forecast is not None
    assert (item.forecast.judged, item.forecast.lower > 0.5) == (16, True)
    assert item.priority == pytest.approx(item.forecast.rate)


def test_a_partial_success_surprises_nobody(alma: ALMA) -> None:
    judge(alma, 8)
    ended(alma, GOOD, "partial")
    assert alma.review().surprising_count == 0


@pytest.mark.parametrize("verdict", ["failure", "success"])
def test_what_a_person_judged_is_not_asked_for_again(alma: ALMA, verdict: str) -> None:
    judge(alma, 8)
    odd, unjudged = ended(alma, GOOD, "failure"), ended(alma, NEW)
    assert _ids(alma.review()) == ([unjudged], [odd])
    alma.settle(odd, verdict, source="person")
    alma.settle(unjudged, verdict, source="person")
    assert _ids(alma.review()) == ([], [])


def test_an_agent_has_its_own_list(alma: ALMA) -> None:
    judge(alma, 8)
    judge(alma, 8, agent="other")
    own = ended(alma, NEW), ended(alma, GOOD, "failure")
    theirs = ended(alma, NEW, agent="other"), ended(alma, GOOD, "failure", agent="other")
    assert _ids(alma.review("clerk")) == ([own[0]], [own[1]])
    assert _ids(alma.review("other")) == ([theirs[0]], [theirs[1]])
    assert sorted(_ids(alma.review())[0]) == sorted([own[0], theirs[0]])
    assert _ids(alma.review("nobody")) == ([], [])


def test_the_limit_is_of_each_list_and_the_counts_are_of_all(alma: ALMA) -> None:
    judge(alma, 12)
    for _ in range(3):
        ended(alma, NEW)
        ended(alma, GOOD, "failure")
    report = alma.review(limit=2)
    assert [len(one) for one in _ids(report)] == [2, 2]
    assert (report.unjudged_count, report.surprising_count) == (3, 3)


def test_a_review_writes_nothing(alma: ALMA) -> None:
    judge(alma, 3)
    ended(alma, NEW)
    before = held(alma)
    alma.review()
    assert held(alma) == before


def test_an_erased_outcome_is_not_asked_for(alma: ALMA) -> None:
    judge(alma, 8)
    odd = ended(alma, GOOD, "failure")
    alma.purge([str(alma.get_episode(odd).outcome_id)])
    assert alma.review().surprising_count == 0


@pytest.mark.parametrize("given", [{"limit": 0}, {"limit": "many"}, {"agent": 3.5}])
def test_bad_input_is_refused(alma: ALMA, given: dict[str, object]) -> None:
    with refused(alma, ValidationError):
        alma.review(**given)
