"""What was learned, on the page: shares with their intervals as pictures."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from alma import ALMA
from alma.types.overview import RunsView
from alma.types.strategies import Judgement, Range, StrategyRecord
from alma_cli.report import html_report
from alma_cli.report.rates import run_chart, scale
from drawn import drawn

TASK = "Deploy the auth service"
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as opened:
        yield opened


def numbers(markup: str, element: str, name: str) -> list[float]:
    """An attribute of every element of a name."""
    return [
        float(value) for found in re.findall(rf"<{element} [^>]*>", markup) for value in re.findall(rf'\b{name}="([^"]*)"', found)
    ]


def record(rate: float, interval: Range) -> StrategyRecord:
    return StrategyRecord(
        strategy="by hand",
        task=TASK,
        task_type=None,
        agent="victor",
        summary="",
        last_used=START,
        trials=4,
        successes=round(4 * rate),
        verdict=Judgement.UNDECIDED,
        rate=rate,
        interval=interval,
        recent_rate=rate,
    )


def test_a_dot_and_a_bar_stand_where_the_figures_are() -> None:
    markup = drawn("draw_scale", scale(record(0.5, Range(lower=0.25, upper=0.75))))
    bar, dot = numbers(markup, "rect", "x")
    width, size = numbers(markup, "rect", "width")

    assert (bar, bar + width) == (53.5, 146.5)
    assert dot + size / 2 == 100
    assert "<title>50%, at 95 % 25% to 75%</title>" in markup


def test_points_over_time_are_joined_and_say_of_how_many_they_are() -> None:
    interval = Range(lower=0.0, upper=1.0)
    groups = [RunsView(first=START, last=START, trials=10, successes=2.5 * n, interval=interval) for n in range(5)]
    markup = drawn("draw", run_chart(groups))
    heights = numbers("".join(re.findall(r'<line [^>]*class="joined"/>', markup)), "line", "y1")

    assert heights == sorted(heights, reverse=True)
    assert len(heights) == 4
    assert "<title>attempts 41 to 50, 1 Jan 2026: 100% of 10 (0% to 100%)</title>" in markup


def test_strategies_have_verdict_counts_picture_and_record(alma: ALMA) -> None:
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
        "worked 24 of 24 times (24 tasks)",
        "failed 24 of 24 times (24 tasks)",
        "ImagePullBackOff in run",
        "100%, at 95 % ",
    ):
        assert words in page, words
    assert "Success over runs" in page
    assert ">2</span>" in page.split("<h2>Rules</h2>")[1], "one heuristic and one anti-pattern were formed"


def test_a_strategy_that_nobody_judged_has_no_picture(alma: ALMA) -> None:
    alma.learn("victor", TASK, "success", "blue-green deployment")
    alma.learn("victor", "Write the invoice", "unverified", "by hand")
    page = html_report(alma.overview(verify=False))

    assert page.count('aria-label="100%, at 95 % ') == 1
    assert "1 more not judged" in page


def test_the_classes_that_are_not_shown_are_counted(alma: ALMA) -> None:
    for number in range(10):
        alma.learn("victor", TASK, "success", "by hand", task_type=f"type {number}")

    assert "2 more classes of tasks that were tried less" in html_report(alma.overview(verify=False))


def test_outcomes_that_are_too_old_to_be_drawn_are_counted(alma: ALMA) -> None:
    alma.learn_many({"agent": "victor", "task": "Deploy", "outcome": "success"} for _ in range(2_003))
    page = html_report(alma.overview(verify=False))

    assert "the newest 2,000 attempts, oldest first" in page
    assert "Not drawn: 3 older outcomes." in page


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


def test_rules_that_are_not_counted_are_named(alma: ALMA) -> None:
    for n in range(203):
        known = {"agent": "victor", "task": f"Deploy {n}", "strategy_used": f"way {n}", "task_type": f"type {n}"}
        alma.learn_many([{**known, "outcome": "success"}] * 3)
    assert "Not counted: 3 rules that rest on older outcomes." in html_report(alma.overview(verify=False))


def test_outcomes_of_users_are_said_to_be_left_out(alma: ALMA) -> None:
    for number in range(4):
        alma.learn("victor", f"Deploy service {number}", "success", "by hand", user_id="ann")
    page = html_report(alma.overview(verify=False))

    assert "No outcome that names a strategy and was recorded without a user has been judged yet." in page
    assert "4 outcomes recorded for users: what is known for one user alone is left out here." in page
    alma.learn("victor", "Write the invoice", "success", "from a template")
    assert "No outcome that names a strategy" not in html_report(alma.overview(verify=False))
