"""Times of a question: the range that a caller gives, and the events in its words, with the memories nearest to them and their dates."""

import re
from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from pydantic import field_validator, model_validator

from alma.text import quoted
from alma.types.identity import UtcDatetime, Value
from alma.types.kinds import MemoryType

DATED = frozenset({MemoryType.CONVERSATION.value, MemoryType.OUTCOME.value})
"""The kinds that happened at a time. Rules, facts and preferences hold at any."""


class Relation(StrEnum):
    """The kind of question about events: the time between them, their order, how long ago one was, or its date."""

    INTERVAL = "interval"
    ORDER = "order"
    AGE = "age"
    DATE = "date"


class DatedEvent(Value):
    """An event in the words of the question, the memory of the slice that is nearest to it, and when that was said or happened."""

    event: str
    memory_id: str
    at: UtcDatetime


class Timeline(Value):
    """The relation of events that a question asks about, and the events for which a memory was found, earliest first.

    A conversation has the date when it was held, which may be later than what is spoken of.
    """

    relation: Relation
    events: tuple[DatedEvent, ...] = ()

    @property
    def days_between(self) -> tuple[int, ...]:
        """The days, by calendar in UTC, from each event to the next."""
        return tuple(days_from(one.at, other.at) for one, other in pairwise(self.events))

    def among(self, ids: Collection[str]) -> "Timeline":
        """Returns the timeline of the events whose memories have these ids."""
        return self.model_copy(update={"events": tuple(event for event in self.events if event.memory_id in ids)})


def days_from(earlier: UtcDatetime, later: UtcDatetime) -> int:
    """Returns the days, by calendar in UTC, from one time to another."""
    return (later.date() - earlier.date()).days


_PAST = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=30),
    "quarter": timedelta(days=91),
    "year": timedelta(days=365),
}
_LAST = re.compile(rf"last_(?:(?P<count>[1-9]\d{{0,3}})_)?(?P<unit>{'|'.join(_PAST)})s?")
_CALENDAR = ("today", "yesterday", "this_week", "this_month", "this_year")


class TemporalFilter(Value):
    """A range of times from `start` to `end`, both included; either may be left out. Naive times are taken as UTC. Where one of them is given,
    `relative` is not read.

    `relative` counts from now: "last_week" is the past 7 days, "last_3_months" the past 90; likewise hour, day (24 hours), month (30 days),
    quarter (91) and year (365). "today", "yesterday", "this_week" (from Monday), "this_month" and "this_year" are those of the calendar in UTC.
    """

    start: UtcDatetime | None = None
    end: UtcDatetime | None = None
    relative: str | None = None

    @field_validator("relative")
    @classmethod
    def _known(cls, given: str | None) -> str | None:
        if given is not None and given not in _CALENDAR and not _LAST.fullmatch(given):
            raise ValueError(f"{quoted(given)} is none of {', '.join(_CALENDAR)}, last_week, last_3_days and the like")
        return given

    @model_validator(mode="after")
    def _in_order(self) -> "TemporalFilter":
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError(f"start {self.start:%Y-%m-%d %H:%M} is after end {self.end:%Y-%m-%d %H:%M}")
        return self

    def interval(self, now: datetime) -> tuple[datetime | None, datetime | None]:
        """Returns start and end, seen from `now`; `None` where there is no limit."""
        if self.relative is None or self.start is not None or self.end is not None:
            return self.start, self.end
        found = _LAST.fullmatch(self.relative)
        if found:
            return now - int(found["count"] or 1) * _PAST[found["unit"]], now
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if self.relative == "yesterday":
            return today - timedelta(days=1), today - timedelta(microseconds=1)
        first = {
            "today": today,
            "this_week": today - timedelta(days=today.weekday()),
            "this_month": today.replace(day=1),
            "this_year": today.replace(month=1, day=1),
        }
        return first[self.relative], now
