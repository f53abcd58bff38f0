"""Columns over time, and figures in words."""

import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma_cli.report.charts import MOST_COLUMNS, column_chart, columns, nice_top
from alma_cli.report.words import kind, many, percent, size
from drawn import STYLE, drawn

START = date(2026, 1, 1)


@pytest.mark.parametrize(
    ("days", "unit", "count"), [(0, "day", 1), (47, "day", 48), (48, "week", 8), (400, "month", 14), (4_000, "year", 11)]
)
def test_the_finest_unit_that_fits_is_taken_without_gaps(days: int, unit: str, count: int) -> None:
    found, shown = columns([(START, "a", 1), (START + timedelta(days=days), "b", 2)])
    assert (found, len(shown)) == (unit, count)


@pytest.mark.slow
@given(st.lists(st.tuples(st.dates(date(2000, 1, 1), date(2030, 1, 1)), st.sampled_from("abc"), st.integers(1, 9)), max_size=30))
def test_nothing_is_lost_or_made_up(counts: list[tuple[date, str, int]]) -> None:
    _, shown = columns(counts)

    assert len(shown) <= MOST_COLUMNS
    assert sum(column.total for column in shown) == sum(count for _, _, count in counts)


@given(st.integers(0, 10**9))
def test_an_axis_holds_what_is_drawn_and_not_far_more(most: int) -> None:
    assert max(most, 4) <= nice_top(most) <= max(2 * most, 4)


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 bytes"), (999, "999 bytes"), (1_500, "1.5 kB"), (176_000, "176 kB"), (5_300_000, "5.3 MB"), (2 * 10**9, "2.0 GB")],
)
def test_sizes_in_words(count: int, told: str) -> None:
    assert size(count) == told


def test_numbers_and_nouns() -> None:
    assert (many(1, "memory"), many(2, "memory"), many(1_000, "agent")) == ("1 memory", "2 memories", "1,000 agents")
    assert (percent(1, 3), percent(0, 0)) == ("33 %", "–")
    assert (kind("anti_pattern"), kind("meeting_note")) == ("anti-pattern", "meeting note")


def test_columns_are_as_high_as_what_they_stand_for() -> None:
    _, shown = columns([(START, "a", 10), (START, "b", 30), (START + timedelta(days=1), "a", 20)])
    markup = drawn("draw", column_chart(shown, {"a": "c1", "b": "c2"}, "memories"))
    bars = [
        tuple(map(float, found))
        for found in re.findall(r'<rect x="[\d.]+%" y="([\d.]+)" width="[\d.]+%" height="([\d.]+)"', markup)
    ]
    (a_top, a_high), (b_top, b_high), (_, second) = bars

    assert b_high == pytest.approx(3 * a_high, abs=0.05)
    assert second == pytest.approx(2 * a_high, abs=0.05)
    assert b_top + b_high == pytest.approx(a_top, abs=0.05)
    assert "1 Jan 2026: 40 memories (10 a, 30 b)" in markup


@given(st.lists(st.tuples(st.dates(date(2025, 1, 1), date(2027, 1, 1)), st.just("a"), st.integers(1, 9)), min_size=1, max_size=9))
def test_columns_and_their_marks_stay_on_the_chart_and_one_alone_is_no_slab(counts: list[tuple[date, str, int]]) -> None:
    chart = column_chart(columns(counts)[1], {"a": "c1"}, "memories")
    boxes = [box for _, group in chart.groups for box in group]

    assert all(box.x >= 0 and box.x + box.width <= 100 and box.width < 10 for box in boxes)
    assert all(0 < x < 100 for x, _ in chart.marks)


def test_a_bar_is_cut_by_share() -> None:
    parts = "".join(drawn("part", amount, colour) for amount, colour in ((1, "good"), (0, "bad"), (2, "c8")))
    bar = drawn("bar", 4, "3 of 4", caller=lambda: parts)

    assert re.findall(r"--(whole|part): (\d+)", bar) == [("whole", "4"), ("part", "1"), ("part", "2")]
    assert "width: calc(100% * var(--part) / var(--whole))" in STYLE
