"""Draws what a call costs against the size of the store, as `benchmarks.speed` measured it: both axes are logarithmic.

A cost that grows as the store does would rise as steeply as the dashed line.
"""

from collections.abc import Sequence
from math import ceil, floor, log10

from benchmarks.gates import Gate

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 60, 190, 20, 50
LINES = {"retrieve": "#0072b2", "learn": "#009e73", "check": "#d55e00", "episode": "#777777"}
"""Calls with their colours, from a set that readers with any colour vision can tell apart (Okabe and Ito 2008)."""


def drawn(gates: Sequence[Gate], sizes: Sequence[int]) -> str:
    """Returns the picture of the middle of each call, for the sizes that were measured, as SVG."""
    found = {gate.what: gate.value for gate in gates}
    lines = {
        name: [(size, found[what]) for size in sizes if (what := f"{name} p50, {size:,} memories") in found] for name in LINES
    }
    values = [value for line in lines.values() for _, value in line]
    across, up = _decades(sizes), _decades(values)
    parts = [*_grid(across, up), _dashed(across, up)]
    for place, (name, line) in enumerate(lines.items()):
        points = [(_x(size, across), _y(value, up)) for size, value in line]
        parts.append(f'<polyline points="{_points(points)}" fill="none" stroke="{LINES[name]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{LINES[name]}"/>' for x, y in points]
        parts.append(_text(WIDTH - RIGHT + 12, TOP + 20 + 18 * place, name, colour=LINES[name]))
    parts.append(_text(WIDTH - RIGHT + 12, TOP + 20 + 18 * len(lines), "dashed: as the size"))
    return _svg(parts, "Milliseconds of a call, median, against memories in the store")


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten that enclose the values, which are positive."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return low, max(high, low + 1)


def _grid(across: tuple[int, int], up: tuple[int, int]) -> list[str]:
    left, right, bottom, top = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, TOP
    parts = [f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#777777"/>']
    parts += [
        _text(_x(10.0**power, across), bottom + 18, f"{10**power:,}", anchor="middle")
        for power in range(across[0], across[1] + 1)
    ]
    for power in range(up[0], up[1] + 1):
        y = _y(10.0**power, up)
        parts.append(_text(left - 8, y + 4, f"{10.0**power:g}", anchor="end"))
        parts.append(f'<path d="M{left} {y:.1f}H{right}" stroke="#777777" opacity="0.2"/>')
    parts.append(_text((left + right) / 2, HEIGHT - 10, "memories", anchor="middle"))
    parts.append(f'<g transform="rotate(-90 16 {(top + bottom) / 2})">{_text(16, (top + bottom) / 2, "ms", anchor="middle")}</g>')
    return parts


def _dashed(across: tuple[int, int], up: tuple[int, int]) -> str:
    """A line as steep as a cost in proportion to the size."""
    decades = min(across[1] - across[0], up[1] - up[0])
    x, y = _x(10.0 ** (across[1] - decades), across), _y(10.0 ** up[0], up)
    end_x, end_y = _x(10.0 ** across[1], across), _y(10.0 ** (up[0] + decades), up)
    return f'<path d="M{x:.1f} {y:.1f}L{end_x:.1f} {end_y:.1f}" stroke="#777777" stroke-dasharray="6 4"/>'


def _x(size: float, across: tuple[int, int]) -> float:
    return LEFT + (log10(size) - across[0]) / (across[1] - across[0]) * (WIDTH - LEFT - RIGHT)


def _y(value: float, up: tuple[int, int]) -> float:
    return HEIGHT - BOTTOM - (log10(value) - up[0]) / (up[1] - up[0]) * (HEIGHT - TOP - BOTTOM)


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _text(x: float, y: float, words: str, *, anchor: str = "start", colour: str = "#555555") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def _svg(parts: Sequence[str], title: str) -> str:
    """A picture that has its own ground, so that it can be read on a dark page, too."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13" role="img">'
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{title}</title>", ground, *parts, "</svg>"]) + "\n"
