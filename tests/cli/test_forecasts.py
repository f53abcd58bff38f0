"""How well failures were foreseen, in figures."""

import pytest

from alma_cli.forecasts import Forecast, auc, base_rate_brier, brier, figures, gain


def forecasts(*told: tuple[float, bool]) -> list[Forecast]:
    return [Forecast(task_id=number // 2, expected=expected, success=success) for number, (expected, success) in enumerate(told)]


def test_the_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    assert auc(forecasts((0.9, True), (0.4, True), (0.4, False), (0.1, False))) == pytest.approx(3.5 / 4)
    assert auc(forecasts((0.1, True), (0.9, False))) == 0.0
    assert auc(forecasts((0.5, True), (0.5, False))) == 0.5


def test_the_brier_score_is_held_against_the_share_of_successes() -> None:
    told = forecasts((0.8, True), (0.2, False), (0.6, True), (0.4, False))

    assert brier(told) == pytest.approx((0.04 + 0.04 + 0.16 + 0.16) / 4)
    assert base_rate_brier(told) == 0.25
    assert gain(told) == pytest.approx(0.15)


def test_one_ending_alone_and_nothing_at_all_have_no_auc() -> None:
    assert auc(forecasts((0.9, True))) is None
    assert figures([]) == {
        "tries": 0,
        "tasks": 0,
        "successes": 0,
        **dict.fromkeys(
            ("auc", "auc_interval", "brier", "brier_interval", "base_rate_brier", "brier_gain", "brier_gain_interval")
        ),
    }


def test_perfect_forecasts_leave_no_doubt_and_the_same_forecasts_give_the_same_figures() -> None:
    told = forecasts(*[(1.0, True), (0.0, False)] * 10)
    found = figures(told)

    assert (found["auc"], found["auc_interval"], found["brier"]) == (1.0, [1.0, 1.0], 0.0)
    assert figures(told) == found


def test_intervals_are_wider_where_there_are_fewer_tasks() -> None:
    mixed = [(0.7, True), (0.6, False), (0.4, True), (0.3, False), (0.8, True), (0.2, False), (0.5, False), (0.6, True)]
    few, many = figures(forecasts(*mixed)), figures(forecasts(*mixed * 10))

    def width(interval: list[float]) -> float:
        return interval[1] - interval[0]

    assert width(many["auc_interval"]) < width(few["auc_interval"]) / 2
