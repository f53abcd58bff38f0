from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from alma import TemporalFilter

NOW = datetime(2026, 3, 4, 15, 30, tzinfo=UTC)  # a Wednesday
MIDNIGHT = datetime(2026, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("relative", "start", "end"),
    [
        ("last_hour", NOW - timedelta(hours=1), NOW),
        ("last_day", NOW - timedelta(days=1), NOW),
        ("last_week", NOW - timedelta(days=7), NOW),
        ("last_3_months", NOW - timedelta(days=90), NOW),
        ("last_quarter", NOW - timedelta(days=91), NOW),
        ("last_2_years", NOW - timedelta(days=730), NOW),
        ("today", MIDNIGHT, NOW),
        ("yesterday", MIDNIGHT - timedelta(days=1), MIDNIGHT - timedelta(microseconds=1)),
        ("this_week", datetime(2026, 3, 2, tzinfo=UTC), NOW),
        ("this_month", datetime(2026, 3, 1, tzinfo=UTC), NOW),
        ("this_year", datetime(2026, 1, 1, tzinfo=UTC), NOW),
    ],
)
def test_a_relative_time_counts_from_now(relative: str, start: datetime, end: datetime) -> None:
    assert TemporalFilter(relative=relative).interval(NOW) == (start, end)


def test_start_and_end_are_taken_as_they_are_and_naive_ones_as_utc() -> None:
    given = TemporalFilter(start=datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point

    assert given.interval(NOW) == (datetime(2026, 1, 1, tzinfo=UTC), None)
    assert TemporalFilter().interval(NOW) == (None, None)


@pytest.mark.parametrize(
    "fields",
    [
        {"relative": "last_fortnight"},
        {"relative": "last_0_days"},
        {"start": NOW, "end": MIDNIGHT},
    ],
    ids=["unknown", "none", "order"],
)
def test_a_filter_that_makes_no_sense_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TemporalFilter(**fields)


def test_given_times_decide_over_a_relative_one() -> None:
    assert TemporalFilter(relative="last_week", start=MIDNIGHT, end=NOW).interval(NOW) == (MIDNIGHT, NOW)
    assert TemporalFilter(relative="yesterday", end=NOW).interval(NOW) == (None, NOW)
