"""Shares and their intervals on a scale from 0 to 1, as coordinates: one in a row, or several over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from alma.types.overview import RunsView
from alma.types.strategies import Range, StrategyRecord
from alma_cli.report.charts import Box, Chart, spread, up
from alma_cli.report.words import day, tone

_MARGIN, _LENGTH, _MIDDLE = 7, 186, 10
_DOT = 9
_NEUTRAL = "c1"


@dataclass(frozen=True, slots=True)
class Scale:
    """A share as a dot, and its interval as a bar."""

    title: str
    interval: Box
    dot: Box


def scale(row: StrategyRecord) -> Scale:
    """Returns the picture of a strategy's rate, with its figures as text."""
    title = f"{row.rate:.0%}, at 95 % {_in_words(row.interval)}"
    colour = tone(row.verdict) if tone(row.verdict) in ("good", "bad") else _NEUTRAL
    left, right = _across(row.interval.lower), _across(row.interval.upper)
    interval = Box(left, _MIDDLE - 3, max(right - left, 1.0), 6, colour, rx=3, opacity=0.4)
    return Scale(title, interval, _dot(_across(row.rate), _MIDDLE, colour))


def run_chart(groups: Sequence[RunsView]) -> Chart:
    """Returns the shares of successes in sequence, joined by a line, each with its interval and its number of runs."""
    step = 100 / len(groups)
    places = [(number + 0.5) * step for number in range(len(groups))]
    points, marks, titled, last = [], [], [], 0
    for x, group in zip(places, groups, strict=True):
        first, last = last + 1, last + group.trials
        points.append((x, up(group.share)))
        marks.append((x, f"{last:,}"))
        titled.append((f"attempts {first:,} to {last:,}, {_point_title(group)}", _point(x, group)))
    lines = [(up(quarter / 4), f"{25 * quarter} %") for quarter in range(5)]
    return Chart("share of successes over runs", lines, spread(marks, most=8), titled, list(pairwise(points)))


def _point_title(group: RunsView) -> str:
    span = day(group.first) if group.first.date() == group.last.date() else f"{day(group.first)} to {day(group.last)}"
    return f"{span}: {group.share:.0%} of {group.trials:,} ({_in_words(group.interval)})"


def _point(x: float, group: RunsView) -> list[Box]:
    upper, lower = up(group.interval.upper), up(group.interval.lower)
    height = max(lower - upper, 1.0)
    dot = Box(x, up(group.share) - _DOT / 2, _DOT, _DOT, _NEUTRAL, rx=_DOT / 2, is_mark=True)
    return [Box(x, upper, 8, height, _NEUTRAL, rx=4, opacity=0.25, is_mark=True), dot]


def _dot(x: float, y: float, colour: str) -> Box:
    return Box(x - _DOT / 2, y - _DOT / 2, _DOT, _DOT, colour, rx=_DOT / 2)


def _across(value: float) -> float:
    return _MARGIN + value * _LENGTH


def _in_words(interval: Range) -> str:
    return f"{interval.lower:.0%} to {interval.upper:.0%}"
