"""Rate limits: a bucket for each token, from which requests take by their weight."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from alma_server.problems import ProblemError

READ, WRITE, EXPORT = 1, 3, 50
"""Weights of requests."""


@dataclass(slots=True)
class _Bucket:
    level: float
    seen: float


class Limits:
    """Buckets that fill by `rate` a second up to `burst`. Used from one thread.

    Each of several processes that serve one port gets its share of the rate, so that they need not agree.
    """

    def __init__(self, *, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    @property
    def policy(self) -> str:
        """Value of the header `RateLimit-Policy`: the quota, and the seconds in which it fills."""
        return f'"token";q={int(self._burst)};w={ceil(self._burst / self._rate)}'

    def take(self, token: str, weight: float) -> str:
        """Takes from the bucket of a token, and returns the value of the header `RateLimit`. `ProblemError` 429 if there is too little."""
        now = self._clock()
        bucket = self._buckets.setdefault(token, _Bucket(self._burst, now))
        bucket.level = min(self._burst, bucket.level + (now - bucket.seen) * self._rate)
        bucket.seen = now
        if bucket.level < weight:
            wait = ceil((weight - bucket.level) / self._rate)
            headers = {"Retry-After": str(wait), "RateLimit": self._state(bucket), "RateLimit-Policy": self.policy}
            raise ProblemError(429, "rate-limited", "this token asks too often", headers=headers)
        bucket.level -= weight
        return self._state(bucket)

    def _state(self, bucket: _Bucket) -> str:
        return f'"token";r={int(bucket.level)};t={ceil((self._burst - bucket.level) / self._rate)}'
