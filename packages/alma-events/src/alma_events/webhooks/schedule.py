"""Schedule of attempts: times of retries and of probes, and limits after which an endpoint pauses."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
USUAL_DELAYS = (5.0, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR)
"""Seconds between a failed attempt and the next: ten attempts in about three days."""

JITTER = 0.2
LONGEST_DELAY = 30 * DAY
LONGEST_RETRY_AFTER = HOUR
"""A receiver may ask for this much time at most."""

FAILURES_BEFORE_PAUSE = 20
SECONDS_BEFORE_PAUSE = HOUR
SECONDS_BEFORE_DISABLING = 5 * DAY


@dataclass(frozen=True, slots=True)
class Schedule:
    """Delays in seconds between the attempts of one delivery, in order. After the last one the delivery has failed for good."""

    delays: Sequence[float] = USUAL_DELAYS

    @classmethod
    def growing(cls, retries: int, first: float, factor: float) -> "Schedule":
        """Returns the schedule of so many retries whose delays begin at `first` seconds and grow by `factor`."""
        return cls(tuple(min(LONGEST_DELAY, first * factor**number) for number in range(retries)))

    def delay(self, tries: int, *, retry_after: float = 0.0) -> float | None:
        """Returns the seconds until the next attempt after `tries` failed ones, ±20 %, and not before the receiver asked for; `None` after the
        last."""
        if tries > len(self.delays):
            return None
        usual = self.delays[tries - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreads load, hides nothing
        return max(usual, min(retry_after, LONGEST_RETRY_AFTER))

    def probe_delay(self, tries: int) -> float:
        """Returns the seconds until the next probe of a paused endpoint after `tries` failed ones."""
        usual = USUAL_DELAYS[min(max(tries, 1), len(USUAL_DELAYS)) - 1]
        return max(MINUTE, usual) * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - as above
