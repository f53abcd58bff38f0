"""Clocks with a settable time, to pass as `clock=`."""

from datetime import UTC, datetime, timedelta
from threading import RLock

from alma.types.identity import as_utc

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
"""Initial time of the clocks: noon, March 1st, 2026."""


class FixedClock:
    """Clock that stands still until it is moved. Thread-safe."""

    def __init__(self, now: datetime = START) -> None:
        self._now = as_utc(now)
        self._lock = RLock()

    def __call__(self) -> datetime:
        return self._now

    def advance(self, by: timedelta | None = None, /, **duration: float) -> datetime:
        """Moves by a `timedelta`, or by its arguments (`days=30`), also backwards. Returns the new time."""
        with self._lock:
            self._now += timedelta(**duration) if by is None else by
            return self._now

    def set(self, now: datetime) -> None:
        """Sets the time; a naive one is taken as UTC."""
        with self._lock:
            self._now = as_utc(now)


class SteppingClock(FixedClock):
    """Clock that moves by `step` after each reading, so that no two readings are equal. Thread-safe."""

    def __init__(self, now: datetime = START, *, step: timedelta = timedelta(seconds=1)) -> None:
        super().__init__(now)
        self._step = step

    def __call__(self) -> datetime:
        return self.advance(self._step) - self._step
