"""What was learned, on the page: shares with their intervals as pictures."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA
from alma.report import html_report
from alma.report.rates import Point, run_chart, scale_picture
from alma.types.strategies import Range

TASK = "Deploy the auth service"


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as opened:
        yield opened


def numbers(markup: str, element: str, name: str) -> list[float]:
    """An attribute of every element of a name."""
    return [
        float(value) for found in re.findall(rf"<{element} [^>]*>", markup) for value in re.findall(rf'\b{name}="([^"]*)"', found)
    ]


def test_a_dot_a_bar_and_a_tick_stand_where_the_figures_are() -> None:
    drawn = scale_picture(0.5, Range(lower=0.25, upper=0.75), 1.0, "red", "half")
    bar, dot = numbers(drawn, "rect", "x")
    width, size = numbers(drawn, "rect", "width")

    assert (bar, bar + width) == (53.5, 146.5)
    assert dot + size / 2 == 100
    assert '<line x1="193" x2="193" y1="2" y2="18" class="tick"/>' in drawn
    assert "<title>half</title>" in drawn


def test_without_others_there_is_no_tick() -> None:
    assert "tick" not in scale_picture(1.0, Range(lower=0.5, upper=1.0), None, "red", "all")


def test_points_over_time_are_joined_and_say_of_how_many_they_are() -> None:
    points = [Point(f"group {n}", str(n), n / 4, Range(lower=0.0, upper=1.0), 10) for n in range(5)]
    drawn = run_chart(points, "red", "success")
    heights = numbers(drawn.split("<g>")[0].split("end")[-1], "line", "y1")

    assert heights == sorted(heights, reverse=True)
    assert len(heights) == 4
    assert "<title>group 4: 100% of 10 (0% to 100%)</title>" in drawn


def test_strategies_have_verdict_counts_picture_lift_and_reason(alma: ALMA) -> None:
    for number in range(24):
        told = {"agent": "victor", "task": f"Deploy service {number}", "task_type": "deploy"}
        alma.learn(**told, outcome="success", strategy_used="blue-green deployment")
        error = f"ImagePullBackOff in run {number}"
        alma.learn(**told, outcome="failure", strategy_used="rolling update", error_message=error)
    page = html_report(alma.overview(verify=False))

    for words in (
        ">works<",
        ">fails<",
        "24 of 24",
        "0 of 24",
        "Why: ImagePullBackOff in run",
        "+100%",
        "100%, at 95 % ",
        "everything else 0%",
    ):
        assert words in page, words
    assert page.count('class="tick"') == 2
    assert "Success over runs" in page
    assert ">2</span>" in page.split("<h2>Rules</h2>")[1], "one heuristic and one anti-pattern were formed"


def test_a_strategy_without_company_has_no_lift_and_one_that_nobody_judged_no_picture(alma: ALMA) -> None:
    alma.learn("victor", TASK, "success", "blue-green deployment")
    alma.learn("victor", "Write the invoice", "unverified", "by hand")
    page = html_report(alma.overview(verify=False))

    assert page.count('class="tick"') == 0
    assert page.count('aria-label="100%, at 95 % ') == 1
    assert "1 more not judged" in page


def test_the_classes_that_are_not_shown_are_counted(alma: ALMA) -> None:
    for number in range(10):
        alma.learn("victor", f"{'abcdefghij'[number] * 8} {'klmnopqrst'[number] * 8}", "success", "by hand")

    assert "2 more classes of tasks with less evidence" in html_report(alma.overview(verify=False))


def test_a_project_without_outcomes_says_so_and_draws_nothing(alma: ALMA) -> None:
    page = html_report(alma.overview(verify=False))

    assert "No outcome that names a strategy has been judged yet." in page
    assert "Success over runs" not in page
    assert "<h2>Rules</h2>" not in page


@pytest.mark.parametrize(
    "attack", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</svg></title><h1>owned</h1>"]
)
def test_hostile_strategies_tasks_types_and_reasons_are_text(alma: ALMA, attack: str) -> None:
    for _ in range(4):
        alma.learn(attack, attack, "failure", attack, task_type=attack, error_message=attack)
    page = html_report(alma.overview(verify=False))

    assert attack not in page
    assert "&lt;" in page
