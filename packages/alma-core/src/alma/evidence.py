"""The interval of one rate of success, by the estimate that every surface shows."""

import numpy as np

from alma_learning import bound


def bound_rate(successes: float, trials: float) -> tuple[float, float]:
    """Returns the bounds at 95 % of the rate behind counts, which may be fractions. 0 and 1 without trials."""
    lower, upper, _ = bound(np.array([float(successes)]), np.array([float(trials)]))
    return float(lower[0]), float(upper[0])
