"""When an outcome happened, and when it was told: neither the future nor a late report bends what is believed."""

from datetime import timedelta

from alma import ALMA
from facade import ManualClock
from learned import anti_patterns, heuristics


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
    assert [(rule.occurrence_count, rule.success_count) for rule in anti_patterns(alma)] == [(10, 3)]


def test_what_happened_day_by_day_and_is_told_at_once_counts_as_if_it_was_told_day_by_day(alma: ALMA, clock: ManualClock) -> None:
    first = clock.now - timedelta(days=40)
    days = [first + timedelta(days=day) for day in range(40)]
    outcome = {"agent": "dev", "task": "Deploy", "outcome": "failure", "strategy_used": "by hand"}
    alma.learn_many({**outcome, "timestamp": day} for day in days)
    for clock.now in days:
        alma.learn(**{**outcome, "agent": "eve"})

    told, lived = (alma.strategies("Deploy", agent)[0] for agent in ("dev", "eve"))

    assert (told.expected, told.interval, told.recent_rate) == (lived.expected, lived.interval, lived.recent_rate)
    assert told.last_used == lived.last_used


def test_a_loop_of_equal_failures_is_counted_whole_and_believed_no_more_than_a_few(alma: ALMA, clock: ManualClock) -> None:
    then = clock.now - timedelta(days=3)
    for second in range(40):
        learn(alma, "failure", timestamp=then + timedelta(seconds=second))
    alma.learn_many(
        {
            "agent": "eve",
            "task": f"Deploy {n}",
            "outcome": "failure",
            "strategy_used": "by hand",
            "timestamp": then + timedelta(hours=n),
        }
        for n in range(40)
    )

    looped, real = alma.strategies("Deploy", "dev")[0], alma.strategies(agent="eve")[0]

    assert looped.trials == real.trials == 40
    assert looped.interval.upper > real.interval.upper
