"""Computes the wait before a retry. Pure: the clock and the random number are passed in."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
LONGEST_ASKED_WAIT = 120.0
"""If a server asks for a longer wait than this, the request fails at once."""


@dataclass(frozen=True, slots=True)
class Retries:
    """At most `most` retries. The wait doubles from half a second to thirty, and a random part of up to half is taken off ("equal
    jitter")."""

    most: int

    def wait(self, attempt: int, *, asked: float | None, chance: float) -> float | None:
        """Returns the seconds to wait after failed attempt number `attempt`, counted from 0; `None` to give up.

        `asked` is the wait that the server asked for; the result is never shorter. `chance` is from 0 to 1.
        """
        if attempt >= self.most or (asked is not None and asked > LONGEST_ASKED_WAIT):
            return None
        usual = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempt, 30))
        jittered = usual * (0.5 + 0.5 * chance)
        return jittered if asked is None else asked + jittered * 0.1


def asked_wait(retry_after: str | None, retry_after_ms: str | None, *, now: datetime) -> float | None:
    """Returns the seconds that a server's headers ask to wait: a number, or a date (RFC 9110, 10.2.3). `None` where they say nothing
    usable."""
    if (milliseconds := _number(retry_after_ms)) is not None:
        return milliseconds / 1000
    if (seconds := _number(retry_after)) is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(retry_after or "")
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
