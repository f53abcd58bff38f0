"""A verdict put right: the evidence is what it would have been, had it been judged so at once."""

from dataclasses import replace

import pytest

from alma import ALMA
from alma.types.evidence import Evidence
from facade import ManualClock
from learned import anti_patterns, evidence


def attempt(alma: ALMA, key: str, verdict: str | None, error: str | None = None, *, agent: str = "dev") -> None:
    with alma.episode(agent, "Deploy", task_type="deploying", episode_id=key) as episode:
        episode.end(verdict, strategy="by hand", feedback=error)


def plain(seen: Evidence) -> Evidence:
    """The evidence without what tells it from that of another agent."""
    return replace(seen, id="", owner="", heuristic=None, anti_pattern=None)


def test_errors_of_what_turned_out_to_be_no_failure_are_not_told(alma: ALMA, clock: ManualClock) -> None:
    for number in range(4):
        clock.advance(hours=1)
        attempt(alma, f"run-{number}", "failure", "the registry denied the pull" if number < 2 else "the disk was full")
    for number in range(2):
        alma.settle(f"run-{number}", "unverified")
    (rule,) = anti_patterns(alma)
    assert rule.why_bad == "the disk was full"
    assert [what for what, _, _ in evidence(alma)[0].reasons] == ["the disk was full"]


def test_the_reason_of_a_verdict_that_came_late_is_told(alma: ALMA, clock: ManualClock) -> None:
    for number in range(2):
        clock.advance(hours=1)
        attempt(alma, f"run-{number}", "success")
        alma.settle(f"run-{number}", "failure", reason="rolled back in the night")
    assert [rule.why_bad for rule in anti_patterns(alma)] == ["rolled back in the night"]


def test_another_reason_for_the_same_verdict_is_told_instead(alma: ALMA, clock: ManualClock) -> None:
    for number in range(2):
        clock.advance(hours=1)
        attempt(alma, f"run-{number}", "failure", "something went wrong")
    for number in range(2):
        alma.settle(f"run-{number}", "failure", reason="the registry denied the pull")
    assert [rule.why_bad for rule in anti_patterns(alma)] == ["the registry denied the pull"]
    assert evidence(alma)[0].lifetime.trials == 2


@pytest.mark.parametrize("apart", [0, 10, 100])
def test_settling_one_of_a_row_leaves_the_evidence_of_a_row_that_was_judged_so_at_once(
    alma: ALMA, clock: ManualClock, apart: int
) -> None:
    for number in range(12):
        clock.advance(seconds=apart)
        attempt(alma, f"late-{number}", "failure", "it broke", agent="late")
        attempt(alma, f"once-{number}", "success" if number == 11 else "failure", "it broke", agent="once")
    alma.settle("late-11", "success")
    assert plain(evidence(alma, "late")[0]) == plain(evidence(alma, "once")[0])
