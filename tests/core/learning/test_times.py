"""When an outcome happened, and when it was told: neither the future nor a late report bends what is believed."""

from datetime import timedelta

import pytest

from alma import ALMA
from facade import ManualClock
from learned import anti_patterns, evidence, heuristics


def learn(alma: ALMA, outcome: str, **more: object) -> None:
    alma.learn("dev", "Deploy", outcome, "by hand", task_type="deploying", **more)


def test_a_success_of_the_far_future_does_not_silence_the_failures_that_follow(alma: ALMA, clock: ManualClock) -> None:
    for _ in range(3):
        learn(alma, "success", timestamp=clock.now + timedelta(days=3650))
    assert [rule.last_validated for rule in heuristics(alma)] == [clock.now]
    for _ in range(10):
        clock.advance(hours=1)
        learn(alma, "failure")
    assert heuristics(alma) == []
    assert [rule.last_seen for rule in anti_patterns(alma)] == [clock.now]


def test_a_failure_of_the_far_future_is_outweighed_like_any_other(alma: ALMA, clock: ManualClock) -> None:
    for _ in range(2):
        learn(alma, "failure", timestamp=clock.now + timedelta(days=36500))
    for _ in range(10):
        clock.advance(hours=1)
        learn(alma, "success")
    assert anti_patterns(alma) == []
    assert len(heuristics(alma)) == 1


def test_evidence_written_by_a_clock_that_was_ahead_follows_what_comes_after(alma: ALMA, clock: ManualClock) -> None:
    clock.advance(days=3650)
    for _ in range(3):
        learn(alma, "success")
    clock.advance(days=-3650)
    for _ in range(10):
        clock.advance(hours=1)
        learn(alma, "failure")
    assert heuristics(alma) == []
    (seen,) = evidence(alma)
    assert seen.observed_at == int(clock.now.timestamp()) * 1_000_000


def test_what_happened_day_by_day_and_is_told_at_once_counts_as_if_it_was_told_day_by_day(alma: ALMA, clock: ManualClock) -> None:
    first = clock.now - timedelta(days=40)
    days = [first + timedelta(days=day) for day in range(40)]
    outcome = {"agent": "dev", "task": "Deploy", "outcome": "failure", "strategy_used": "by hand"}
    alma.learn_many({**outcome, "timestamp": day} for day in days)
    clock.now = first
    for day in days:
        clock.now = day
        alma.learn(**{**outcome, "agent": "eve"})
    told, lived = evidence(alma, "dev")[0], evidence(alma, "eve")[0]
    assert told.operative == lived.operative
    assert told.operative.trials > 9


def test_a_loop_is_one_piece_of_news_whatever_its_time(alma: ALMA, clock: ManualClock) -> None:
    then = clock.now - timedelta(days=3)
    for second in range(40):
        learn(alma, "failure", timestamp=then + timedelta(seconds=second))
    assert evidence(alma)[0].operative.trials == pytest.approx(1 + 0.9 + 0.9**2 + 0.9**3 + 0.9**4, rel=1e-3)
