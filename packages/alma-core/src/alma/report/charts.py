"""Charts as inline SVG, and bars of plain elements. Each says its figures in words as well (`title`)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from alma.report.markup import Html, join, tag

MOST_COLUMNS = 48
WIDTH, HEIGHT = 1000, 230
_LEFT, _TOP, _BOTTOM = 44, 10, 26


@dataclass(frozen=True, slots=True)
class Column:
    """One stretch of time, what it is called at length and under the axis, and how much of what falls into it."""

    label: str
    mark: str
    parts: Mapping[str, int]

    @property
    def total(self) -> int:
        """The height of the column."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class _Unit:
    name: str
    start: Callable[[date], date]
    following: Callable[[date], date]
    label: str
    mark: str


def _month(day: date) -> date:
    return day.replace(day=1)


_UNITS = (
    _Unit("day", lambda day: day, lambda day: day + timedelta(days=1), "%-d %b %Y", "%-d %b"),
    _Unit(
        "week",
        lambda day: day - timedelta(days=day.weekday()),
        lambda day: day + timedelta(days=7),
        "week of %-d %b %Y",
        "%-d %b",
    ),
    _Unit("month", _month, lambda day: _month(day + timedelta(days=31)), "%b %Y", "%b %Y"),
    _Unit("year", lambda day: day.replace(month=1, day=1), lambda day: day.replace(year=day.year + 1), "%Y", "%Y"),
)


def columns(counts: Sequence[tuple[date, str, int]]) -> tuple[str, list[Column]]:
    """The counts by day, week, month or year, whichever is the finest that needs at most 48 columns; and which it is. Empty ones between
    are there, too. No counts, no columns."""
    if not counts:
        return _UNITS[0].name, []
    first, last = min(day for day, _, _ in counts), max(day for day, _, _ in counts)
    for unit in _UNITS:
        starts = _starts(unit, first, last)
        if len(starts) <= MOST_COLUMNS or unit is _UNITS[-1]:
            break
    parts: dict[date, dict[str, int]] = {start: {} for start in starts[-MOST_COLUMNS:]}
    for day, name, count in counts:
        held = parts.get(unit.start(day))
        if held is not None:
            held[name] = held.get(name, 0) + count
    return unit.name, [Column(_told(start, unit.label), _told(start, unit.mark), held) for start, held in parts.items()]


def _starts(unit: _Unit, first: date, last: date) -> list[date]:
    starts = [unit.start(first)]
    while unit.following(starts[-1]) <= last and len(starts) < 10_000:
        starts.append(unit.following(starts[-1]))
    return starts


def _told(day: date, pattern: str) -> str:
    return day.strftime(pattern.replace("%-d", str(day.day)))


def column_chart(shown: Sequence[Column], colours: Mapping[str, str], what: str) -> Html:
    """Stacked columns over time; the parts of each from the bottom up in the order of `colours`."""
    top = nice_top(max(column.total for column in shown))
    step = (WIDTH - _LEFT) / len(shown)
    bars = [_column(column, colours, _LEFT + place * step, step, top, what) for place, column in enumerate(shown)]
    every = max(1, math.ceil(len(shown) / 6))
    labels = [
        tag("text", column.mark, x=_LEFT + (place + 0.5) * step, y=HEIGHT - 8, text_anchor="middle")
        for place, column in enumerate(shown)
        if place % every == every // 2
    ]
    drawing = tag("svg", _grid(top), bars, labels, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=f"{what} over time")
    return tag("div", tag("div", drawing, class_="chart"), class_="wide")


def nice_top(most: int) -> int:
    """The end of an axis that holds `most`: the next of 1, 2, 4, 5, 8 times a power of ten, at least 4."""
    power = int("1" + "0" * (len(str(max(most, 4))) - 1))
    return next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= max(most, 4))


def _height(count: float, top: int) -> float:
    return count / top * (HEIGHT - _TOP - _BOTTOM)


def _grid(top: int) -> Html:
    marks = [top * quarter / 4 for quarter in range(5)]
    lines = []
    for mark in marks:
        y = HEIGHT - _BOTTOM - _height(mark, top)
        lines.append(tag("line", x1=_LEFT, x2=WIDTH, y1=y, y2=y, class_="grid"))
        if mark == int(mark):
            lines.append(tag("text", f"{int(mark):,}", x=_LEFT - 8, y=y + 4, text_anchor="end"))
    return join(lines)


def _column(column: Column, colours: Mapping[str, str], x: float, step: float, top: int, what: str) -> Html:
    gap = min(6.0, step * 0.2)
    y = float(HEIGHT - _BOTTOM)
    parts = []
    for name, colour in colours.items():
        count = column.parts.get(name, 0)
        if count:
            height = _height(count, top)
            y -= height
            parts.append(tag("rect", x=x + gap / 2, y=y, width=step - gap, height=height, style=f"fill: {colour}"))
    told = ", ".join(f"{count:,} {name}" for name, count in column.parts.items() if count)
    return tag("g", tag("title", f"{column.label}: {column.total:,} {what}" + (f" ({told})" if told else "")), parts)


def share_bar(parts: Sequence[tuple[int, str]], whole: int, told: str) -> Html:
    """A bar cut into parts of the given amounts and colours; what is left of `whole` stays empty."""
    spans = [
        tag("span", style=f"width: {100 * amount / whole:.2f}%; background: {colour}")
        for amount, colour in parts
        if whole and amount
    ]
    return tag("div", spans, class_="bar", role="img", title=told, aria_label=told)


def legend(colours: Mapping[str, str], totals: Mapping[str, str]) -> Html:
    """What the colours mean, with a figure each."""
    return tag(
        "div",
        [
            tag("span", swatch(colour), join(name, " "), tag("span", totals.get(name, ""), class_="soft"))
            for name, colour in colours.items()
        ],
        class_="legend",
    )


def swatch(colour: str) -> Html:
    """A little square of a colour."""
    return tag("i", style=f"background: {colour}")
