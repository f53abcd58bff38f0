"""Shares and where they lie, drawn on a scale from 0 to 1: one a line, or one after another over time."""

from collections.abc import Sequence
from dataclasses import dataclass

from alma.report.charts import HEIGHT, WIDTH
from alma.report.markup import Html, tag
from alma.types.strategies import Range

SCALE_WIDTH, SCALE_HEIGHT = 200, 20
_MARGIN = 7
_DOT = 9
_LEFT, _TOP, _BOTTOM = 52, 10, 26


@dataclass(frozen=True, slots=True)
class Point:
    """A share over time: what it is, its mark under the axis, and of how many it is."""

    label: str
    mark: str
    share: float
    interval: Range
    count: int


def scale_picture(share: float, interval: Range, others: float | None, colour: str, told: str) -> Html:
    """The share as a dot, its interval as a bar, and the rate of the others as a tick."""
    middle = SCALE_HEIGHT / 2
    left, right = _across(interval.lower), _across(interval.upper)
    return tag(
        "svg",
        tag("title", told),
        tag("line", x1=_across(0), x2=_across(1), y1=middle, y2=middle, class_="grid"),
        [tag("line", x1=_across(mark), x2=_across(mark), y1=middle - 3, y2=middle + 3, class_="grid") for mark in (0, 0.5, 1)],
        tag("rect", x=left, y=middle - 3, width=max(right - left, 1.0), height=6, rx=3, style=f"fill: {colour}; opacity: .4"),
        None if others is None else tag("line", x1=_across(others), x2=_across(others), y1=2, y2=SCALE_HEIGHT - 2, class_="tick"),
        _dot(_across(share), middle, colour),
        viewBox=f"0 0 {SCALE_WIDTH} {SCALE_HEIGHT}",
        role="img",
        aria_label=told,
        class_="scale",
    )


def scale_head() -> Html:
    """The scale's figures, to stand over a column of such pictures."""
    anchors = ((0, "0"), (0.5, "½"), (1, "1"))
    marks = [tag("text", text, x=_across(value), y=SCALE_HEIGHT - 6, text_anchor="middle") for value, text in anchors]
    return tag(
        "svg", marks, viewBox=f"0 0 {SCALE_WIDTH} {SCALE_HEIGHT}", role="img", aria_label="scale from 0 to 1", class_="scale"
    )


def run_chart(points: Sequence[Point], colour: str, what: str) -> Html:
    """The shares one after another, joined by a line, each with its interval and how many it is of."""
    step = (WIDTH - _LEFT) / len(points)
    places = [_LEFT + (number + 0.5) * step for number in range(len(points))]
    pairs = zip(places, places[1:], points, points[1:], strict=False)
    joined = [
        tag("line", x1=x, x2=to, y1=_up(one.share), y2=_up(following.share), style=f"stroke: {colour}; stroke-width: 2")
        for x, to, one, following in pairs
    ]
    every = max(1, -(-len(points) // 10))
    drawn = [
        _point(point, x, colour, is_told=number % every == every // 2)
        for number, (point, x) in enumerate(zip(points, places, strict=True))
    ]
    drawing = tag("svg", _grid(), joined, drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=what)
    return tag("div", tag("div", drawing, class_="chart"), class_="wide")


def _point(point: Point, x: float, colour: str, *, is_told: bool) -> Html:
    upper, lower = _up(point.interval.upper), _up(point.interval.lower)
    return tag(
        "g",
        tag("title", f"{point.label}: {point.share:.0%} of {point.count:,} ({told(point.interval)})"),
        tag("rect", x=x - 4, y=upper, width=8, height=max(lower - upper, 1.0), rx=4, style=f"fill: {colour}; opacity: .25"),
        _dot(x, _up(point.share), colour),
        tag("text", point.mark, x=x, y=HEIGHT - 8, text_anchor="middle") if is_told else None,
    )


def _dot(x: float, y: float, colour: str) -> Html:
    return tag("rect", x=x - _DOT / 2, y=y - _DOT / 2, width=_DOT, height=_DOT, rx=_DOT / 2, style=f"fill: {colour}")


def _grid() -> list[Html]:
    lines = []
    for quarter in range(5):
        y = _up(quarter / 4)
        lines.append(tag("line", x1=_LEFT, x2=WIDTH, y1=y, y2=y, class_="grid"))
        lines.append(tag("text", f"{25 * quarter} %", x=_LEFT - 8, y=y + 4, text_anchor="end"))
    return lines


def _across(value: float) -> float:
    return _MARGIN + value * (SCALE_WIDTH - 2 * _MARGIN)


def _up(value: float) -> float:
    return HEIGHT - _BOTTOM - value * (HEIGHT - _TOP - _BOTTOM)


def told(interval: Range) -> str:
    """An interval in words."""
    return f"{interval.lower:.0%} to {interval.upper:.0%}"
