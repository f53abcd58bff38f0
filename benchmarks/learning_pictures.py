"""Draws what was measured of learning as SVG files: `python -m benchmarks.learning_pictures [--worlds N] [--folder docs/pictures]`.

`regret.svg`: the mean regret of four policies over 500 tasks, in worlds with wide gaps of all development vocabularies (`simulation.wording_worlds`).
`coverage.svg`: how often 95 % intervals hold the truth (`simulation.interval_coverage`). Both go through the public calls of ALMA. Bands and bars are
95 % bootstrap intervals over worlds.
"""

import argparse
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.arguments import positive, several
from benchmarks.measures import interval, mean
from benchmarks.simulation import interval_coverage, policies, regrets
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.public_policies import opened
from benchmarks.simulation.told import DEVELOPMENT, vocabulary
from benchmarks.simulation.wording_figures import COVERAGE_LIMITS
from benchmarks.simulation.wording_worlds import Kind, World, world

Curves = NDArray[np.float64]

ALMA_ROW = "ALMA, first row"
COLOURS = {
    ALMA_ROW: "#0072b2",
    regrets.THOMPSON: "#009e73",
    "plain vector memory": "#d55e00",
    "random": "#777777",
}
"""Policies with their colours, from a set that readers with any colour vision can tell apart (Okabe and Ito 2008)."""

CASES = {"told twice": "recorded twice", "told difficulty": "known difficulty"}
"""How cases are named for readers, where not as in `interval_coverage`."""

RESAMPLES = 1_000
WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 60, 190, 20, 50
TASKS_A_POINT = 10
TICKS_X, TICKS_REGRET, TICKS_COVERAGE = 5, 4, 6
LEAST_COVERAGE = 0.7


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and draws, as the command line says."""
    options = _parser().parse_args(arguments)
    embedder = CachedEmbedder("minilm")
    worlds = [
        world(vocabulary(name), Kind(), options.seed * 1000 + place) for name in DEVELOPMENT for place in range(options.worlds)
    ]
    curves = regret_curves(worlds, embedder, options.seed)
    covered = public_coverage(embedder, options.seed, options.cases)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "regret.svg").write_text(regret_picture(curves), encoding="utf-8")
    (options.folder / "coverage.svg").write_text(coverage_picture(covered, options.seed), encoding="utf-8")
    show(curves, covered, options.seed)


def show(curves: dict[str, Curves], covered: dict[str, list[float]], seed: int) -> None:
    """Prints what is drawn, with intervals and the number of worlds and cases."""
    for name, found in curves.items():
        low, high = (float(bound[-1]) for bound in _band(found))
        print(f"{name}: regret {found[:, -1].mean():.1f} ({low:.1f} to {high:.1f}), {len(found)} worlds")
    reference = curves[regrets.THOMPSON][:, -1].tolist()
    for name, found in curves.items():
        value, low, high = regrets.ratio(found[:, -1].tolist(), reference, seed)
        print(f"{name}: {value:.2f} of {regrets.THOMPSON} ({low:.2f} to {high:.2f})")
    for what, values in covered.items():
        low, high = interval(values, seed=seed)
        print(f"coverage, {what}: {mean(values):.3f} ({low:.3f} to {high:.3f}), {len(values)} cases")


def regret_curves(worlds: Sequence[World], embedder: CachedEmbedder, seed: int) -> dict[str, Curves]:
    """The regret of each policy up to each task: worlds × tasks."""
    makers = {**regrets.baselines(embedder), ALMA_ROW: regrets.by_public_calls(embedder)}
    return {
        name: np.array([_curve(makers[name], where, [seed, number, place]) for number, where in enumerate(worlds)])
        for place, name in enumerate(COLOURS)
    }


def public_coverage(embedder: CachedEmbedder, seed: int, cases: int) -> dict[str, list[float]]:
    """The shares of strategies whose interval holds the truth, by sort of case, in the table of the public calls."""
    words = vocabulary(DEVELOPMENT[0])
    with opened(embedder) as memory:
        agents = (f"agent {number}" for number in count())
        drawn = (case for number in range(cases) for case in interval_coverage.cases(words, seed, number))
        found = interval_coverage.coverage(drawn, lambda case: interval_coverage.by_public_calls(case, memory, next(agents)))
    return {what: [case.share for case in covered] for what, covered in found.items()}


def regret_picture(curves: dict[str, Curves]) -> str:
    """The mean of each policy as a line in its band."""
    tasks = next(iter(curves.values())).shape[1]
    bands = {name: _band(found) for name, found in curves.items()}
    most = max(float(high[-1]) for _, high in bands.values())
    top = float(np.ceil(most / 50) * 50)
    parts = [_axes("tasks", "regret", [f"{tasks * tick / TICKS_X:g}" for tick in range(TICKS_X + 1)], 0, top, TICKS_REGRET)]
    places = np.arange(0, tasks + 1, TASKS_A_POINT)
    for name, found in curves.items():
        low, high = bands[name]
        middle = found.mean(axis=0)
        lines = [
            [(_x(task / tasks), _y((0.0 if task == 0 else line[task - 1]) / top)) for task in places]
            for line in (low, high, middle)
        ]
        parts.append(f'<polygon points="{_points([*lines[0], *lines[1][::-1]])}" fill="{COLOURS[name]}" opacity="0.15"/>')
        parts.append(f'<polyline points="{_points(lines[2])}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
    labels = {name: _y(float(found.mean(axis=0)[-1]) / top) for name, found in curves.items()}
    parts += [_text(_x(1) + 8, place + 4, name, colour=COLOURS[name]) for name, place in _apart(labels).items()]
    return _svg(parts, f"Mean regret over {tasks} tasks in {len(next(iter(curves.values())))} worlds")


def coverage_picture(covered: dict[str, list[float]], seed: int) -> str:
    """A dot with its interval for each sort of case, with the limit as a short line, and 95 % as a dashed one."""
    span = 1 - LEAST_COVERAGE
    parts = [_axes("", "coverage", [], LEAST_COVERAGE, 1.0, TICKS_COVERAGE), _dashed((0.95 - LEAST_COVERAGE) / span)]
    for place, (what, values) in enumerate(covered.items()):
        x = _x((place + 0.5) / len(covered))
        low, high = interval(values, seed=seed)
        bottom, dot, top, limit = (
            _y(max(value - LEAST_COVERAGE, 0.0) / span) for value in (low, mean(values), high, COVERAGE_LIMITS[what])
        )
        parts.append(f'<line x1="{x:.1f}" y1="{bottom:.1f}" x2="{x:.1f}" y2="{top:.1f}" stroke="#0072b2" stroke-width="3"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{dot:.1f}" r="5" fill="#0072b2"/>')
        parts.append(
            f'<line x1="{x - 18:.1f}" y1="{limit:.1f}" x2="{x + 18:.1f}" y2="{limit:.1f}" stroke="#d55e00" stroke-width="2"/>'
        )
        parts.append(_text(x, HEIGHT - BOTTOM + 18, CASES.get(what, what), anchor="middle"))
    right = _x(1) + 8
    parts.append(_text(right, _y((0.95 - LEAST_COVERAGE) / span) + 4, "95 %"))
    parts.append(_text(right, HEIGHT - BOTTOM - 22, "dot: coverage by ALMA", colour="#0072b2"))
    parts.append(_text(right, HEIGHT - BOTTOM - 4, "short line: limit", colour="#d55e00"))
    return _svg(parts, f"Coverage of 95 % intervals, {min(map(len, covered.values()))} cases of each sort")


def _curve(make: regrets.Make, where: World, seed: Sequence[int]) -> NDArray[np.float64]:
    with make(where, np.random.default_rng(seed)) as policy:
        return np.cumsum([policies.step(policy, asked) for asked in where.asked])


def _band(curves: Curves) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The 95 % bootstrap interval of the mean over worlds, for each task."""
    chance = np.random.default_rng(0)
    drawn = np.stack([curves[chance.integers(len(curves), size=len(curves))].mean(axis=0) for _ in range(RESAMPLES)])
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    return low, high


def _apart(places: dict[str, float]) -> dict[str, float]:
    """Places of labels, moved down where two would overlap."""
    result: dict[str, float] = {}
    last = -np.inf
    for name in sorted(places, key=lambda name: places[name]):
        last = max(places[name], last + 16)
        result[name] = last
    return result


def _axes(x_name: str, y_name: str, x_ticks: Sequence[str], low: float, high: float, y_ticks: int) -> str:
    parts = [f'<path d="M{_x(0):.1f} {_y(1):.1f}V{_y(0):.1f}H{_x(1):.1f}" fill="none" stroke="#777777"/>']
    for tick in range(y_ticks + 1):
        share = tick / y_ticks
        parts.append(_text(_x(0) - 8, _y(share) + 4, f"{low + share * (high - low):.3g}", anchor="end"))
        parts.append(f'<path d="M{_x(0):.1f} {_y(share):.1f}H{_x(1):.1f}" stroke="#777777" opacity="0.2"/>')
    for tick, name in enumerate(x_ticks):
        parts.append(_text(_x(tick / (len(x_ticks) - 1)), HEIGHT - BOTTOM + 18, name, anchor="middle"))
    parts.append(_text(_x(0.5), HEIGHT - 10, x_name, anchor="middle"))
    middle = _y(0.5)
    parts.append(f'<g transform="rotate(-90 16 {middle:.1f})">{_text(16, middle, y_name, anchor="middle")}</g>')
    return "\n".join(parts)


def _dashed(share: float) -> str:
    return f'<path d="M{_x(0):.1f} {_y(share):.1f}H{_x(1):.1f}" stroke="#777777" stroke-dasharray="6 4"/>'


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _text(x: float, y: float, words: str, *, anchor: str = "start", colour: str = "#555555") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>' if words else ""


def _svg(parts: Sequence[str], title: str) -> str:
    """A picture that has its own ground, so that it can be read on a dark page, too."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13" role="img">'
    body = "\n".join(part for part in parts if part)
    return f'{head}\n<title>{title}</title>\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n{body}\n</svg>\n'


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning_pictures", description=__doc__)
    parser.add_argument("--worlds", type=several, default=4, help="of each vocabulary, for the regret (default: 4)")
    parser.add_argument("--cases", type=several, default=40, help="of each sort, for the coverage (default: 40)")
    parser.add_argument("--seed", type=positive, default=1, help="of all that is drawn (default: 1)")
    parser.add_argument(
        "--folder", type=Path, default=Path("docs/pictures"), help="where the pictures go (default: docs/pictures)"
    )
    return parser


if __name__ == "__main__":
    main()
