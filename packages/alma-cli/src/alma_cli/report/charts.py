"""Charts over time as coordinates, which the templates draw: across in percent, so that a chart is as wide as its page, and up in pixels, so that its
letters stay readable. Each group of boxes has its figures as text, too."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

MOST_COLUMNS = 48
HEIGHT = 230
_TOP, _BOTTOM = 10, 26
_WIDEST = 8.0
"""Percent of a chart that a column takes at most: one day alone would be a slab."""


@dataclass(frozen=True, slots=True)
class Column:
    """One period, its long name, its name under the axis, and its counts by part."""

    label: str
    mark: str
    parts: Mapping[str, int]

    @property
    def total(self) -> int:
        """Height of the column."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of a drawing; `rx` rounds the corners. In a chart, `x` and `width` are percents, but for a mark: its `x` is that of its middle,
    and its `width` is in pixels."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    rx: float = 0.0
    opacity: float = 1.0
    is_mark: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing over time: `lines` across it as (y, label), `marks` under it as (x, label), groups of boxes as (title, boxes),
    and pairs of points to be joined."""

    what: str
    lines: Sequence[tuple[float, str]]
    marks: Sequence[tuple[float, str]]
    groups: Sequence[tuple[str, Sequence[Box]]]
    joined: Sequence[tuple[tuple[float, float], tuple[float, float]]] = ()
    height: int = HEIGHT


@dataclass(frozen=True, slots=True)
class Timeline:
    """Columns over time by day, week, month or year (`unit`), and their legend as (colour, name, figure)."""

    unit: str
    chart: Chart
    legend: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class _Unit:
    name: str
    start: Callable[[date], date]
    following: Callable[[date], date]
    label: str
    mark: str


_UNITS = (
    _Unit("day", lambda day: day, lambda day: day + timedelta(days=1), "%-d %b %Y", "%-d %b"),
    _Unit(
        "week",
        lambda day: day - timedelta(days=day.weekday()),
        lambda day: day + timedelta(days=7),
        "week of %-d %b %Y",
        "%-d %b",
    ),
    _Unit("month", lambda day: day.replace(day=1), lambda day: (day + timedelta(days=31)).replace(day=1), "%b %Y", "%b %Y"),
    _Unit("year", lambda day: day.replace(month=1, day=1), lambda day: day.replace(year=day.year + 1), "%Y", "%Y"),
)


def columns(counts: Sequence[tuple[date, str, int]]) -> tuple[str, list[Column]]:
    """Returns the counts by day, week, month or year, the finest unit that needs at most 48 columns, and the name of that unit. Empty
    columns in between are included. Without counts there are no columns."""
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
    return unit.name, [Column(_label(start, unit.label), _label(start, unit.mark), held) for start, held in parts.items()]


def _starts(unit: _Unit, first: date, last: date) -> list[date]:
    starts = [unit.start(first)]
    while unit.following(starts[-1]) <= last and len(starts) < 10_000:
        starts.append(unit.following(starts[-1]))
    return starts


def _label(day: date, pattern: str) -> str:
    return day.strftime(pattern.replace("%-d", str(day.day)))


def timeline(
    counts: Sequence[tuple[date, str, int]], colours: Mapping[str, str], what: str, totals: Mapping[str, int] | None = None
) -> Timeline | None:
    """Returns the chart of the counts, with a legend of `totals`, or else of the columns' sums; `None` without counts."""
    unit, shown = columns(counts)
    if not shown:
        return None
    sums = totals or {name: sum(column.parts.get(name, 0) for column in shown) for name in colours}
    legend = [(colour, name, f"{sums[name]:,}") for name, colour in colours.items()]
    return Timeline(unit, column_chart(shown, colours, what), legend)


def column_chart(shown: Sequence[Column], colours: Mapping[str, str], what: str) -> Chart:
    """Returns stacked columns over time; the parts of each from the bottom up in the order of `colours`."""
    top = nice_top(max(column.total for column in shown))
    step = min(100 / len(shown), _WIDEST)
    grid = [top * quarter / 4 for quarter in range(5)]
    return Chart(
        f"{what} over time",
        lines=[(up(value / top), f"{value:,.0f}" if value.is_integer() else "") for value in grid],
        marks=spread([((place + 0.5) * step, column.mark) for place, column in enumerate(shown)], most=6),
        groups=[(_title(column, what), _stack(column, colours, place * step, step, top)) for place, column in enumerate(shown)],
    )


def _title(column: Column, what: str) -> str:
    parts = ", ".join(f"{count:,} {name}" for name, count in column.parts.items() if count)
    return f"{column.label}: {column.total:,} {what}" + (f" ({parts})" if parts else "")


def _stack(column: Column, colours: Mapping[str, str], x: float, step: float, top: int) -> list[Box]:
    gap = min(0.6, step * 0.2)
    boxes, below = [], 0
    for name, colour in colours.items():
        count = column.parts.get(name, 0)
        if count:
            y = up((below + count) / top)
            boxes.append(Box(x + gap / 2, y, step - gap, up(below / top) - y, colour))
            below += count
    return boxes


def spread(marks: Sequence[tuple[float, str]], *, most: int) -> list[tuple[float, str]]:
    """Returns about `most` of the marks under a chart, evenly spread, so that they do not overlap on a phone either."""
    every = max(1, math.ceil(len(marks) / most))
    return list(marks[every // 2 :: every])


def up(share: float) -> float:
    """Returns the y of a share of the height of a chart: 0 at the bottom, 1 at the top."""
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def nice_top(most: int) -> int:
    """Returns the end of an axis that holds `most`: the next of 1, 2, 4, 5, 8 times a power of ten, at least 4."""
    power = int("1" + "0" * (len(str(max(most, 4))) - 1))
    return next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= max(most, 4))
