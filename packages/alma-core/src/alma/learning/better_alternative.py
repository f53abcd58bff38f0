"""What to do instead of a strategy that fails."""

import numpy as np
from numpy.typing import NDArray

from alma.evidence import PRIOR
from alma.learning.consulting import Consulted
from alma.learning.experience import Advice
from alma.learning.rules import shortened_strategy

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST_TASKS = 2
SURE = 0.95
DIFFERENT = 1.64
NEAR_ENOUGH = 0.15
SAME = 0.5


def better_alternative(advice: Advice, failing: int, *, same: Floats, corroborated: Flags) -> int | None:
    """The strategy with the highest expected rate of those that are known to do better than the failing one; `None` if none is known to.

    All arguments are by strategy; `same` is the probability of being the failing one in other words, `corroborated` whether more than an agent's own
    word speaks for it. It succeeded on at least `LEAST_TASKS` distinct near tasks. Its rate is above that of its rest at `SURE` (one-sided) and above
    that of the failing strategy by `DIFFERENT` standard deviations of their Beta posteriors. Its nearest success is as near to the question as the
    nearest failure, up to `NEAR_ENOUGH` in cosine.
    """
    mean = (advice.successes + PRIOR) / (advice.trials + 2 * PRIOR)
    variance = mean * (1 - mean) / (advice.trials + 2 * PRIOR + 1)
    difference = advice.expected - advice.expected[failing]
    fits = (
        (least_tasks_with_success(advice) >= LEAST_TASKS)
        & (advice.others > 0)
        & (advice.better >= SURE)
        & (advice.lift > 0)
        & (difference > DIFFERENT * np.sqrt(variance + variance[failing]))
        & (advice.near_successes >= advice.near_failures[failing] - NEAR_ENOUGH)
        & (same < SAME)
        & corroborated
    )
    fits[failing] = False
    return int(np.argmax(np.where(fits, advice.expected, -np.inf))) if fits.any() else None


def alternative_to(known: Consulted, failing: int) -> str | None:
    """Returns what to do instead of the strategy of a row, as a rule names it, where something is known to do better."""
    if len(known.texts) == 1:
        return None
    other = better_alternative(known.advice, failing, same=known.same[failing], corroborated=known.with_trusted_success())
    return None if other is None else shortened_strategy(known.texts[other])


def least_tasks_with_success(advice: Advice) -> Floats:
    """On how many near tasks each strategy succeeded at least: a task without success has a whole failure of its own."""
    failures = np.ceil(advice.whole_trials - advice.whole_successes)
    result: Floats = np.maximum(advice.whole_tasks - failures, np.minimum(advice.whole_successes, 1.0))
    return result
