"""The events that a question sets in time, with the memories that are nearest to them and their dates."""

from collections.abc import Collection
from enum import StrEnum
from itertools import pairwise

from alma.types.identity import UtcDatetime
from alma.types.kinds import MemoryType
from alma.types.value import Value

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
    """What a question asks about events, and those of them for which a memory was found, earliest first.

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
