"""Quality of forecasts: the success expected of each try before it was learned, compared with its result."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

RESAMPLES = 500
SEED = 1


@dataclass(frozen=True, slots=True)
class Forecast:
    """A try at a task, the success expected of it, and its result."""

    task_id: int
    expected: float
    success: bool


Measure = Callable[[Sequence[Forecast]], float | None]
"""Returns `None` where the forecasts do not determine it."""


def figures(forecasts: Sequence[Forecast]) -> dict[str, Any]:
    """Returns how often failures had a lower expectation than successes (`auc`, a half by chance), and the mean squared error of the
    expectation (`brier`) beside that of a constant guess at the share of successes, known in hindsight, and by how much it is smaller.
    The intervals are at 95 %, by resampling of tasks with all their tries."""
    return {
        "tries": len(forecasts),
        "tasks": len({one.task_id for one in forecasts}),
        "successes": sum(one.success for one in forecasts),
        "auc": _rounded(auc(forecasts)),
        "auc_interval": _interval(forecasts, auc),
        "brier": _rounded(brier(forecasts)),
        "brier_interval": _interval(forecasts, brier),
        "base_rate_brier": _rounded(base_rate_brier(forecasts)),
        "brier_gain": _rounded(gain(forecasts)),
        "brier_gain_interval": _interval(forecasts, gain),
    }


def auc(forecasts: Sequence[Forecast]) -> float | None:
    """Returns the share of pairs of a success and a failure in which the success had the higher expectation; a draw counts half."""
    ended_well = [one.expected for one in forecasts if one.success]
    ended_badly = [one.expected for one in forecasts if not one.success]
    if not ended_well or not ended_badly:
        return None
    won = sum((high > low) + (high == low) / 2 for high in ended_well for low in ended_badly)
    return won / len(ended_well) / len(ended_badly)


def brier(forecasts: Sequence[Forecast]) -> float | None:
    """Returns the mean squared difference of expectation and result (Brier 1950)."""
    return math.fsum((one.expected - one.success) ** 2 for one in forecasts) / len(forecasts) if forecasts else None


def base_rate_brier(forecasts: Sequence[Forecast]) -> float | None:
    """Returns the same for a constant guess at the share of successes."""
    if not forecasts:
        return None
    share = sum(one.success for one in forecasts) / len(forecasts)
    return share * (1 - share)


def gain(forecasts: Sequence[Forecast]) -> float | None:
    """Returns by how much the error is smaller than that of the constant guess."""
    error, base = brier(forecasts), base_rate_brier(forecasts)
    return None if error is None or base is None else base - error


def _interval(forecasts: Sequence[Forecast], measure: Measure) -> list[float] | None:
    """Returns the middle 95 % of the measure over tasks drawn with replacement, always with the same seed."""
    by_task: dict[int, list[Forecast]] = {}
    for one in forecasts:
        by_task.setdefault(one.task_id, []).append(one)
    chance, tasks = random.Random(SEED), list(by_task.values())  # noqa: S311 - reproducible draws are wanted
    drawn = [[one for group in chance.choices(tasks, k=len(tasks)) for one in group] for _ in range(RESAMPLES)] if tasks else []
    found = sorted(value for value in map(measure, drawn) if value is not None)
    if not found:
        return None
    return [round(found[round(share * (len(found) - 1))], 3) for share in (0.025, 0.975)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
