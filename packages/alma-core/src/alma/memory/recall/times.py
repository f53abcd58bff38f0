"""Which memories count by their times: what happened from when to when, and what was known at a moment."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.readable import ReadableScope
from alma.memory.room import Room
from alma.text import quoted
from alma.types.identity import from_micros, to_micros
from alma.types.memories import Memory
from alma.types.timeline import TemporalFilter


@dataclass(frozen=True, slots=True)
class Times:
    """Limits in microseconds since 1970, all included; `None` where there is none.

    `since` and `until` limit `seen_at`, which is when a memory happened or was last confirmed; `known_by` limits when it was made.
    """

    since: int | None = None
    until: int | None = None
    known_by: int | None = None

    def includes(self, *, seen_at: int, created_at: int) -> bool:
        """Checks that what happened and was recorded at these times counts."""
        return (
            (self.since is None or seen_at >= self.since)
            and (self.until is None or seen_at <= self.until)
            and (self.known_by is None or created_at <= self.known_by)
        )

    def why_not(self, memory: Memory) -> str | None:
        """Returns why a memory does not count, `None` if it does."""
        seen, made = to_micros(memory.seen_at), to_micros(memory.created_at)
        if self.known_by is not None and made > self.known_by:
            return f"it was recorded at {_shown(made)}, after as_of={_shown(self.known_by)}"
        if self.since is not None and seen < self.since:
            return f"it is of {_shown(seen)}, before since={_shown(self.since)}"
        if self.until is not None and seen > self.until:
            return f"it is of {_shown(seen)}, after until={_shown(self.until)}"
        return None


def checked_times(*, since: object, until: object, as_of: object, temporal_filter: object, now: int) -> tuple[Times | None, int]:
    """Returns the limits, `None` if there are none, and the moment from which a question is asked: `as_of`, else now."""
    known_by = args.checked_time(as_of, "as_of")
    if known_by is not None:
        now = min(now, to_micros(known_by))
    first, last = args.checked_time(since, "since"), args.checked_time(until, "until")
    if temporal_filter is not None:
        if not isinstance(temporal_filter, TemporalFilter):
            raise ValidationError(f"temporal_filter must be a TemporalFilter, not {quoted(temporal_filter)}")
        if first is not None or last is not None:
            raise ValidationError("give since and until, or temporal_filter, not both")
        first, last = _interval(temporal_filter, from_micros(now))
    if first is not None and last is not None and first > last:
        raise ValidationError(f"since {first:%Y-%m-%d %H:%M} is after until {last:%Y-%m-%d %H:%M}")
    if first is last is known_by is None:
        return None, now
    return Times(_micros(first), _micros(last), _micros(known_by)), now


def rows_within(room: Room, times: Times, scope: ReadableScope) -> NDArray[np.int64]:
    """Returns the memories of a scope that count, ascending. Read from the store: exact, whatever the searches hold."""
    rows = room.project.within(scope.rows, since=times.since, until=times.until, known_by=times.known_by)
    return np.array(rows, dtype=np.int64)


def _interval(given: TemporalFilter, now: datetime) -> tuple[datetime | None, datetime | None]:
    try:
        return given.interval(now)
    except OverflowError as error:
        raise ValidationError(f"temporal_filter {quoted(given.relative)} reaches back before the first year") from error


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _shown(micros: int) -> str:
    return f"{from_micros(micros):%Y-%m-%d %H:%M:%S}"
