"""Values of deliveries: a position in the journal, a reference to an event on its way, and how its delivery stands."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from alma_events.mapping import LAST
from alma_events.reading import parse_position


class WebhookDeliveryStatus(StrEnum):
    """How a delivery stands: not tried yet, waiting for another attempt, delivered, or failed for good."""

    PENDING = "pending"
    RETRYING = "retrying"
    SUCCESS = "success"
    FAILED = "failed"


NEW = "new"
"""Stored status of a pending delivery that no runner has taken up."""

WAITING = (NEW, WebhookDeliveryStatus.PENDING.value, WebhookDeliveryStatus.RETRYING.value)


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a project's journal: behind an event of a record, or behind the whole record."""

    seq: int
    index: int = LAST

    @classmethod
    def of(cls, given: str | int) -> "Position":
        """Returns the position of "seq.index", or of a `seq` with all of its record. `ValidationError` for anything else."""
        return cls(*parse_position(given))

    def __str__(self) -> str:
        return str(self.seq) if self.index == LAST else f"{self.seq}.{self.index}"


@dataclass(slots=True)
class Reference:
    """An event on its way to an endpoint, without its words. `lane` is what its order is kept within; `due` is in seconds since 1970.

    `body` has an event of a learned rule, which no journal record has: ids and numbers as JSON.
    """

    at: Position
    event_id: str
    event_type: str
    lane: str
    previous: str | None = None
    tries: int = 0
    due: float = 0.0
    is_replay: bool = False
    body: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Result of an attempt for one event. `due` is the time of the next attempt, `None` where there is none."""

    reference: Reference
    status: WebhookDeliveryStatus
    http_status: int = 0
    error: str = ""
    ms: int = 0
    due: float | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """State of the delivery of one event. Neither the event's words nor the text of the receiver's answer is kept."""

    url: str
    event_id: str
    event_type: str
    position: str
    status: WebhookDeliveryStatus
    attempts: int = 0
    last_error: str | None = None
    status_code: int | None = None
    duration_ms: int | None = None
    last_attempt: datetime | None = None
    next_attempt: datetime | None = None
