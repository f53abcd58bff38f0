"""What one more outcome makes of evidence: pure values in, values out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma import Outcome
from alma.evidence import Tally
from alma.observing import (
    BURST,
    MOST_REASONS,
    Observation,
    blank_evidence,
    noted_reason,
    only,
    place_of,
    rebuilt,
    recounted,
    with_observation,
)
from alma.types.evidence import Evidence
from alma.types.identity import to_micros
from alma.types.kinds import Verdict

HOUR = 3_600_000_000
NOTHING = Evidence("e", "dev", "type:deploying", "0a" * 8, "blue-green")
verdicts = st.lists(st.sampled_from(list(Verdict)), max_size=20)


def seen(verdict: Verdict, at: int, *, error: str | None = None, event: str | None = None) -> Observation:
    return Observation(verdict, event or f"event {at}", error, at)


def after(told: list[Verdict]) -> Evidence:
    evidence = NOTHING
    for hour, verdict in enumerate(told):
        evidence = with_observation(evidence, seen(verdict, hour * HOUR))
    return evidence


@given(
    st.sampled_from(list(Verdict)),
    st.sampled_from([None, "status 404 at 10:15", "timed out after 31 s"]),
    st.sampled_from(["", "blue-green", "C++ -O2"]),
    st.sampled_from([None, "deploying"]),
    st.booleans(),
    st.timedeltas(timedelta(days=-30_000), timedelta(days=1)),
)
def test_the_only_outcome_of_a_task_is_evidence_like_any_other(
    verdict: Verdict, error: str | None, strategy: str, task_type: str | None, is_step: bool, before: timedelta
) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    outcome = Outcome(
        agent="dev",
        task_description="Deploy the ledger",
        outcome=verdict,
        strategy_used=strategy,
        task_type=task_type,
        error_message=error,
        timestamp=now + before,
        created_at=now,
    )
    blank = blank_evidence(outcome, place_of(outcome, "Deploy the ledger", is_step=is_step), "Deploy the ledger")
    seen = Observation.of(outcome, recorded_at=to_micros(now))
    assert only(outcome, "Deploy the ledger", is_step=is_step) == with_observation(blank, seen)


@given(verdicts)
def test_lifetime_counts_are_those_of_what_was_told(told: list[Verdict]) -> None:
    evidence = after(told)
    judged = [verdict for verdict in told if verdict is not Verdict.UNVERIFIED]
    worth = {Verdict.SUCCESS: 1.0, Verdict.PARTIAL: 0.5, Verdict.FAILURE: 0.0}
    assert evidence.lifetime == Tally(sum(worth[verdict] for verdict in judged), float(len(judged)))
    assert evidence.unverified == len(told) - len(judged)
    assert evidence.operative.trials <= evidence.lifetime.trials + 1e-9


def test_what_nobody_judged_makes_nothing_look_fresher() -> None:
    days = [(Verdict.SUCCESS, 0), (Verdict.UNVERIFIED, 179), (Verdict.SUCCESS, 180)]
    evidence = NOTHING
    for verdict, day in days:
        evidence = with_observation(evidence, seen(verdict, day * 24 * HOUR))
    assert evidence.operative.trials == pytest.approx(1 + 0.9 * 0.25)  # two half-lives


@given(verdicts.filter(bool), st.data())
def test_a_verdict_put_right_leaves_what_it_would_have_been(told: list[Verdict], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(told) - 1))
    now = data.draw(st.sampled_from(list(Verdict)))
    right = [*told[:place], now, *told[place + 1 :]]
    newest = [seen(verdict, hour * HOUR) for hour, verdict in enumerate(right)]
    assert rebuilt(recounted(after(told), told[place], now), newest) == after(right)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20)), max_size=60))
def test_of_a_run_of_equal_events_five_in_a_minute_decide(told: list[tuple[str, int]]) -> None:
    evidence, at, counted = NOTHING, 0, 0.0
    run, since, number = "", 0, 0
    for event, seconds in told:
        at += seconds * 1_000_000
        if event != run or at - since >= 60_000_000:
            run, since, number = event, at, 0
        before = evidence
        evidence = with_observation(evidence, seen(Verdict.FAILURE, at, event=event))
        assert (evidence.operative == before.operative) is (number >= BURST)
        number, counted = number + 1, counted + 1
    assert evidence.lifetime.trials == counted


@pytest.mark.parametrize(
    "change", [{"task_description": "x"}, {"strategy_used": "x"}, {"outcome": "partial"}, {"error_message": "x"}]
)
def test_an_event_is_told_by_task_strategy_verdict_and_error(change: dict[str, Any]) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    fields = {"agent": "dev", "task_description": "t", "strategy_used": "s", "outcome": "failure", "error_message": "e"}
    one, same, other = (
        Observation.of(Outcome(**{**fields, **more}, timestamp=now), recorded_at=1)  # type: ignore[arg-type]
        for more in ({}, {"duration_ms": 9}, change)
    )
    assert one.event == same.event != other.event


def test_a_success_tells_no_reason() -> None:
    failed = Outcome(agent="a", task_description="t", outcome=Verdict.FAILURE, error_message="it broke")
    worked = failed.model_copy(update={"outcome": Verdict.SUCCESS})
    assert [Observation.of(outcome, recorded_at=1).error for outcome in (failed, worked)] == ["it broke", None]


@given(st.lists(st.tuples(st.text("abcdefgh ", min_size=1, max_size=12), st.integers(0, 100)), max_size=40))
def test_of_reasons_few_are_kept_and_the_newest_always(told: list[tuple[str, int]]) -> None:
    reasons: tuple[tuple[str, int, int], ...] = ()
    for error, at in told:
        reasons = noted_reason(reasons, error, at)
        assert len(reasons) <= MOST_REASONS
        assert len({what for what, _, _ in reasons}) == len(reasons)
    if told and told[-1][0].strip():
        assert noted_reason(reasons, told[-1][0], 100)[0][1] >= 1


def test_errors_that_differ_in_what_varies_are_one_reason() -> None:
    reasons = noted_reason((), "Timeout after 31 s at 0x7f3a", 1)
    reasons = noted_reason(reasons, "Timeout after 45 s at 0x11ff", 2)
    assert [(number, last) for _, number, last in reasons] == [(2, 2)]
